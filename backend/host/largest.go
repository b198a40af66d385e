package host

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/tensor"
)

// Largest finds the largest elements of each row.
func (b *Base) Largest(x *tensor.Tensor, indices []int32, values []float32) error {
	k, err := backend.CheckLargest(x, indices, values)
	if err != nil || k == 0 {
		return err
	}
	var m mapped
	if err := m.add("Largest", x); err != nil {
		return err
	}
	defer m.unmap()
	task := b.selections.get()
	defer b.selections.put(task)
	*task = choice{floats(x), indices, values, x.Shape().Dim(-1), k}
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
