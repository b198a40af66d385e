package kvcache

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// pages are one cache's lists of pages, and the slots in them. They know nothing of tokens. They are apart from the Cache so that pages of
// a cache that was forgotten can be given back.
//
// The lists have one reference to each of their pages. If shared is not set, nobody else has one. Before a page is written, own replaces it
// by a copy if somebody else has it too.
type pages struct {
	pool      *pool
	slots     backend.Slots
	hadamard  *hadamard // nil, or every key in use was turned by its matrix
	shared    bool      // other caches may have some of the pages too
	tailOwned bool      // if shared: no other cache has the pages in which each head's next slot lies, if there are such pages
	freed     bool
}

// newPages makes empty lists, for a layer with an attention.
func newPages(p *pool, a backend.Attention) (*pages, error) {
	h, err := p.enter()
	if err != nil {
		return nil, err
	}
	slots := backend.Slots{DType: p.dtype, HeadDim: p.shape.headDim, Heads: make([]backend.HeadSlots, p.shape.kvHeads), Attention: a, Latent: p.halves == 1, Version: 1}
	return &pages{pool: p, slots: slots, hadamard: h}, nil
}

// clone returns lists of the same slots. Both lists share the pages from now on.
func (p *pages) clone() *pages {
	total := 0
	for head := range p.slots.Heads {
		total += pagesFor(p.HeadLen(head))
	}
	list, c := make([]backend.Page, 0, total), *p
	c.slots.Heads, c.slots.Version, c.slots.Device = make([]backend.HeadSlots, p.KVHeads()), 1, nil
	for head, h := range p.slots.Heads {
		first := len(list)
		list = append(list, h.Pages[:pagesFor(h.Len)]...)
		c.slots.Heads[head] = backend.HeadSlots{Pages: list[first:len(list):len(list)], Len: h.Len}
	}
	p.pool.share(list)
	p.shared, p.tailOwned, c.shared, c.tailOwned = true, false, true, false
	return &c
}

// free gives all pages back, once.
func (p *pages) free() error {
	if p.freed {
		return nil
	}
	p.freed = true
	errs := []error{p.pool.leave()}
	for head := range p.slots.Heads {
		h := &p.slots.Heads[head]
		errs = append(errs, p.pool.give(h.Pages))
		h.Pages, h.Len = nil, 0
	}
	p.slots.Version++
	if d, ok := p.slots.Device.(interface{ Free() error }); ok {
		errs = append(errs, d.Free())
	}
	p.slots.Device = nil
	return errors.Join(errs...)
}

// Len returns the number of slots in use, of the head that has most.
func (p *pages) Len() int { return p.slots.Len() }

// HeadLen returns the number of slots in use of a KV head.
func (p *pages) HeadLen(head int) int { return p.slots.Heads[head].Len }

// KVHeads returns the number of heads that keys and values have.
func (p *pages) KVHeads() int { return len(p.slots.Heads) }

// HeadDim returns the number of elements of a head's key.
func (p *pages) HeadDim() int { return p.slots.HeadDim }

// DType returns the type of keys and values.
func (p *pages) DType() tensor.DType { return p.slots.DType }

// Backend returns the device on which keys and values live, for policies that have arithmetic to do.
func (p *pages) Backend() backend.Backend { return p.pool.device }

// MemoryUsage returns the bytes of the slots in use, keys and values of all heads together. Slots that are shared with other caches count
// in each; Store.Bytes counts them once.
func (p *pages) MemoryUsage() int64 {
	return int64(p.slots.Halves()) * int64(p.total()) * int64(p.slots.SlotBytes())
}

// total returns the number of slots in use of all heads together.
func (p *pages) total() (slots int) {
	for head := range p.slots.Heads {
		slots += p.HeadLen(head)
	}
	return slots
}

// pagesFor returns the number of pages that slots take.
func pagesFor(slots int) int { return (slots + backend.PageSlots - 1) / backend.PageSlots }

// reserve makes room for further slots of each head, which nobody else sees written.
func (p *pages) reserve(slots int) error {
	if p.shared && !p.tailOwned {
		for head, h := range p.slots.Heads {
			if err := p.own(head, h.Len, len(h.Pages)*backend.PageSlots); err != nil {
				return err
			}
		}
		p.tailOwned = true
	}
	for head, h := range p.slots.Heads {
		if err := p.extend(head, h.Len+slots); err != nil {
			return err
		}
	}
	return nil
}

// extend makes sure that a head has pages for its first slots, in use or not.
func (p *pages) extend(head, slots int) (err error) {
	h := &p.slots.Heads[head]
	if n := pagesFor(slots) - len(h.Pages); n > 0 {
		h.Pages, err = p.pool.take(h.Pages, n)
		p.slots.Version++
	}
	return err
}

// own makes the pages of a head's slots [lo, hi) the lists' own, so that they can be written: it replaces those that others have too by
// copies.
func (p *pages) own(head, lo, hi int) error {
	if !p.shared || lo >= hi {
		return nil
	}
	list := p.slots.Heads[head].Pages
	for i := lo / backend.PageSlots; i <= (hi-1)/backend.PageSlots; i++ {
		old := list[i]
		if !p.pool.shared(old) {
			continue
		}
		fresh, err := p.pool.take(nil, 1)
		if err != nil {
			return err
		}
		if err := p.Backend().Run(&backend.CopyPage{From: old, To: fresh[0]}); err != nil {
			return errors.Join(err, p.pool.give(fresh))
		}
		list[i] = fresh[0]
		p.slots.Version++
		if err := p.pool.give([]backend.Page{old}); err != nil {
			return err
		}
	}
	return nil
}

// trim sets the number of slots in use of a head and gives the pages behind them back.
func (p *pages) trim(head, n int) error {
	h := &p.slots.Heads[head]
	h.Len = n
	keep := pagesFor(n)
	p.tailOwned = false
	if keep >= len(h.Pages) {
		return nil
	}
	gone := h.Pages[keep:]
	h.Pages = h.Pages[:keep]
	p.slots.Version++
	if err := p.pool.give(gone); err != nil {
		return fmt.Errorf("kvcache: give %d pages of head %d back: %w", len(gone), head, err)
	}
	clear(gone)
	return nil
}

// dropFirst gives the first n pages of each head back.
func (p *pages) dropFirst(n int) error {
	p.slots.Version++
	for head := range p.slots.Heads {
		h := &p.slots.Heads[head]
		if err := p.pool.give(h.Pages[:n]); err != nil {
			return fmt.Errorf("give %d pages of head %d back: %w", n, head, err)
		}
		left := copy(h.Pages, h.Pages[n:])
		clear(h.Pages[left:])
		h.Pages, h.Len = h.Pages[:left], h.Len-n*backend.PageSlots
	}
	return nil
}
