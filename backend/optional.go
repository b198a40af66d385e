package backend

import (
	"context"
	"sync"

	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/tensor"
)

// The optional interfaces of a backend, and their substitutes. Each function returns the backend itself if it has the interface, and
// otherwise a value that composes the plain operations. Callers need not ask which it is. For a backend b without a Fuser, and two weights:
//
//	Fused(b)              composed{b}
//	Fused(b).NormMatMul   b.CopySlice from x to normed, b.RMSNorm of normed, b.MatMulTransposed for each of the two weights

// Prepare returns weights w [N, K], on the host or on the backend's device, as the backend wants them: in a layout of its own
// if it is a Preparer, else as they are on its device. It gives up with the context's error when that ends.
func Prepare(ctx context.Context, b Backend, w *tensor.Tensor) (*tensor.Tensor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p, ok := b.(Preparer); ok {
		return p.Prepare(ctx, w)
	}
	return w.ToDevice(b)
}

// Fused returns the backend's fused operations, or ones composed of its plain operations.
func Fused(b Backend) Fuser {
	if f, ok := b.(Fuser); ok {
		return f
	}
	return composed{b}
}

// Projecting returns the backend's projections, or ones composed of its plain operations.
func Projecting(b Backend) Projector {
	if p, ok := b.(Projector); ok {
		return p
	}
	return composed{b}
}

// Composed returns the fused operations composed of the backend's plain ones, even if it has its own: for operands that its own do not
// take.
func Composed(b Backend) Fuser { return composed{b} }

// FusedExperts returns the backend's fused operation for experts, or one composed of its plain operations.
func FusedExperts(b Backend) ExpertFuser {
	if f, ok := b.(ExpertFuser); ok {
		return f
	}
	return composed{b}
}

// BitExact reports whether the backend promises the bits of the portable reference, host.Reference.
func BitExact(b Backend) bool {
	e, ok := b.(Exact)
	return ok && e.BitExact()
}

// Scratch returns the memory that a backend's operations work in and keep, in bytes: 0 if it does not say.
func Scratch(b Backend) int64 {
	if s, ok := b.(interface{ ScratchBytes() int64 }); ok {
		return s.ScratchBytes()
	}
	return 0
}

// PassRows returns how many rows of prompts, and how many rows of answers, a pass of a backend computes best: 0 if it does not say.
func PassRows(b Backend) (prompts, answers int) {
	if s, ok := b.(Sized); ok {
		return s.PassRows()
	}
	return 0, 0
}

// Selecting returns the backend's selection, or one that reads the row and searches it on the host.
func Selecting(b Backend) Selector {
	if s, ok := b.(Selector); ok {
		return s
	}
	return &reading{backend: b}
}

// composed builds the optional operations from the plain ones.
type composed struct{ Backend }

// NormMatMul normalises a copy and multiplies it with each weight.
func (c composed) NormMatMul(x, norm *tensor.Tensor, eps float32, normed *tensor.Tensor, ws, outs []*tensor.Tensor) error {
	if err := CheckNormMatMul(x, normed, ws, outs); err != nil {
		return err
	}
	if norm != nil {
		if err := c.CopySlice(x, normed, 0, 0, x.Shape().NumElements()); err != nil {
			return err
		}
		if err := c.RMSNorm(normed, norm, eps); err != nil {
			return err
		}
		x = normed
	}
	for i, w := range ws {
		if err := c.MatMulTransposed(x, w, outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// MatMulAdd multiplies and adds.
func (c composed) MatMulAdd(x, w, product, out *tensor.Tensor) error {
	if err := c.MatMulTransposed(x, w, product); err != nil {
		return err
	}
	return c.AddAssign(out, product)
}

// NormSwiGLU multiplies with both weights and joins the products.
func (c composed) NormSwiGLU(x, norm *tensor.Tensor, eps float32, normed, gate, up, product, out *tensor.Tensor) error {
	if err := c.NormMatMul(x, norm, eps, normed, []*tensor.Tensor{gate, up}, []*tensor.Tensor{out, product}); err != nil {
		return err
	}
	return c.SiLUMul(out, product)
}

// FeedExperts multiplies, activates, multiplies and adds up.
func (c composed) FeedExperts(x *tensor.Tensor, n *ExpertNetwork, chosen, weights, gate, up, down, out *tensor.Tensor) error {
	if _, err := CheckFeedExperts(x, n, chosen, weights, gate, up, down, out); err != nil {
		return err
	}
	if err := c.multiplyExperts(x, n.Gate, n.GateBias, chosen, gate); err != nil {
		return err
	}
	if err := c.multiplyExperts(x, n.Up, n.UpBias, chosen, up); err != nil {
		return err
	}
	var err error
	switch n.Activation {
	case ActivateSiLU:
		err = c.SiLUMul(gate, up)
	case ActivateGELU:
		err = c.GELUMul(gate, up)
	case ActivateClamped:
		err = c.SwiGLUClamped(gate, up, n.Limit)
	}
	if err != nil {
		return err
	}
	if err := c.multiplyExperts(gate, n.Down, n.DownBias, chosen, down); err != nil {
		return err
	}
	return c.SumExperts(down, weights, out)
}

// multiplyExperts multiplies and adds a bias, if there is one.
func (c composed) multiplyExperts(x, w, bias, chosen, out *tensor.Tensor) error {
	if err := c.MatMulExperts(x, w, chosen, out); err != nil || bias == nil {
		return err
	}
	return c.AddExpertBias(out, bias, chosen)
}

// Project normalises, multiplies with each weight, and adds the biases.
func (c composed) Project(x *tensor.Tensor, norm LayerNorm, normed *tensor.Tensor, maps []Linear, outs []*tensor.Tensor, gelu bool) error {
	if err := CheckProject(x, norm, normed, maps, outs, gelu); err != nil {
		return err
	}
	if norm.Weight != nil {
		if x != normed {
			if err := c.CopySlice(x, normed, 0, 0, x.Shape().NumElements()); err != nil {
				return err
			}
		}
		if err := c.LayerNorm(normed, norm.Weight, norm.Bias, norm.Eps); err != nil {
			return err
		}
		x = normed
	}
	for i, to := range maps {
		if err := c.MatMulTransposed(x, to.Weight, outs[i]); err != nil {
			return err
		}
		if to.Bias != nil {
			if err := c.AddAssign(outs[i], to.Bias); err != nil {
				return err
			}
		}
	}
	switch {
	case !gelu:
		return nil
	case len(outs) == 2:
		return c.GELUErf(outs[0], outs[1])
	}
	return c.GELUErf(outs[0], nil)
}

// ProjectAdd multiplies, adds, and adds the bias.
func (c composed) ProjectAdd(x *tensor.Tensor, to Linear, product, out *tensor.Tensor) error {
	if err := CheckProjectAdd(x, to, product, out); err != nil {
		return err
	}
	if err := Fused(c.Backend).MatMulAdd(x, to.Weight, product, out); err != nil || to.Bias == nil {
		return err
	}
	return c.AddAssign(out, to.Bias)
}

// reading is a Selector for backends without one.
type reading struct {
	backend Backend

	mu   sync.Mutex     // guards rows
	rows *tensor.Tensor // on the host: memory for the rows, kept for the next call; nil before the first
}

// Largest reads the rows and searches them.
func (r *reading) Largest(x *tensor.Tensor, indices []int32, values []float32) error {
	k, err := CheckLargest(x, indices, values)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rows, err := r.read(x)
	if err != nil {
		return err
	}
	n := x.Shape().Dim(-1)
	for row := range x.Shape().Rows() {
		selection.Largest(rows[row*n:][:n], indices[row*k:][:k], values[row*k:][:k])
	}
	return nil
}

// Mask reads the rows, masks them and writes them back.
func (r *reading) Mask(x *tensor.Tensor, allowed []uint64) error {
	words, err := CheckMask(x, allowed)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rows, err := r.read(x)
	if err != nil {
		return err
	}
	n := x.Shape().Dim(-1)
	for row := range x.Shape().Rows() {
		selection.Mask(rows[row*n:][:n], allowed[row*words:][:words])
	}
	return r.backend.CopySlice(r.rows, x, 0, 0, len(rows))
}

// read returns the elements of x, in the memory of rows.
func (r *reading) read(x *tensor.Tensor) ([]float32, error) {
	n := x.Shape().NumElements()
	if r.rows == nil || r.rows.Shape().NumElements() < n {
		rows, err := tensor.New(nil, tensor.F32, tensor.ShapeOf(n)) // no device: the host
		if err != nil {
			return nil, err
		}
		if r.rows != nil {
			r.rows.Free()
		}
		r.rows = rows
	}
	rows, err := tensor.Mut[float32](r.rows)
	if err != nil {
		return nil, err
	}
	return rows[:n], ReadFloats(r.backend, x, rows[:n])
}
