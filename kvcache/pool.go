package kvcache

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// A pool hands pages out to caches, and counts for each page how many lists have it. Pages lie in slabs, which are one tensor each. A copy
// of a cache shares all pages. The copy that writes to a shared page takes a page of its own first. A page without references is free, and
// is taken again before a new slab is allocated. Memory in excess goes back to the system. For example, a slab has four pages:
//
//	                                        refs      free, the last one is taken first
//	a new slab                              0 0 0 0   3 2 1 0
//	a cache takes two pages                 1 1 0 0   3 2
//	a copy of the cache shares them         2 2 0 0   3 2
//	the copy writes to page 1, gets page 2  2 1 1 0   3
//	the first cache is freed                1 0 1 0   3 1, and page 1 is stale

// pool is the memory of a store's caches of one type and shape: the pages, in slabs, and the hadamard that turns keys, if the type wants
// that. It is safe for concurrent use.
//
// Invariants: slabs has every slab; open has those with free pages, each at its place; pages and used are the number of pages of all
// slabs and of those that some list has; stale is how many free pages have stale set; hadamard is nil while there are no caches.
type pool struct {
	device backend.Backend
	dtype  tensor.DType
	kind   int // Layer.Kind of its caches
	shape  shape
	latent bool // values are keys: no key is turned, since no value is turned back
	halves int  // of a page

	mu                 sync.Mutex // guards what follows
	slabs              map[*tensor.Tensor]*slab
	open               []*slab
	pages, used, stale int
	caches             int       // that have pages here, or may come to have some
	hadamard           *hadamard // nil unless keys are turned
}

// shape is the shape of a layer's queries and keys in a step.
type shape struct {
	rows                    int // of a step, at most
	heads, kvHeads, headDim int
}

// slab is memory for some pages. The example above walks through refs and free.
//
// Invariants: a page is in free if refs has 0 for it; place is -1 if no page is free.
type slab struct {
	tensor *tensor.Tensor // [pages, halves, backend.PageSlots, headDim]
	refs   []int32        // how many lists have the page
	free   []int          // the next one to be used is the last
	stale  []bool         // the page is free, and its memory has not been given back to the system since it was used
	place  int            // in pool.open
}

// What a pool keeps in excess, so that a cache that takes a page and gives it back again and again does not ask the system each time:
// about staleBytes of stale pages, and, while some pages are in use, one unused slab of up to spareSlab pages.
const (
	staleBytes = 512 << 10
	spareSlab  = 64
)

// enter counts a further cache and returns the hadamard that turns its keys, or nil.
func (p *pool) enter() (_ *hadamard, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hadamard == nil && !p.latent && turns(p.dtype, p.shape.headDim) {
		if p.hadamard, err = newHadamard(p.device, p.shape.rows, p.shape.heads, p.shape.kvHeads, p.shape.headDim); err != nil {
			return nil, err
		}
	}
	p.caches++
	return p.hadamard, nil
}

// leave counts a cache less. The memory for turned rows goes with the last one.
func (p *pool) leave() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.caches--; p.caches > 0 {
		return nil
	}
	h := p.hadamard
	p.hadamard = nil
	return h.free()
}

// take appends n pages to a list, each with one reference. After an error the list is as it was.
func (p *pool) take(list []backend.Page, n int) ([]backend.Page, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	had := len(list)
	for range n {
		if len(p.open) == 0 {
			if err := p.grow(); err != nil {
				return list[:had], errors.Join(err, p.put(list[had:]))
			}
		}
		s := p.open[len(p.open)-1]
		index := s.free[len(s.free)-1]
		s.free = s.free[:len(s.free)-1]
		s.refs[index] = 1
		p.used++
		if s.stale[index] {
			s.stale[index] = false
			p.stale--
		}
		if len(s.free) == 0 {
			p.close(s)
		}
		list = append(list, backend.Page{Slab: s.tensor, Index: index})
	}
	return list, nil
}

// grow adds a slab.
func (p *pool) grow() error {
	n := max(1, p.device.SlabPages(p.pages))
	t, err := p.memory(n)
	if err != nil {
		return fmt.Errorf("%d pages: %w", n, err)
	}
	s := &slab{tensor: t, refs: make([]int32, n), stale: make([]bool, n), free: make([]int, n)}
	for i := range s.free {
		s.free[i] = n - 1 - i // the first page is used first
	}
	p.slabs[t] = s
	p.pages += n
	s.place = len(p.open)
	p.open = append(p.open, s)
	return nil
}

// memory allocates the memory of n pages.
func (p *pool) memory(n int) (*tensor.Tensor, error) {
	shape, err := tensor.NewShape(n, p.halves, backend.PageSlots, p.shape.headDim)
	if err != nil {
		return nil, err
	}
	host, ok := p.device.Memory().(*tensor.Galloc)
	if !ok {
		return tensor.New(p.device, p.dtype, shape)
	}
	buffer, err := host.AllocCache(n*int(p.pageBytes()), p.dtype)
	if err != nil {
		return nil, err
	}
	return tensor.Wrap(p.device, buffer, shape)
}

// close takes a slab out of the list of those with free pages.
func (p *pool) close(s *slab) {
	last := p.open[len(p.open)-1]
	p.open[s.place], last.place = last, s.place
	p.open = p.open[:len(p.open)-1]
	s.place = -1
}

// share adds a reference to each page, for a further cache.
func (p *pool) share(list []backend.Page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.caches++
	for i := range list {
		p.slabs[list[i].Slab].refs[list[i].Index]++
	}
}

// shared reports whether other lists have the page too.
func (p *pool) shared(page backend.Page) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slabs[page.Slab].refs[page.Index] > 1
}

// give takes a reference from each page. Pages without references are free. Memory in excess is given back to the system.
func (p *pool) give(list []backend.Page) error {
	if len(list) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.put(list)
}

// put is give for a caller that holds the lock.
func (p *pool) put(list []backend.Page) error {
	var errs []error
	for i := range list {
		s, index := p.slabs[list[i].Slab], list[i].Index
		if s == nil {
			continue // the store has been freed
		}
		if s.refs[index]--; s.refs[index] > 0 {
			continue
		}
		if len(s.free) == 0 {
			s.place = len(p.open)
			p.open = append(p.open, s)
		}
		s.free = append(s.free, index)
		s.stale[index] = true
		p.stale++
		p.used--
		if len(s.free) == len(s.refs) && !p.spare(s) {
			errs = append(errs, p.drop(s))
		}
	}
	switch {
	case p.used == 0:
		for len(p.open) > 0 {
			errs = append(errs, p.drop(p.open[0]))
		}
	case int64(p.stale)*p.pageBytes() > staleBytes:
		for _, s := range p.open {
			errs = append(errs, p.discard(s))
		}
	}
	return errors.Join(errs...)
}

// spare reports whether to keep a slab without pages in use: if it is small, and the other slabs have fewer free pages than spareSlab.
func (p *pool) spare(s *slab) bool {
	return len(s.refs) <= spareSlab && p.pages-p.used-len(s.refs) < spareSlab
}

// drop gives up an unused slab.
func (p *pool) drop(s *slab) error {
	p.close(s)
	delete(p.slabs, s.tensor)
	p.pages -= len(s.refs)
	for _, stale := range s.stale {
		if stale {
			p.stale--
		}
	}
	return s.tensor.Free()
}

// discarder is a buffer that can give the memory of a part back to the system, as tensor.SharedBuffer does.
type discarder interface {
	Discard(off, n int) error
}

// discard gives the memory of a slab's stale pages back to the system if the slab's buffer can do that: neighbours together.
func (p *pool) discard(s *slab) error {
	b, can := s.tensor.Buffer().(discarder)
	bytes := s.tensor.Size() / len(s.refs)
	for lo := slices.Index(s.stale, true); lo >= 0; lo = slices.Index(s.stale, true) {
		hi := lo
		for hi < len(s.stale) && s.stale[hi] {
			s.stale[hi] = false
			p.stale--
			hi++
		}
		if can {
			if err := b.Discard(s.tensor.Offset()+lo*bytes, (hi-lo)*bytes); err != nil {
				return fmt.Errorf("give back pages %d to %d: %w", lo, hi, err)
			}
		}
	}
	return nil
}

// free gives up all memory.
func (p *pool) free() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := []error{p.hadamard.free()}
	for t := range p.slabs {
		errs = append(errs, t.Free())
	}
	p.slabs, p.open, p.pages, p.used, p.stale, p.hadamard = map[*tensor.Tensor]*slab{}, nil, 0, 0, 0, nil
	return errors.Join(errs...)
}

// pageBytes returns the bytes of a page.
func (p *pool) pageBytes() int64 {
	bytes, _ := p.dtype.Bytes(p.halves * backend.PageSlots * p.shape.headDim) // checked when the pool was made
	return int64(bytes)
}

// bytes returns the bytes of the pages in use.
func (p *pool) bytes() int64 { return int64(p.used) * p.pageBytes() }
