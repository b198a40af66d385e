package kvcache

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Each calls f for every slot of a KV head, in order, with its key and its value [headDim] as F32, not turned. The slices are
// valid during the call of f.
func (p *pages) Each(head int, f func(slot int, key, value []float32)) error {
	return p.each(head, 2, func(slot int, sides [2][]float32) { f(slot, sides[0], sides[1]) })
}

// EachKey is Each for the keys alone: it reads half as much.
func (p *pages) EachKey(head int, f func(slot int, key []float32)) error {
	return p.each(head, 1, func(slot int, sides [2][]float32) { f(slot, sides[0]) })
}

// readSlots is how many slots are read at once.
const readSlots = 2 * backend.PageSlots

// each calls f for every slot of a KV head with its key and, if sides is 2, its value.
func (p *pages) each(head, sides int, f func(slot int, sides [2][]float32)) error {
	if head < 0 || head >= p.KVHeads() {
		return fmt.Errorf("kvcache: read slots of head %d: there are %d KV heads", head, p.KVHeads())
	}
	d := p.HeadDim()
	wide, err := tensor.New(p.Backend(), tensor.F32, tensor.ShapeOf(2*readSlots, d))
	if err != nil {
		return fmt.Errorf("kvcache: read slots: %w", err)
	}
	defer wide.Free()
	var parts [2]*tensor.Tensor // the keys and the values of some slots
	floats := make([]float32, sides*readSlots*d)
	for lo := 0; lo < p.HeadLen(head); lo += readSlots {
		n := min(readSlots, p.HeadLen(head)-lo)
		for i := range sides {
			if parts[i], err = wide.Slice(i*readSlots, i*readSlots+n); err != nil {
				return err
			}
		}
		if err := p.Backend().Run(&backend.ReadSlots{Slots: &p.slots, Head: head, First: lo, Keys: parts[0], Values: parts[1]}); err != nil {
			return fmt.Errorf("kvcache: read slots from %d on: %w", lo, err)
		}
		for i := range sides {
			if err := backend.ReadFloats(p.Backend(), parts[i], floats[i*readSlots*d:][:n*d]); err != nil {
				return fmt.Errorf("kvcache: read slots from %d on: %w", lo, err)
			}
		}
		p.hadamard.unturn(floats[:n*d], d)
		var rows [2][]float32
		for j := range n {
			for i := range sides {
				rows[i] = floats[(i*readSlots+j)*d:][:d]
			}
			f(lo+j, rows)
		}
	}
	return nil
}
