package backend

import (
	"fmt"

	"github.com/antigravity-go/antigravity/tensor"
)

// Compact makes slot i of each head what slot Keep[head][i] of it was; each list is strictly ascending. It writes to no slot that
// stays what it was (Keep[head][i] = i). The caller has made sure that the pages which change are nobody else's, and sets each Len
// afterwards. What the slots behind hold is then undefined.
type Compact struct {
	Slots *Slots
	Keep  [][]int32
}

// Check checks the lists. The pages of all slots up to the last one that is kept must be there, and can be written as far as slots change.
func (o *Compact) Check() error {
	const op = "Compact"
	if err := o.Slots.check(op); err != nil {
		return err
	}
	if len(o.Keep) != len(o.Slots.Heads) {
		return fmt.Errorf("backend: %s of %v with lists for %d heads: there must be one for each", op, o.Slots, len(o.Keep))
	}
	for head, list := range o.Keep {
		n, same := o.Slots.Heads[head].Len, 0
		for i, slot := range list {
			if slot < 0 || int(slot) >= n || i > 0 && slot <= list[i-1] {
				return fmt.Errorf("backend: %s of %v: head %d, which has %d slots, keeps slot %d as its %d.: slots must be in range and ascending",
					op, o.Slots, head, n, slot, i)
			}
			if int(slot) == i {
				same = i + 1
			}
		}
		if same == len(list) {
			continue
		}
		if err := o.Slots.checkPages(op, head, same, len(list), true); err != nil {
			return err
		}
		if err := o.Slots.checkPages(op, head, same, int(list[len(list)-1])+1, false); err != nil {
			return err
		}
	}
	return nil
}

// CopyPage copies a page to another one. The slabs must have the same type and pages of the same shape.
type CopyPage struct{ From, To Page }

// Check checks that both pages exist, have one type and shape, and that the second can be written.
func (o *CopyPage) Check() error {
	const op = "CopyPage"
	if o.From.Slab == nil || o.To.Slab == nil {
		return fmt.Errorf("backend: %s of a page without a slab", op)
	}
	a, b := o.From.Slab.Shape(), o.To.Slab.Shape()
	if a.NDim() != 4 || b.NDim() != 4 || a.Dim(1) < 1 || a.Dim(1) > 2 || a.Dim(2) != PageSlots || o.From.Slab.DType() != o.To.Slab.DType() ||
		b.Dim(1) != a.Dim(1) || b.Dim(2) != PageSlots || a.Dim(3) != b.Dim(3) {
		return fmt.Errorf("backend: %s from a slab %v to %v: they must be of one type, [pages halves %d headDim]", op, o.From.Slab, o.To.Slab, PageSlots)
	}
	if o.From.Index < 0 || o.From.Index >= a.Dim(0) || o.To.Index < 0 || o.To.Index >= b.Dim(0) {
		return fmt.Errorf("backend: %s of page %d of %v to page %d of %v: there are no such pages", op, o.From.Index, o.From.Slab, o.To.Index, o.To.Slab)
	}
	return needWritable(op, o.To.Slab)
}

// ReadSlots copies keys and values of a head's slots from First on, as many as Keys and Values [n, headDim] have rows, converting
// them if these are F32; otherwise these have the cache's type. A tensor that is nil is left out. The slots need not be in
// use, but must have pages. The values of Latent slots are their keys.
type ReadSlots struct {
	Slots        *Slots
	Head, First  int
	Keys, Values *tensor.Tensor
}

// Check checks the operands.
func (o *ReadSlots) Check() error { return checkSlots("ReadSlots", o, false) }

// Rows returns n.
func (o *ReadSlots) Rows() int {
	for _, t := range [2]*tensor.Tensor{o.Keys, o.Values} {
		if t != nil {
			return t.Shape().Dim(0)
		}
	}
	return 0
}

// WriteSlots is the reverse of ReadSlots: Keys and Values are F32, which is converted, or of the cache's type. Values for Latent slots are left out.
type WriteSlots ReadSlots

// Check checks the operands.
func (o *WriteSlots) Check() error { return checkSlots("WriteSlots", (*ReadSlots)(o), true) }

// Rows returns n.
func (o *WriteSlots) Rows() int { return (*ReadSlots)(o).Rows() }

// checkSlots checks ReadSlots or, with write, WriteSlots.
func checkSlots(op string, o *ReadSlots, write bool) error {
	s, n := o.Slots, -1
	if err := s.check(op); err != nil {
		return err
	}
	if o.Head < 0 || o.Head >= len(s.Heads) {
		return fmt.Errorf("backend: %s of head %d of %v", op, o.Head, s)
	}
	for _, t := range [2]*tensor.Tensor{o.Keys, o.Values} {
		if t == nil {
			continue
		}
		rows := t.Shape().Dim(0)
		if t.Shape().NDim() != 2 || t.Shape().Dim(1) != s.HeadDim || n >= 0 && rows != n || t.DType() != tensor.F32 && t.DType() != s.DType {
			return fmt.Errorf("backend: %s of %v with keys %v and values %v: shapes must be equal, [n %d], of type f32 or %v", op, s, o.Keys, o.Values, s.HeadDim, s.DType)
		}
		if n = rows; !write {
			if err := needWritable(op, t); err != nil {
				return err
			}
		}
	}
	if n < 0 {
		return nil // neither keys nor values are asked for
	}
	if o.First < 0 || o.First > len(s.Heads[o.Head].Pages)*PageSlots {
		return fmt.Errorf("backend: %s of slots from %d on of head %d of %v", op, o.First, o.Head, s)
	}
	return s.checkPages(op, o.Head, o.First, o.First+n, write)
}
