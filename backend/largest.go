package backend

import (
	"sync"

	"github.com/antigravity-go/antigravity/internal/largest"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/tensor"
)

// Largest finds the largest elements of a row.
func (b *Base) Largest(x *tensor.Tensor, indices []int32, values []float32) (err error) {
	defer mmap.Catch(&err)()
	if err := CheckLargest(x, indices, values); err != nil {
		return err
	}
	if err := needRows("Largest", x); err != nil {
		return err
	}
	var m mapped
	if err := m.mapAll("Largest", x); err != nil {
		return err
	}
	defer m.unmap()
	largest.Find(floats(x), indices, values)
	return nil
}

// reading is a Selector for backends without one.
type reading struct {
	backend Backend

	mu  sync.Mutex // guards row
	row []float32
}

// Largest reads the row and searches it.
func (r *reading) Largest(x *tensor.Tensor, indices []int32, values []float32) error {
	if err := CheckLargest(x, indices, values); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := x.Shape().NumElements()
	if len(r.row) < n {
		r.row = make([]float32, n)
	}
	if err := ReadFloats(r.backend, x, r.row[:n]); err != nil {
		return err
	}
	largest.Find(r.row[:n], indices, values)
	return nil
}
