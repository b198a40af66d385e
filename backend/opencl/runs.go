//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
	"github.com/antigravity-go/antigravity/tensor"
)

// A kernel on pages takes a launch: up to 16 runs, or 64, with caches of one type and one length of heads. An example: a step has 20 runs
// of one token with caches of F16, and one of 30 tokens with a cache of Q8_0. tablesOf brings the lists of pages of all 21 up to date.
// eachLaunch for F16 makes a launch of 16 runs and one of 4, or one of 20, with a share of 1 each; eachLaunch for Q8_0 makes one with a
// single run and a share of 30. A kernel's grid has as many groups, or rows of groups, as the launch has shares; each group finds its run
// by the run's first.

// runCounts are the numbers of runs that kernels are compiled for: RUNS in pages.cl. OpenCL promises arguments of 1024 bytes, in which
// those of the last number have no room: launches of that size are for devices that are known to take more.
var runCounts = [...]int{1, usualRuns, maxRuns}

const (
	usualRuns = 16
	maxRuns   = 64
)

// pagedProgram is a program with kernels that take runs, compiled for one run or several, and for few slabs or all: the more arguments a
// launch has, the longer a driver takes for it.
type pagedProgram [len(runCounts)][2]program

// fewSlabs is SLABS in pages.cl if few are needed.
const fewSlabs = 4

// pagedProgramOf returns the variants of a program.
func pagedProgramOf(p program) (variants pagedProgram) {
	for several, runs := range runCounts {
		for all, slabs := range [...]int{fewSlabs, maxSlabs} {
			variants[several][all] = compiler.Of(p.Files, fmt.Sprintf("%s -DRUNS=%d -DSLABS=%d", p.Options, runs, slabs))
		}
	}
	return variants
}

// general returns the variant that takes every launch.
func (p *pagedProgram) general(l *launch) program { return p[sizeFor(l.most)][1] }

// sized returns the variant for a number of runs and slabs.
func (p *pagedProgram) sized(runs, slabs int) program {
	return p[sizeFor(runs)][flag(slabs > fewSlabs)]
}

// pagedKernel returns a kernel of the variant for a launch, or, for as long as that is not ready, of the one for every launch.
func (q *queue) pagedKernel(p *pagedProgram, l *launch, name string) (*cl.Kernel, error) {
	l.passed, l.passedSlabs = runCounts[sizeFor(int(l.runs.count))], fewSlabs
	which := p.sized(int(l.runs.count), l.slabs)
	if l.slabs > fewSlabs {
		l.passedSlabs = maxSlabs
	}
	if !q.ready(which, name) {
		which, l.passed, l.passedSlabs = p.general(l), l.most, maxSlabs
	}
	return q.kernel(which, name)
}

// run and runList are those of pages.cl.
type run struct{ table, row, tokens, slots, first int32 }

type runList struct {
	count int32
	of    [maxRuns]run
}

// sizeFor returns for which of runCounts a kernel must be compiled that takes a number of runs.
func sizeFor(runs int) int {
	return slices.IndexFunc(runCounts[:], func(n int) bool { return runs <= n })
}

// launch is the runs that a kernel takes at once. The queue's lock guards it.
type launch struct {
	runs    runList
	next    int // the begin of the next run's share of the grid
	longest int // slots of the longest run
	tokens  int // of all runs
	most    int // runs that the device takes at once

	tables *cl.Mem           // the lists of pages
	slabs  int               // how many of the first slabs are needed
	mems   [maxSlabs]*cl.Mem // the slabs' buffers; another one for a slab that is not needed

	passed, passedSlabs int // how many runs and slabs the latest kernel takes
}

// begin forgets the runs.
func (l *launch) begin() { l.runs.count, l.next, l.longest, l.tokens = 0, 0, 0, 0 }

// full reports whether no further run has room.
func (l *launch) full() bool { return int(l.runs.count) == l.most }

// add adds a run: its list of pages, its first row, its tokens, the slots of its longest head, and its share of the grid.
func (l *launch) add(table, row, tokens, slots, share int) {
	l.runs.of[l.runs.count] = run{int32(table), int32(row), int32(tokens), int32(slots), int32(l.next)}
	l.runs.count++
	l.next += share
	l.longest, l.tokens = max(l.longest, slots), l.tokens+tokens
}

// pass passes the pages and the runs to a kernel of pagedKernel, as its last arguments.
func (l *launch) pass(k *cl.Kernel) *cl.Kernel {
	k.Mem(l.tables)
	for _, m := range l.mems[:l.passedSlabs] {
		k.Mem(m)
	}
	size := unsafe.Offsetof(l.runs.of) + uintptr(l.passed)*unsafe.Sizeof(run{})
	return k.Struct(unsafe.Pointer(&l.runs), size)
}

// pages knows the caches' pages on the device, and makes launches of them. attention reads pages, caches writes them.
type pages struct {
	*tables
	launch launch // the one that is being made
}

// needed says which slabs runs need, of each of cacheTypes: bit i stands for slab number i of the type.
type needed [len(cacheTypes)]uint32

// cacheTypes are the types that keys and values are cached in.
var cacheTypes = [...]tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0}

// findSlabs fills in the launch's slabs, of a shape. It returns false if the device cannot use one of those in bits now.
func (p *pages) findSlabs(shape pageShape, bits uint32) bool {
	l := &p.launch
	l.tables = p.mem
	for i, slab := range p.slabs.of(shape) {
		l.mems[i] = p.mem
		if buffer := slab.Value(); buffer != nil {
			if mem, ok := buffer.onDevice(); ok {
				l.mems[i] = mem
				continue
			}
		}
		if bits&(1<<i) != 0 {
			return false
		}
	}
	return true
}

// tablesOf brings the lists of pages of all runs up to date and returns which slabs the runs need. ok is false if kernels cannot take all of
// the runs.
func (p *pages) tablesOf(runs []backend.Run) (n needed, ok bool, err error) {
	for i := range runs {
		t, ok, err := p.pageTable(runs[i].Slots)
		if !ok || err != nil {
			return n, false, err
		}
		for j, d := range cacheTypes {
			if d == runs[i].Slots.DType {
				n[j] |= t.slabs
			}
		}
	}
	for j, slabs := range n {
		if slabs != 0 && !p.findSlabs(pageShape{cacheTypes[j], runs[0].Slots.HeadDim}, slabs) {
			return n, false, nil
		}
	}
	return n, true, nil
}

// eachLaunch adds the runs with caches of the shape's type to the launch, and calls enqueue whenever it is full and at the end. slabs are
// those that the type needs. share(r) is how much of the grid r takes; with 0, r is left out. tablesOf has been called for the runs.
func (p *pages) eachLaunch(shape pageShape, slabs uint32, runs []backend.Run, share func(r backend.Run) int, enqueue func(*launch) error) error {
	l := &p.launch
	p.findSlabs(shape, slabs)
	l.slabs = bits.Len32(slabs)
	l.begin()
	row := 0
	for _, r := range runs {
		if r.Slots.DType == shape.cache {
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

// launchOf returns a launch of a single run of a number of tokens; ok is false if kernels cannot take it.
func (p *pages) launchOf(s *backend.Slots, tokens int) (l *launch, ok bool, err error) {
	t, ok, err := p.pageTable(s)
	if !ok || err != nil || !p.findSlabs(pageShape{s.DType, s.HeadDim}, t.slabs) {
		return nil, false, err
	}
	l = &p.launch
	l.slabs = bits.Len32(t.slabs)
	l.begin()
	l.add(t.region.at, 0, tokens, s.Len(), 1)
	return l, true, nil
}
