//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// maxRuns is how many runs a kernel takes at most: RUNS in pages.cl.
const maxRuns = 16

// pagedProgram is a program whose kernels take runs, compiled for one run or several, and for few slabs or all: the more arguments
// a launch has, the longer a driver takes for it.
type pagedProgram [2][2]program

// fewSlabs is SLABS in pages.cl where few are needed.
const fewSlabs = 4

// pagedProgramOf returns the variants of a program.
func pagedProgramOf(p program) (variants pagedProgram) {
	for several, runs := range [...]int{1, maxRuns} {
		for all, slabs := range [...]int{fewSlabs, maxSlabs} {
			variants[several][all] = program{p.files, fmt.Sprintf("%s -DRUNS=%d -DSLABS=%d", p.options, runs, slabs)}
		}
	}
	return variants
}

// of returns the variant for a launch.
func (p *pagedProgram) of(l *launch) program {
	return p[flag(l.runs.count > 1)][flag(l.slabs > fewSlabs)]
}

// run and runList are those of pages.cl.
type run struct{ table, row, tokens, slots, first int32 }

type runList struct {
	of    [maxRuns]run
	count int32
}

// singleRun is a runList for one run.
type singleRun struct {
	of    [1]run
	count int32
}

// launch is the runs that kernels take at once. The backend's lock guards it.
type launch struct {
	runs    runList
	next    int       // where the next run's share of the grid begins
	longest int       // slots of the longest run
	tokens  int       // of all runs
	single  singleRun // the run, where there is only one
	slabs   int       // how many of the first slabs are needed
	mems    *slabMem  // buffers of the slabs; nil: keys and values are not in pages, but these:

	keys, values operand
}

// slabMem are the buffers that stand for slabs in a launch, by the slabs' numbers.
type slabMem [maxSlabs]*cl.Mem

// begin forgets the runs.
func (l *launch) begin() { l.runs.count, l.next, l.longest, l.tokens = 0, 0, 0, 0 }

// full tells whether no further run has room.
func (l *launch) full() bool { return l.runs.count == maxRuns }

// add adds a run whose share of the grid is `share`.
func (l *launch) add(table, row, tokens, slots, share int) {
	l.runs.of[l.runs.count] = run{int32(table), int32(row), int32(tokens), int32(slots), int32(l.next)}
	l.runs.count++
	l.next += share
	l.longest, l.tokens = max(l.longest, slots), l.tokens+tokens
}

// pass passes where keys and values lie and the runs to a kernel, as its last arguments.
func (b *Backend) pass(k *cl.Kernel, l *launch) *cl.Kernel {
	if l.mems == nil {
		k.Mem(l.keys.mem).Long(l.keys.at).Mem(l.values.mem).Long(l.values.at)
	} else {
		k.Mem(b.tables.mem)
		slabs := fewSlabs
		if l.slabs > fewSlabs {
			slabs = maxSlabs
		}
		for _, m := range l.mems[:slabs] {
			k.Mem(m)
		}
	}
	if l.runs.count > 1 {
		return k.Struct(unsafe.Pointer(&l.runs), unsafe.Sizeof(l.runs))
	}
	l.single = singleRun{[1]run{l.runs.of[0]}, l.runs.count}
	return k.Struct(unsafe.Pointer(&l.single), unsafe.Sizeof(l.single))
}

// findSlabs finds the buffers of the slabs of a shape, of which those in needed must be usable by the device now: else it returns
// false. A number that is not needed and not usable gets another buffer.
func (b *Backend) findSlabs(shape pageShape, needed uint32) (*slabMem, bool) {
	mems := &b.slabMems
	for i, slab := range b.slabsOf(shape) {
		mems[i] = b.tables.mem
		if buffer := slab.Value(); buffer != nil {
			if mem, ok := buffer.onDevice(); ok {
				mems[i] = mem
				continue
			}
		}
		if needed&(1<<i) != 0 {
			return nil, false
		}
	}
	return mems, true
}

// cacheTypes are the types that keys and values are cached in.
var cacheTypes = [...]tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0}

// tablesOf brings the tables of all runs up to date and returns for each of cacheTypes which slabs its runs need. It returns false
// where kernels cannot take all of the runs.
func (b *Backend) tablesOf(runs []backend.Run) (needed [len(cacheTypes)]uint32, ok bool, err error) {
	for i := range runs {
		t, ok, err := b.pageTable(runs[i].Slots)
		if !ok || err != nil {
			return needed, false, err
		}
		for j, d := range cacheTypes {
			if d == runs[i].Slots.DType {
				needed[j] |= t.slabs
			}
		}
	}
	for j, slabs := range needed {
		if _, ok := b.findSlabs(pageShape{cacheTypes[j], headDimOf(runs)}, slabs); slabs != 0 && !ok {
			return needed, false, nil
		}
	}
	return needed, true, nil
}

// headDimOf returns what the heads of all runs have in common.
func headDimOf(runs []backend.Run) int {
	if len(runs) == 0 {
		return 0
	}
	return runs[0].Slots.HeadDim
}

// eachLaunch calls run for the runs of type d that share wants, of which it tells how much of the grid each takes, as many at a
// time as kernels take. tablesOf has been called for the runs.
func (b *Backend) eachLaunch(d tensor.DType, needed uint32, runs []backend.Run, share func(backend.Run) int, enqueue func(*launch) error) error {
	l := &b.launch
	l.mems, _ = b.findSlabs(pageShape{d, headDimOf(runs)}, needed)
	l.slabs = bits.Len32(needed)
	l.begin()
	row := 0
	for _, r := range runs {
		if r.Slots.DType == d {
			if n := share(r); n > 0 {
				l.add(r.Slots.Device.(*pageTable).region.at, row, r.Tokens, r.Slots.Len(), n)
			}
		}
		row += r.Tokens
		if l.full() {
			if err := enqueue(l); err != nil {
				return err
			}
			l.begin()
		}
	}
	if l.runs.count == 0 {
		return nil
	}
	return enqueue(l)
}

// launchOf returns a launch of a single run of a number of tokens; ok is false where kernels cannot take it.
func (b *Backend) launchOf(s *backend.Slots, tokens int) (l *launch, ok bool, err error) {
	t, ok, err := b.pageTable(s)
	if !ok || err != nil {
		return nil, false, err
	}
	l = &b.launch
	if l.mems, ok = b.findSlabs(pageShape{s.DType, s.HeadDim}, t.slabs); !ok {
		return nil, false, nil
	}
	l.slabs = bits.Len32(t.slabs)
	l.begin()
	l.add(t.region.at, 0, tokens, s.Len(), 1)
	return l, true, nil
}
