package kvcache

import (
	"errors"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// pool is the memory for the pages of caches of one type, in slabs. Store.mu guards it.
//
// Invariants: slabs has every slab; open has those with free pages, each at its place; pages and used are the number of pages of all
// slabs and of those that some list has; stale is how many free pages have stale set.
type pool struct {
	device  backend.Backend
	dtype   tensor.DType
	headDim int

	slabs              map[*tensor.Tensor]*slab
	open               []*slab
	pages, used, stale int
}

// slab is memory for some pages.
//
// Invariants: a page is in free if refs has 0 for it; place is -1 if no page is free.
type slab struct {
	tensor *tensor.Tensor // [pages, 2, backend.PageSlots, headDim]
	refs   []int32        // how many lists have the page
	free   []int          // the next one to be used is the last
	stale  []bool         // the page is free, and its memory has not been given back to the system since it was used
	place  int            // in pool.open
}

// What the store keeps in excess, so that who takes a page and gives it back again and again does not ask the system each time: about
// staleBytes of stale pages, and, while it has pages in use, one slab of up to spareSlab pages of which none is.
const (
	staleBytes = 512 << 10
	spareSlab  = 64
)

// take appends n pages to a list, each with one reference. After an error none is taken.
func (p *pool) take(list []backend.Page, n int) ([]backend.Page, error) {
	had := len(list)
	for range n {
		if len(p.open) == 0 {
			if err := p.grow(); err != nil {
				return list[:had], errors.Join(err, p.give(list[had:]))
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
	shape, err := tensor.NewShape(n, 2, backend.PageSlots, p.headDim)
	if err != nil {
		return fmt.Errorf("%d pages: %w", n, err)
	}
	t, err := tensor.New(p.device, p.dtype, shape)
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

// close takes a slab out of the list of those with free pages.
func (p *pool) close(s *slab) {
	last := p.open[len(p.open)-1]
	p.open[s.place], last.place = last, s.place
	p.open = p.open[:len(p.open)-1]
	s.place = -1
}

// share adds a reference to each page.
func (p *pool) share(list []backend.Page) {
	for i := range list {
		p.slabs[list[i].Slab].refs[list[i].Index]++
	}
}

// shared tells whether other lists have the page too.
func (p *pool) shared(page backend.Page) bool { return p.slabs[page.Slab].refs[page.Index] > 1 }

// give takes a reference from each page. Pages without references are free; memory that is too much of is given back to the system.
func (p *pool) give(list []backend.Page) error {
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

// spare tells whether a slab without pages in use is to be kept: where it is small, and there are not as many free pages without it.
func (p *pool) spare(s *slab) bool {
	return len(s.refs) <= spareSlab && p.pages-p.used-len(s.refs) < spareSlab
}

// drop gives up a slab of which no page is in use.
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

// discard gives the memory of a slab's stale pages back to the system, where its buffer can do that: neighbours together.
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

// free gives up all slabs.
func (p *pool) free() error {
	var errs []error
	for t := range p.slabs {
		errs = append(errs, t.Free())
	}
	*p = pool{device: p.device, dtype: p.dtype, headDim: p.headDim, slabs: map[*tensor.Tensor]*slab{}}
	return errors.Join(errs...)
}

// pageBytes returns the bytes of a page.
func (p *pool) pageBytes() int64 {
	bytes, _ := p.dtype.Bytes(2 * backend.PageSlots * p.headDim) // checked when the pool was made
	return int64(bytes)
}

// bytes returns the bytes of the pages in use.
func (p *pool) bytes() int64 { return int64(p.used) * p.pageBytes() }
