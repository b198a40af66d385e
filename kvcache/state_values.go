package kvcache

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// The values of states, and their memory. A value is one tensor that holds all tensors of a layer's state, one after the other. For tensors
// of 10 and 20 elements the layout begins them at 0 and 16, and a value has 48 elements.
//
// States and snapshots share values, which count their references. take returns a value to write to, a free one or a new one; share adds a
// reference; give takes one away, and a value without references becomes free.
//
//	                                            references of A   references of B
//	a state takes A                             1
//	a snapshot shares the value                 2
//	the state takes B, writes to B, gives A     1                 1
//	the snapshot is dropped and gives A         0                 1
//
// A is now kept for the next taker, or its memory goes back to the system: at most spareStates bytes are kept, and no more than are in use.

// layout says how the tensors of a layer's state lie in a value, one after the other.
type layout struct {
	shapes []tensor.Shape
	begins []int // of each, in elements: a multiple of 16
	size   int   // elements in all
}

// newLayout makes the layout of tensors of some shapes.
func newLayout(shapes []tensor.Shape) (*layout, error) {
	if len(shapes) == 0 {
		return nil, errors.New("it has no tensors")
	}
	l := &layout{shapes: shapes}
	for _, shape := range shapes {
		l.begins = append(l.begins, l.size)
		l.size += (shape.NumElements() + 15) / 16 * 16
	}
	if _, err := tensor.NewShape(l.size); err != nil {
		return nil, err
	}
	return l, nil
}

// bytes returns the bytes of a value.
func (l *layout) bytes() int64 { return 4 * int64(l.size) }

// value is the tensors of a state. Its pool's mu guards refs.
type value struct {
	layout *layout
	flat   *tensor.Tensor   // [size]
	parts  []*tensor.Tensor // views of flat
	refs   int              // how many States and snapshots have it
	copied copying          // of another value
}

// newValue allocates a value of zeros.
func newValue(b backend.Backend, l *layout) (v *value, err error) {
	v = &value{layout: l}
	if v.flat, err = tensor.New(b, tensor.F32, tensor.ShapeOf(l.size)); err != nil {
		return nil, err
	}
	for i, shape := range l.shapes {
		part, err := v.flat.Slice(l.begins[i], l.begins[i]+shape.NumElements())
		if err == nil {
			part, err = part.Reshape(shape.Dims()...)
		}
		if err != nil {
			return nil, errors.Join(err, v.flat.Free())
		}
		v.parts = append(v.parts, part)
	}
	return v, nil
}

// copyFrom copies another value of the same layout.
func (v *value) copyFrom(b backend.Backend, from *value) error {
	return v.copied.Run(b, *backend.Copy(from.flat, v.flat))
}

// statePool is the memory of a store's states. It is safe for concurrent use. A nil value stands for that of no tokens, and has no
// references.
//
// Invariants: all has every value that was not given back to the system; free has those without references.
type statePool struct {
	device backend.Backend

	mu          sync.Mutex // guards what follows
	layouts     []*layout
	all         map[*value]struct{}
	free        map[*layout][]*value
	used, spare int64 // bytes of the values with and without references; those of journals are used
}

// spareStates is how many bytes of values a statePool keeps that nobody uses, at most as many as are in use: a long prompt takes a value
// and gives one back with each step.
const spareStates = 64 << 20

// layoutOf returns the layout of tensors of some shapes, the same for the same shapes.
func (p *statePool) layoutOf(shapes []tensor.Shape) (*layout, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.layouts {
		if slices.Equal(l.shapes, shapes) {
			return l, nil
		}
	}
	l, err := newLayout(slices.Clone(shapes))
	if err == nil {
		p.layouts = append(p.layouts, l)
	}
	return l, err
}

// take returns a value with one reference. What it holds is undefined.
func (p *statePool) take(l *layout) (*value, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if list := p.free[l]; len(list) > 0 {
		v := list[len(list)-1]
		p.free[l] = list[:len(list)-1]
		v.refs = 1
		p.spare -= l.bytes()
		p.used += l.bytes()
		return v, nil
	}
	return p.grow(l)
}

// zero is take for a value of zeros.
func (p *statePool) zero(l *layout) (*value, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.grow(l)
}

// grow allocates a value.
func (p *statePool) grow(l *layout) (*value, error) {
	v, err := newValue(p.device, l)
	if err != nil {
		return nil, fmt.Errorf("%d bytes: %w", l.bytes(), err)
	}
	if p.all == nil {
		p.all, p.free = map[*value]struct{}{}, map[*layout][]*value{}
	}
	v.refs = 1
	p.all[v] = struct{}{}
	p.used += l.bytes()
	return v, nil
}

// share adds a reference to a value and returns it.
func (p *statePool) share(v *value) *value {
	if v != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		v.refs++
	}
	return v
}

// shared reports whether others have the value too.
func (p *statePool) shared(v *value) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return v.refs > 1
}

// give takes a reference from a value. Without references it is kept for the next taker, or given back to the system.
func (p *statePool) give(v *value) error {
	if v == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.all[v]; !known {
		return nil // the store has been freed
	}
	if v.refs--; v.refs > 0 {
		return nil
	}
	bytes := v.layout.bytes()
	p.used -= bytes
	var err error
	if p.spare+bytes <= min(spareStates, p.used) {
		p.free[v.layout] = append(p.free[v.layout], v)
		p.spare += bytes
	} else {
		delete(p.all, v)
		err = v.flat.Free()
	}
	if p.spare > p.used {
		err = errors.Join(err, p.trim())
	}
	return err
}

// trim gives memory back that nobody uses, if there is more of it than of memory in use.
func (p *statePool) trim() error {
	var err error
	for l, list := range p.free {
		for ; len(list) > 0 && p.spare > p.used; list = list[:len(list)-1] {
			v := list[len(list)-1]
			delete(p.all, v)
			p.spare -= l.bytes()
			err = errors.Join(err, v.flat.Free())
		}
		p.free[l] = list
	}
	return err
}

// count adds bytes, of a journal, to those in use.
func (p *statePool) count(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used += bytes
}

// bytes returns the bytes in use.
func (p *statePool) bytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// close gives up all memory.
func (p *statePool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for v := range p.all {
		errs = append(errs, v.flat.Free())
	}
	p.all, p.free, p.used, p.spare = nil, nil, 0, 0
	return errors.Join(errs...)
}
