package host

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/tensor"
)

// selections finds the largest elements of rows, and hides others.
type selections struct {
	*machine
	tasks pool[choice, *choice]
}

// largest finds the largest elements of each row.
func (b *selections) largest(o *backend.Largest) error {
	x, k := o.X, o.Wanted()
	if k == 0 {
		return nil
	}
	var m mapped
	if err := m.add("Largest", x); err != nil {
		return err
	}
	defer m.unmap()
	task := b.tasks.get()
	defer b.tasks.put(task)
	*task = choice{floats(x), o.Indices, o.Values, x.Shape().Dim(-1), k}
	return b.runner.Run(task, x.Shape().Rows())
}

// choice is a Largest as a task. A piece is a row.
type choice struct {
	x       []float32 // [rows, n]
	indices []int32   // [rows, k]
	values  []float32 // [rows, k]
	n, k    int
}

// reset forgets the operation.
func (c *choice) reset() { *c = choice{} }

// Phase says what the operation is.
func (c *choice) Phase() timing.Phase {
	return timing.Phase{Operation: "Largest", Cols: c.n, DType: tensor.F32}
}

// Do selects from one row.
func (c *choice) Do(_, row int) {
	selection.Largest(c.x[row*c.n:][:c.n], c.indices[row*c.k:][:c.k], c.values[row*c.k:][:c.k])
}

// mask writes -Inf to the elements that are not allowed.
func (b *selections) mask(o *backend.Mask) error {
	x, words := o.X, o.Words()
	var m mapped
	if err := m.add("Mask", x); err != nil {
		return err
	}
	defer m.unmap()
	n, all := x.Shape().Dim(-1), floats(x)
	for row := range x.Shape().Rows() {
		selection.Mask(all[row*n:][:n], o.Allowed[row*words:][:words])
	}
	return nil
}
