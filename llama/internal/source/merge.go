package source

import (
	"context"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// Merge is what adapters add to a model's weights while these are loaded. Nil adds nothing.
type Merge struct {
	files []*Adapter
	adds  map[model.Place][]mergedPair // by the matrix
}

// mergedPair is scale·b·a.
type mergedPair struct {
	*Pair
	scale float64
}

// Add adds an adapter's changes, multiplied by scale, to the Merge. The adapter then belongs to the Merge.
func (m *Merge) Add(file *Adapter, scale float64) {
	if m.adds == nil {
		m.adds = map[model.Place][]mergedPair{}
	}
	m.files = append(m.files, file)
	for i := range file.Pairs {
		p := &file.Pairs[i]
		at := model.Place{Part: p.Of.Part, Layer: p.Of.Layer}
		m.adds[at] = append(m.adds[at], mergedPair{p, p.Scale * scale})
	}
}

// of returns the pairs of matrices that are added to a tensor.
func (m *Merge) of(t *model.Tensor) []mergedPair {
	if m == nil || t.Bias {
		return nil
	}
	return m.adds[model.Place{Part: t.Part, Layer: t.Layer}]
}

// Close closes the adapters' files.
func (m *Merge) Close() {
	for _, f := range m.files {
		f.Close() // only read, and no longer needed
	}
}

// mergedType returns the type of weights to which adapters were added: the one that was asked for, or else the file's; but not one of
// few bits, in which most of what an adapter changes would be lost.
func mergedType(stored, asked tensor.DType) tensor.DType {
	if asked == 0 && stored.Quantized() {
		return tensor.F16
	}
	return TargetType(model.Linear, stored, asked)
}

// merged is prepare for a matrix W to which adapters are added: W + Σ scale·B·A, computed in float32 and then rounded to the type
// that was asked for, some rows at a time.
func (l *Loader) merged(ctx context.Context, s *Stored, pairs []mergedPair) (ready *tensor.Tensor, err error) {
	host := l.host
	weights, _, view, err := s.read(ctx, host.Memory(), true)
	if err != nil {
		return nil, err
	}
	if !view {
		defer weights.Free()
	}
	d := mergedType(s.dtype, l.asked)
	rows, cols := s.shape.Dim(0), s.shape.Dim(1)
	if cols%d.BlockLen() != 0 {
		return nil, fmt.Errorf("convert %v to %v: rows of %d are no whole blocks of %d", weights, d, cols, d.BlockLen())
	}
	merged, err := tensor.New(host, d, s.shape)
	if err != nil {
		return nil, err
	}
	defer func() { // also when a device panics
		if ready != merged {
			merged.Free()
		}
	}()
	step := min(max(convertAtOnce/cols, 1), rows)
	sum, err := tensor.New(host, tensor.F32, tensor.ShapeOf(step, cols))
	if err != nil {
		return nil, err
	}
	defer sum.Free()
	product, err := tensor.New(host, tensor.F32, tensor.ShapeOf(step, cols))
	if err != nil {
		return nil, err
	}
	defer product.Free()
	var as, bs []*tensor.Tensor
	defer func() {
		for _, t := range append(as, bs...) {
			t.Free()
		}
	}()
	for _, p := range pairs {
		a, err := p.a.floats(ctx, host)
		if err != nil {
			return nil, err
		}
		as = append(as, a)
		b, err := p.b.floats(ctx, host)
		if err != nil {
			return nil, err
		}
		bs = append(bs, b)
		if err := host.Run(&backend.Scale{X: b, By: float32(p.scale)}); err != nil {
			return nil, err
		}
	}
	for lo := 0; lo < rows; lo += step {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := mergeRows(weights, merged, sum, product, as, bs, lo, min(lo+step, rows), host); err != nil {
			return nil, fmt.Errorf("add an adapter: %w", err)
		}
	}
	return backend.Prepare(ctx, l.device, merged)
}

// mergeRows makes the rows from lo to hi of merged those of weights and of the products of bs and as. sum and product are memory for
// hi-lo rows of floats.
func mergeRows(weights, merged, sum, product *tensor.Tensor, as, bs []*tensor.Tensor, lo, hi int, host backend.Backend) error {
	var from, to, rows, add, b tensor.Tensor
	for _, cut := range []struct {
		of, view *tensor.Tensor
		lo, hi   int
	}{{weights, &from, lo, hi}, {merged, &to, lo, hi}, {sum, &rows, 0, hi - lo}, {product, &add, 0, hi - lo}} {
		if err := cut.of.SliceInto(cut.view, cut.lo, cut.hi); err != nil {
			return err
		}
	}
	if err := host.Run(&backend.Cast{Src: &from, Dst: &rows}); err != nil {
		return err
	}
	for i := range as {
		if err := bs[i].SliceInto(&b, lo, hi); err != nil {
			return err
		}
		if err := host.Run(&backend.MatMul{A: &b, B: as[i], Out: &add}); err != nil {
			return err
		}
		if err := host.Run(&backend.AddAssign{A: &rows, B: &add}); err != nil {
			return err
		}
	}
	return host.Run(&backend.Cast{Src: &rows, Dst: &to})
}
