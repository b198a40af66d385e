package kvcache

import (
	"context"
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Product multiplies many rows with a few matrices of one shape, on a cache's device: for policies with arithmetic to do. It is
// not safe for concurrent use.
type Product struct {
	backend          backend.Backend
	matrices         []*tensor.Tensor // [m, d], as the device wants weights
	host, rows, out  *tensor.Tensor   // [n, d] on the host and on the device, [n, m]
	rowView, outView tensor.Tensor
	result           []float32
}

// NewProduct makes one for matrices [m, d], row by row, and up to n rows of d numbers at once. It is fastest where m is a
// multiple of 16.
func (c *Cache) NewProduct(matrices [][]float32, d, n int) (p *Product, err error) {
	p = &Product{backend: c.backend}
	defer func() {
		if err != nil {
			p.Free()
			p, err = nil, fmt.Errorf("kvcache: a product of %d rows of %d numbers: %w", n, d, err)
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
		prepared, err := backend.Prepare(context.Background(), c.backend, host)
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
	}{{&p.host, nil, d}, {&p.rows, c.backend, d}, {&p.out, c.backend, m}} {
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

// Multiply returns a·matrixᵀ [n, m] for the i-th matrix and a [n, d] on the host. The result is valid until the next call.
func (p *Product) Multiply(i int, a []float32) ([]float32, error) {
	d, m := p.rows.Shape().Dim(1), p.out.Shape().Dim(1)
	n := len(a) / d
	if i < 0 || i >= len(p.matrices) || n < 1 || len(a) != n*d || n > p.rows.Shape().Dim(0) {
		return nil, fmt.Errorf("kvcache: multiply %d numbers with matrix %d: 1 to %d whole rows of %d are possible, and %d matrices",
			len(a), i, p.rows.Shape().Dim(0), d, len(p.matrices))
	}
	if err := p.multiply(p.matrices[i], a, n); err != nil {
		return nil, fmt.Errorf("kvcache: multiply [%d %d] by [%d %d]: %w", n, d, m, d, err)
	}
	return p.result[:n*m], nil
}

func (p *Product) multiply(matrix *tensor.Tensor, a []float32, n int) error {
	host, err := tensor.Mut[float32](p.host)
	if err != nil {
		return err
	}
	if err := p.backend.CopySlice(p.host, p.rows, 0, 0, copy(host, a)); err != nil {
		return err
	}
	if err := p.rows.SliceInto(&p.rowView, 0, n); err != nil {
		return err
	}
	if err := p.out.SliceInto(&p.outView, 0, n); err != nil {
		return err
	}
	if err := p.backend.MatMulTransposed(&p.rowView, matrix, &p.outView); err != nil {
		return err
	}
	return backend.ReadFloats(p.backend, &p.outView, p.result[:p.outView.Shape().NumElements()])
}

// Free releases the memory.
func (p *Product) Free() error {
	var errs []error
	for _, t := range append(p.matrices, p.host, p.rows, p.out) {
		if t != nil {
			errs = append(errs, t.Free())
		}
	}
	return errors.Join(errs...)
}

// Softmax replaces each row of n numbers, on the host, by its softmax, computed on the cache's device.
func (c *Cache) Softmax(x []float32, n int) error {
	if n < 1 || len(x) == 0 || len(x)%n != 0 {
		return fmt.Errorf("kvcache: softmax of %d numbers in rows of %d: all rows must be whole", len(x), n)
	}
	if err := c.softmax(x, n); err != nil {
		return fmt.Errorf("kvcache: softmax of [%d %d]: %w", len(x)/n, n, err)
	}
	return nil
}

func (c *Cache) softmax(x []float32, n int) error {
	t, err := c.upload(x, len(x)/n, n)
	if err != nil {
		return err
	}
	defer t.Free()
	if err := c.backend.Softmax(t); err != nil {
		return err
	}
	return backend.ReadFloats(c.backend, t, x)
}

// upload copies numbers to a tensor of the cache's device.
func (c *Cache) upload(x []float32, dims ...int) (*tensor.Tensor, error) {
	host, err := tensor.FromFloats(x, dims...)
	if err != nil {
		return nil, err
	}
	t, err := host.ToDevice(c.backend)
	if t != host {
		host.Free()
	}
	return t, err
}
