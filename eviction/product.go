package eviction

import (
	"context"
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// A deviceProduct multiplies rows that come from the host with matrices that stay on a device. It is not safe for concurrent
// use. All matrices have one shape [m, d]; a call multiplies at most n rows of d numbers.
type deviceProduct struct {
	backend          backend.Backend
	matrices         []*tensor.Tensor // [m, d], as the device wants weights
	host             *tensor.Tensor   // [n, d] on the host: the rows of one call
	rows, out        *tensor.Tensor   // [n, d] and [n, m] on the device
	rowView, outView tensor.Tensor    // the part of rows and out that a call uses, kept to spare allocations
	result           []float32        // [n, m]
}

// newDeviceProduct makes a deviceProduct for matrices [m, d], row by row, and up to n rows at once. It is fastest if m is a
// multiple of probesMultiple.
func newDeviceProduct(b backend.Backend, matrices [][]float32, d, n int) (p *deviceProduct, err error) {
	p = &deviceProduct{backend: b}
	defer func() {
		if err != nil {
			p.free()
			p, err = nil, fmt.Errorf("a product of %d rows of %d numbers: %w", n, d, err)
		}
	}()
	if d < 1 || n < 1 || len(matrices) == 0 {
		return p, fmt.Errorf("with %d matrices: there must be at least one of each", len(matrices))
	}
	m := len(matrices[0]) / d
	for i, matrix := range matrices {
		if len(matrix) != m*d || m == 0 {
			return p, fmt.Errorf("matrix %d has %d numbers: all must have the same number of whole rows", i, len(matrix))
		}
		host, err := tensor.FromFloats(matrix, m, d)
		if err != nil {
			return p, err
		}
		prepared, err := backend.Prepare(context.Background(), b, host)
		if prepared != host {
			host.Free()
		}
		if err != nil {
			return p, err
		}
		p.matrices = append(p.matrices, prepared)
	}
	for _, w := range []struct {
		to   **tensor.Tensor
		on   tensor.Device
		cols int
	}{{&p.host, nil, d}, {&p.rows, b, d}, {&p.out, b, m}} {
		shape, err := tensor.NewShape(n, w.cols)
		if err != nil {
			return p, err
		}
		if *w.to, err = tensor.New(w.on, tensor.F32, shape); err != nil {
			return p, err
		}
	}
	p.result = make([]float32, n*m)
	return p, nil
}

// multiply returns a·matrixᵀ [rows of a, m] for the i-th matrix and a [rows, d]. The result is valid until the next call.
func (p *deviceProduct) multiply(i int, a []float32) ([]float32, error) {
	d, m := p.rows.Shape().Dim(1), p.out.Shape().Dim(1)
	n := len(a) / d
	if i < 0 || i >= len(p.matrices) || n < 1 || len(a) != n*d || n > p.rows.Shape().Dim(0) {
		return nil, fmt.Errorf("multiply %d numbers with matrix %d: 1 to %d whole rows of %d are possible, and %d matrices",
			len(a), i, p.rows.Shape().Dim(0), d, len(p.matrices))
	}
	if err := p.compute(p.matrices[i], a, n); err != nil {
		return nil, fmt.Errorf("multiply [%d %d] by [%d %d]: %w", n, d, m, d, err)
	}
	return p.result[:n*m], nil
}

// compute writes the product of the n rows of a with a matrix to p.result.
func (p *deviceProduct) compute(matrix *tensor.Tensor, a []float32, n int) error {
	host, err := tensor.Mut[float32](p.host)
	if err != nil {
		return err
	}
	if err := p.backend.Run(&backend.CopySlice{Src: p.host, Dst: p.rows, N: copy(host, a)}); err != nil {
		return err
	}
	if err := p.rows.SliceInto(&p.rowView, 0, n); err != nil {
		return err
	}
	if err := p.out.SliceInto(&p.outView, 0, n); err != nil {
		return err
	}
	if err := p.backend.Run(&backend.MatMulTransposed{X: &p.rowView, W: matrix, Out: &p.outView}); err != nil {
		return err
	}
	return backend.ReadFloats(p.backend, &p.outView, p.result[:p.outView.Shape().NumElements()])
}

// free releases the memory.
func (p *deviceProduct) free() error {
	var errs []error
	for _, t := range append(p.matrices, p.host, p.rows, p.out) {
		if t != nil {
			errs = append(errs, t.Free())
		}
	}
	return errors.Join(errs...)
}

// softmax replaces each row of n numbers by its softmax, computed on a device.
func softmax(b backend.Backend, x []float32, n int) error {
	if n < 1 || len(x) == 0 || len(x)%n != 0 {
		return fmt.Errorf("softmax of %d numbers in rows of %d: all rows must be whole", len(x), n)
	}
	if err := softmaxRows(b, x, n); err != nil {
		return fmt.Errorf("softmax of [%d %d]: %w", len(x)/n, n, err)
	}
	return nil
}

// softmaxRows is softmax after its check.
func softmaxRows(b backend.Backend, x []float32, n int) error {
	host, err := tensor.FromFloats(x, len(x)/n, n)
	if err != nil {
		return err
	}
	defer host.Free()
	t, err := b.CopyFrom(host)
	if err != nil {
		return err
	}
	defer t.Free()
	if err := b.Run(&backend.Softmax{X: t}); err != nil {
		return err
	}
	return backend.ReadFloats(b, t, x)
}
