//go:build opencl && (amd64 || arm64)

package opencl

import (
	"math/bits"
	"runtime"
	"sync"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// tables keep the lists of pages of all caches in one buffer of the device, as pages.cl describes them, each in a region of
// its own. A region is a power of two of words, and given to another list when its own is no longer in use: the queue runs
// in order, so that kernels which read the old list have done so when the new one is written.
//
// The queue's lock guards everything but free, which a cleanup gives regions to.
type tables struct {
	*queue
	slabs registry
	mem   *cl.Mem
	taken int     // words of mem that were handed out, or are free
	list  []int32 // the list that is being written

	freeMu sync.Mutex
	free   [32][]int // where free regions begin, by the logarithm of their size
}

// release gives the buffer up.
func (t *tables) release() {
	if t.mem != nil {
		t.mem.Release()
		t.mem = nil
	}
}

// region is a piece of the tables' buffer: 2^log words from word at on; log is 0 for no region.
type region struct{ at, log int }

// leastRegion is the logarithm of the least region's words, and firstTables of the words of the first buffer.
const (
	leastRegion = 6
	firstTables = 14
)

// pageTable is the device's copy of the lists of pages of a Slots, which keeps it as its Device.
type pageTable struct {
	tables *tables
	slots  *backend.Slots // these lists are its: a copy of a Slots has the same Device at first
	region *region        // of its own, so that a cleanup can give it back

	version   uint64
	shortfall []int32 // of each head: how many slots fewer than the longest one it had in use
	slabs     uint32  // a bit for the number of each slab that is mentioned
	written   bool    // what the device has is as the fields above say
}

// Free gives the memory of the lists back; who goes on using the slots gets another. It is idempotent.
func (t *pageTable) Free() error {
	t.written = false
	t.tables.give(t.region)
	return nil
}

// current reports whether the device's copy is that of s. The longest head of s has n slots in use.
func (t *pageTable) current(s *backend.Slots, n int) bool {
	if !t.written || t.version != s.Version || len(t.shortfall) != len(s.Heads) {
		return false
	}
	for i := range s.Heads {
		if int(t.shortfall[i]) != n-s.Heads[i].Len {
			return false
		}
	}
	return true
}

// pageTable returns the device's copy of the lists of s, brought up to date; ok is false if no kernel can use the pages. The
// caller holds the lock.
func (p *tables) pageTable(s *backend.Slots) (t *pageTable, ok bool, err error) {
	n := s.Len()
	t, ok = s.Device.(*pageTable)
	if !ok || t.tables != p || t.slots != s {
		t = &pageTable{tables: p, slots: s, region: &region{}}
		runtime.AddCleanup(t, p.give, t.region)
		s.Device = t
	}
	if t.current(s, n) {
		return t, true, nil
	}
	t.written = false
	list := p.list[:0]
	t.shortfall, t.slabs = t.shortfall[:0], 0
	at := 2 * len(s.Heads)
	for i := range s.Heads {
		h := &s.Heads[i]
		t.shortfall = append(t.shortfall, int32(n-h.Len))
		list = append(list, int32(at), int32(n-h.Len))
		at += len(h.Pages)
	}
	var slab *tensor.Tensor // the page's, and those before: neighbours often share it
	number, begin := 0, 0   // of the slab; which page of its buffer is its first
	for i := range s.Heads {
		for _, page := range s.Heads[i].Pages {
			if page.Slab != slab || slab == nil {
				if slab = page.Slab; slab == nil {
					return nil, false, nil
				}
				if number, begin, ok = p.slabNumber(s, slab); !ok {
					return nil, false, nil
				}
				t.slabs |= 1 << number
			}
			list = append(list, int32(uint32(begin+page.Index)*maxSlabs+uint32(number)))
		}
	}
	p.list = list
	if err := p.writeTable(t.region, list); err != nil {
		return nil, false, err
	}
	t.version, t.written = s.Version, true
	return t, true, nil
}

// slabNumber returns a slab's number among those of its shape, and with which page of its buffer it begins; ok is false if
// kernels cannot use it.
func (p *tables) slabNumber(s *backend.Slots, slab *tensor.Tensor) (number, begin int, ok bool) {
	buffer, _ := slab.Buffer().(*deviceBuffer)
	pageBytes := 2 * backend.PageSlots * s.SlotBytes()
	if buffer == nil || buffer.queue != p.queue || slab.Offset()%pageBytes != 0 {
		return 0, 0, false
	}
	number, ok = p.slabs.of(pageShape{s.DType, s.HeadDim}).number(buffer)
	return number, slab.Offset() / pageBytes, ok
}

// writeTable enqueues a copy of a list to its region, which is replaced if it is too small.
func (t *tables) writeTable(r *region, list []int32) error {
	if t.closed {
		return t.fail("send a list of pages", ErrClosed)
	}
	if log := max(bits.Len(uint(len(list)-1)), leastRegion); log > r.log || r.log == 0 {
		at, err := t.takeRegion(log)
		if err != nil {
			return err
		}
		t.give(r)
		*r = region{at, log}
	}
	return t.send("send a list of pages", t.mem, 4*r.at, intBytes(list))
}

// give makes a region free, unless it is nil or has been given back.
func (t *tables) give(r *region) {
	t.freeMu.Lock()
	defer t.freeMu.Unlock()
	if r.log > 0 {
		t.free[r.log] = append(t.free[r.log], r.at)
	}
	r.log = 0
}

// takeRegion returns the offset of a region of 2^log words. Without a free one of the size, and without room for it, the buffer is replaced
// by one of twice the size.
func (t *tables) takeRegion(log int) (int, error) {
	t.freeMu.Lock()
	if free := t.free[log]; len(free) > 0 {
		t.free[log] = free[:len(free)-1]
		t.freeMu.Unlock()
		return free[len(free)-1], nil
	}
	t.freeMu.Unlock()
	size := 0
	if t.mem != nil {
		size = t.mem.Size() / 4
	}
	if t.taken+1<<log > size {
		m, err := t.alloc(4*max(1<<firstTables, 2*size, size+1<<log), false)
		if err != nil {
			return 0, err
		}
		if t.mem != nil {
			if err := t.enqueued("move the lists of pages", t.context.Copy(t.mem, m, 0, 0, 4*t.taken)); err != nil {
				m.Release()
				return 0, err
			}
			t.mem.Release() // commands that use it still end
		}
		t.mem = m
	}
	t.taken += 1 << log
	return t.taken - 1<<log, nil
}
