package attention

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// device is a backend with the tensors that a look at one problem has put there. free gives them back.
type device struct {
	backend.Backend
	owned []*tensor.Tensor
}

// free gives the tensors back.
func (d *device) free() {
	for _, t := range d.owned {
		t.Free()
	}
	d.owned = nil
}

// blank makes a tensor on the device.
func (d *device) blank(t tensor.DType, dims ...int) (*tensor.Tensor, error) {
	made, err := tensor.New(d.Backend, t, tensor.ShapeOf(dims...))
	if err == nil {
		d.owned = append(d.owned, made)
	}
	return made, err
}

// floats makes a tensor of type F32 with the given values.
func (d *device) floats(x []float32, dims ...int) (*tensor.Tensor, error) {
	t, err := tensor.FromFloats(x, dims...)
	if err != nil {
		return nil, err
	}
	return d.take(t)
}

// bytes makes a tensor of any type with the given content.
func (d *device) bytes(t tensor.DType, data []byte, dims ...int) (*tensor.Tensor, error) {
	wrapped, err := tensor.Wrap(nil, tensor.WrapBytes(t, data, nil, true), tensor.ShapeOf(dims...))
	if err != nil {
		return nil, err
	}
	return d.take(wrapped)
}

// take copies a tensor of the host to the device.
func (d *device) take(t *tensor.Tensor) (*tensor.Tensor, error) {
	there, err := d.CopyFrom(t)
	if err == nil {
		d.owned = append(d.owned, there)
	}
	return there, err
}

// read returns the elements of a tensor of type F32.
func (d *device) read(t *tensor.Tensor) ([]float32, error) {
	x := make([]float32, t.Shape().NumElements())
	return x, backend.ReadFloats(d.Backend, t, x)
}

// protected is how many slots at the beginning stay if a problem has a gap.
const protected = 4

// slots makes pages for a conversation's slots and writes keys and values, rows of each head in the cache's type, to the first of them. The
// pages of a head do not lie one after the other, so that who takes them to do so is found out.
func (d *device) slots(p *problem, c *conversation, keys, values [][]byte) (*backend.Slots, error) {
	s := &backend.Slots{DType: p.dtype, HeadDim: p.dim, Version: 1}
	pages := 0
	for _, used := range c.used {
		pages += pagesFor(used + p.gap)
	}
	slab, err := d.blank(p.dtype, pages, 2, backend.PageSlots, p.dim)
	if err != nil {
		return nil, err
	}
	next := pages
	for _, used := range c.used {
		h := backend.HeadSlots{}
		for range pagesFor(used + p.gap) {
			next--
			h.Pages = append(h.Pages, backend.Page{Slab: slab, Index: next})
		}
		s.Heads = append(s.Heads, h)
	}
	keep, given := make([][]int32, len(s.Heads)), false
	for h := range s.Heads {
		rows := len(keys[h]) / s.SlotBytes()
		first := min(protected, rows)
		if err := d.write(p, s, h, 0, keys[h][:first*s.SlotBytes()], values[h][:first*s.SlotBytes()]); err != nil {
			return nil, err
		}
		if err := d.write(p, s, h, first+p.gap, keys[h][first*s.SlotBytes():], values[h][first*s.SlotBytes():]); err != nil {
			return nil, err
		}
		for i := range rows {
			if i >= first {
				i, given = i+p.gap, given || p.gap > 0
			}
			keep[h] = append(keep[h], int32(i))
		}
		s.Heads[h].Len = rows
		if rows > first {
			s.Heads[h].Len += p.gap
		}
	}
	if given {
		if err := d.Run(&backend.Compact{Slots: s, Keep: keep}); err != nil {
			return nil, fmt.Errorf("give slots up: %w", err)
		}
	}
	for h, used := range c.used {
		s.Heads[h].Len = used
	}
	s.Version++
	return s, nil
}

// write writes rows of keys and values to slots of a head, from first on.
func (d *device) write(p *problem, s *backend.Slots, head, first int, keys, values []byte) error {
	n := len(keys) / s.SlotBytes()
	if n == 0 {
		return nil
	}
	k, err := d.bytes(p.dtype, keys, n, p.dim)
	if err != nil {
		return err
	}
	v, err := d.bytes(p.dtype, values, n, p.dim)
	if err != nil {
		return err
	}
	return d.Run(&backend.WriteSlots{Slots: s, Head: head, First: first, Keys: k, Values: v})
}

// content returns the keys and values of all slots in use of a head, in the cache's type.
func (d *device) content(p *problem, s *backend.Slots, head int) (keys, values []byte, err error) {
	n := s.Heads[head].Len
	var sides [2]*tensor.Tensor
	var data [2][]byte
	for i := range sides {
		if sides[i], err = d.blank(p.dtype, n, p.dim); err != nil {
			return nil, nil, err
		}
		data[i] = make([]byte, sides[i].Size())
	}
	if err := d.Run(&backend.ReadSlots{Slots: s, Head: head, First: 0, Keys: sides[0], Values: sides[1]}); err != nil {
		return nil, nil, err
	}
	for i := range sides {
		if err := d.ReadBuffer(sides[i], data[i]); err != nil {
			return nil, nil, err
		}
	}
	return data[0], data[1], nil
}
