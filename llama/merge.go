package llama

import (
	"context"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/tensor"
)

// AdapterFile names a LoRA adapter that LoadOptions.Adapters adds to a model's weights.
type AdapterFile struct {
	// Path is the adapter's directory or GGUF file, as for Model.LoadAdapter; for LoadFS it is in the same file system as the model.
	Path string
	// Scale is what the adapter's changes are multiplied by, as SessionOptions.AdapterScale; 0: 1.
	Scale float32
}

// merging is what adapters add to a model's weights while these are loaded, by the name of the tensor.
type merging struct {
	files []*adapterFile
	adds  map[string][]mergedPair
}

// mergedPair is scale·b·a.
type mergedPair struct {
	*adapterPair
	scale float64
}

// openMerging opens the adapters that are to be added to the weights of such a model.
func openMerging(ctx context.Context, list []AdapterFile, c *checkpoint.Config, at locator) (*merging, error) {
	m := &merging{adds: map[string][]mergedPair{}}
	opened := false
	defer func() {
		if !opened { // an error, or a panic because a mapped file was cut short
			m.close()
		}
	}()
	for i, from := range list {
		scale := float64(from.Scale)
		if scale == 0 {
			scale = 1
		}
		if !isAdapterScale(from.Scale) {
			return nil, &ParamError{fmt.Sprintf("LoadOptions.Adapters[%d].Scale", i), from.Scale, wantAdapterScale}
		}
		if from.Scale == AdapterOff {
			continue
		}
		f, name, err := at(from.Path)
		if err != nil {
			return nil, adapterError(from.Path, err)
		}
		file, err := openAdapter(ctx, f, name, c, new(tensor.Galloc))
		if err != nil {
			return nil, adapterError(from.Path, err)
		}
		m.files = append(m.files, file)
		for p := range file.pairs {
			pair := &file.pairs[p]
			m.adds[pair.of.HuggingFace] = append(m.adds[pair.of.HuggingFace], mergedPair{pair, pair.scale * scale})
		}
	}
	opened = true
	return m, nil
}

// close closes the adapters' files.
func (m *merging) close() {
	for _, f := range m.files {
		f.Close() // only read, and no longer needed
	}
}

// merger is a device on the host's memory that adds adapters to weights.
type merger interface {
	converter
	MatMul(a, b, out *tensor.Tensor) error
	AddAssign(a, b *tensor.Tensor) error
	Scale(x *tensor.Tensor, v float32) error
}

// hostOf returns what computes on the host's memory for a model on b: b itself if it is the processor, as another device may not, and
// otherwise a processor of its own, with so many threads. done is to be called when it is no longer needed.
func hostOf(b backend.Backend, threads int) (host merger, done func()) {
	if _, ok := b.(*cpu.Backend); ok {
		return b, func() {}
	}
	own := cpu.New(threads)
	return own, func() { own.Close() }
}

// mergedType returns the type of weights to which adapters were added: the one that was asked for, or else the file's; but not one of
// few bits, in which most of what an adapter changes would be lost.
func mergedType(stored, asked tensor.DType) tensor.DType {
	if asked == 0 && stored.Quantized() {
		return tensor.F16
	}
	return targetType(checkpoint.Linear, stored, asked)
}

// prepareMerged is prepare for a matrix W to which adapters are added: W + Σ scale·B·A, computed in float32 and then rounded to the type
// that was asked for, some rows at a time.
func (m *Model) prepareMerged(ctx context.Context, s *storedTensor, pairs []mergedPair, host merger, asked tensor.DType) (ready *tensor.Tensor, err error) {
	weights, view, err := s.host(ctx, host.Memory())
	if err != nil {
		return nil, err
	}
	if !view {
		defer weights.Free()
	}
	d := mergedType(s.dtype, asked)
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
		if err := host.Scale(b, float32(p.scale)); err != nil {
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
	return backend.Prepare(ctx, m.device.Backend, merged)
}

// mergeRows makes the rows from lo to hi of merged those of weights and of the products of bs and as. sum and product are memory for so
// many rows of floats.
func mergeRows(weights, merged, sum, product *tensor.Tensor, as, bs []*tensor.Tensor, lo, hi int, host merger) error {
	var from, to, rows, add, b tensor.Tensor
	for _, cut := range []struct {
		of, view *tensor.Tensor
		lo, hi   int
	}{{weights, &from, lo, hi}, {merged, &to, lo, hi}, {sum, &rows, 0, hi - lo}, {product, &add, 0, hi - lo}} {
		if err := cut.of.SliceInto(cut.view, cut.lo, cut.hi); err != nil {
			return err
		}
	}
	if err := host.Cast(&from, &rows); err != nil {
		return err
	}
	for i := range as {
		if err := bs[i].SliceInto(&b, lo, hi); err != nil {
			return err
		}
		if err := host.MatMul(&b, as[i], &add); err != nil {
			return err
		}
		if err := host.AddAssign(&rows, &add); err != nil {
			return err
		}
	}
	return host.Cast(&rows, &to)
}

// floats returns a copy of the tensor as float32, with its rows in Hugging Face's order.
func (s *storedTensor) floats(ctx context.Context, host converter) (*tensor.Tensor, error) {
	t, view, err := s.host(ctx, host.Memory())
	if err != nil {
		return nil, err
	}
	if !view {
		defer t.Free()
	}
	result, err := tensor.New(host, tensor.F32, s.shape)
	if err != nil {
		return nil, err
	}
	if err := host.Cast(t, result); err != nil {
		result.Free()
		return nil, err
	}
	return result, nil
}
