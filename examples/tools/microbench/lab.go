package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/tensor"
)

// lab makes and frees the operands of one operation, which are on its backend.
type lab struct {
	*cpu.Backend
	span    int              // bytes that the copies of weights fill together
	numbers *rand.Rand       // the operands' elements
	tensors []*tensor.Tensor // all operands, for free
}

func newLab(b *cpu.Backend, span int) *lab {
	return &lab{Backend: b, span: span, numbers: rand.New(rand.NewPCG(1, 2))}
}

// free releases the operands.
func (l *lab) free() {
	for _, t := range l.tensors {
		t.Free()
	}
	l.tensors = nil
}

// zeros returns a tensor of zeros.
func (l *lab) zeros(d tensor.DType, dims ...int) (*tensor.Tensor, error) {
	shape, err := tensor.NewShape(dims...)
	if err != nil {
		return nil, err
	}
	t, err := tensor.New(l.Backend, d, shape)
	if err != nil {
		return nil, err
	}
	l.tensors = append(l.tensors, t)
	return t, nil
}

// activation describes an F32 tensor.
type activation struct {
	value float32 // of all elements; 0: random ones
	dims  []int
}

func random(dims ...int) activation             { return activation{0, dims} }
func all(value float32, dims ...int) activation { return activation{value, dims} }

// activations makes tensors.
func (l *lab) activations(list ...activation) (ts []*tensor.Tensor, err error) {
	for _, a := range list {
		t, err := l.zeros(tensor.F32, a.dims...)
		if err != nil {
			return nil, err
		}
		x, err := tensor.Mut[float32](t)
		if err != nil {
			return nil, err
		}
		for i := range x {
			x[i] = a.value
			if a.value == 0 {
				x[i] = l.numbers.Float32() - 0.5
			}
		}
		ts = append(ts, t)
	}
	return ts, nil
}

// onActivations makes the subject of an operation on activations alone.
func (l *lab) onActivations(make func(t []*tensor.Tensor) (func(int) error, machine.Work), list ...activation) (*subject, error) {
	t, err := l.activations(list...)
	if err != nil {
		return nil, err
	}
	run, work := make(t)
	return &subject{run, work}, nil
}

// maxCopies bounds how many copies of small weights take turns.
const maxCopies = 4096

// weights returns prepared weights [n, k], in as many copies as fill the span.
func (l *lab) weights(d tensor.DType, n, k int) ([]*tensor.Tensor, error) {
	w, err := l.stored(d, n, k)
	if err != nil {
		return nil, err
	}
	list := make([]*tensor.Tensor, l.copies(w))
	for i := range list {
		ready, err := l.Prepare(context.Background(), w)
		if err == nil && ready == w && i > 0 {
			ready, err = l.CopyFrom(w)
		}
		if err != nil {
			return nil, fmt.Errorf("copy %d of %v: %w", i+1, w, err)
		}
		list[i] = ready
		l.tensors = append(l.tensors, ready)
	}
	return list, nil
}

// caches returns caches of slots slots, in as many copies as fill the span. Each has pages of its own, in the order that a single
// conversation's pages have: tile by tile, and within a tile head by head.
func (l *lab) caches(d tensor.DType, slots, heads, headDim int) ([]*backend.Slots, error) {
	pages := (slots + backend.PageSlots - 1) / backend.PageSlots
	first, err := l.stored(d, pages*heads, 2, backend.PageSlots, headDim)
	if err != nil {
		return nil, err
	}
	list := make([]*backend.Slots, l.copies(first))
	for i := range list {
		slab, err := l.CopyFrom(first)
		if err != nil {
			return nil, fmt.Errorf("copy %d of %v: %w", i+1, first, err)
		}
		l.tensors = append(l.tensors, slab)
		list[i] = &backend.Slots{DType: d, HeadDim: headDim}
		for head := range heads {
			h := backend.HeadSlots{Len: slots}
			for page := range pages {
				h.Pages = append(h.Pages, backend.Page{Slab: slab, Index: page*heads + head})
			}
			list[i].Heads = append(list[i].Heads, h)
		}
	}
	return list, nil
}

// states returns states of a shape, in as many copies as fill the span.
func (l *lab) states(dims ...int) ([]*tensor.Tensor, error) {
	first, err := l.stored(tensor.F32, dims...)
	if err != nil {
		return nil, err
	}
	list := []*tensor.Tensor{first}
	for range l.copies(first) - 1 {
		s, err := l.CopyFrom(first) // which touches its memory
		if err != nil {
			return nil, err
		}
		l.tensors = append(l.tensors, s)
		list = append(list, s)
	}
	return list, nil
}

// copies returns how many tensors like t fill the span.
func (l *lab) copies(t *tensor.Tensor) int { return min(max(l.span/max(t.Size(), 1), 1), maxCopies) }

// stored returns a tensor as files and caches hold it, of random numbers.
func (l *lab) stored(d tensor.DType, dims ...int) (*tensor.Tensor, error) {
	t, err := l.zeros(d, dims...)
	if err != nil {
		return nil, err
	}
	data, row := t.Data(), t.RowBytes()
	if err := l.fillRow(t); err != nil {
		return nil, err
	}
	for at := row; at < len(data); at *= 2 { // all rows are alike, which makes no kernel faster
		copy(data[at:], data[:at])
	}
	return t, nil
}

// fillRow quantises random numbers into the first row of t.
func (l *lab) fillRow(t *tensor.Tensor) error {
	k := t.Shape().Dim(-1)
	x, err := l.activations(random(1, k))
	if err != nil {
		return err
	}
	flat, err := t.Reshape(t.Shape().NumElements()/k, k)
	if err != nil {
		return err
	}
	first, err := flat.Slice(0, 1)
	if err != nil {
		return err
	}
	return l.Run(&backend.Cast{Src: x[0], Dst: first})
}
