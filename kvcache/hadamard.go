package kvcache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Hadamard turns queries and keys after RoPE: it multiplies each head's row by the Hadamard matrix. The products of queries and
// keys stay what they are, but a key's outliers spread over all of its elements, so that rounding to 4 bits loses much less
// (QuaRot, arXiv 2404.00456). The caches of a session share one Hadamard; it is not safe for concurrent use.
type Hadamard struct {
	backend       backend.Backend
	matrix        *tensor.Tensor // [headDim, headDim], symmetric and its own inverse, as the device wants weights
	queries, keys turnedRows
}

// turnedRows is memory for the turned rows of one chunk, and the part of it that the latest chunk used.
type turnedRows struct {
	full *tensor.Tensor // [tokens, heads, headDim]
	view tensor.Tensor  // the first rows of full
}

// NewHadamard makes a Hadamard for chunks of up to the given number of tokens. It returns nil where turning does not help: for
// caches of other types than Q4_0, whose rounding loses little, and for heads whose size is no power of two.
func NewHadamard(b backend.Backend, d tensor.DType, tokens, heads, kvHeads, headDim int) (h *Hadamard, err error) {
	if d != tensor.Q4_0 || bits.OnesCount(uint(headDim)) != 1 {
		return nil, nil
	}
	h = &Hadamard{backend: b}
	defer func() {
		if err != nil {
			h.Free()
			h, err = nil, fmt.Errorf("kvcache: a Hadamard matrix of %d: %w", headDim, err)
		}
	}()
	values := make([]float32, headDim*headDim)
	for i := range values {
		values[i] = float32(1 / math.Sqrt(float64(headDim)))
		// Sylvester's construction: the sign of element (r, c) is that of (-1)^(number of bits that r and c share).
		if bits.OnesCount(uint(i/headDim&(i%headDim)))%2 == 1 {
			values[i] = -values[i]
		}
	}
	host, err := tensor.FromFloats(values, headDim, headDim)
	if err != nil {
		return h, err
	}
	if h.matrix, err = backend.Prepare(context.Background(), b, host); err != nil {
		return h, err
	}
	for _, t := range []struct {
		to    *turnedRows
		heads int
	}{{&h.queries, heads}, {&h.keys, kvHeads}} {
		if t.to.full, err = tensor.New(b, tensor.F32, tensor.ShapeOf(tokens, t.heads, headDim)); err != nil {
			return h, err
		}
	}
	return h, nil
}

// Bytes returns the bytes of the matrix and of the memory for turned rows; a nil Hadamard has none.
func (h *Hadamard) Bytes() int64 {
	if h == nil {
		return 0
	}
	return int64(h.matrix.Size() + h.queries.full.Size() + h.keys.full.Size())
}

// Free releases the memory. A nil Hadamard has none.
func (h *Hadamard) Free() error {
	if h == nil {
		return nil
	}
	var errs []error
	for _, t := range []*tensor.Tensor{h.matrix, h.queries.full, h.keys.full} {
		if t != nil {
			errs = append(errs, t.Free())
		}
	}
	return errors.Join(errs...)
}

// turn returns x [tokens, heads, headDim] turned, in the memory of side, queries or keys, which is valid until the next call for
// the same side.
func (h *Hadamard) turn(side *turnedRows, x *tensor.Tensor) (*tensor.Tensor, error) {
	if err := side.full.SliceInto(&side.view, 0, x.Shape().Dim(0)); err != nil {
		return nil, err
	}
	return &side.view, h.backend.MatMulTransposed(x, h.matrix, &side.view)
}

// UseHadamard makes the empty cache turn its keys by h from now on, or, with nil, keep them as they are. A cache with slots in use
// can change only from one matrix to another of the same size, as a clone does that goes to another session.
func (c *Cache) UseHadamard(h *Hadamard) error {
	if c.len > 0 && (h == nil) != (c.hadamard == nil) {
		return fmt.Errorf("kvcache: whether keys are turned cannot change in a cache with %d slots in use", c.len)
	}
	c.hadamard = h
	return nil
}

// Query returns the queries of a chunk [tokens, heads, headDim], to which RoPE has been applied, in the form in which their
// products with the cache's keys are right: q itself, or, where keys are turned, turned queries in memory that is valid until the
// next call for any cache that shares the Hadamard.
func (c *Cache) Query(q *tensor.Tensor) (*tensor.Tensor, error) {
	if c.hadamard == nil {
		return q, nil
	}
	q, err := c.hadamard.turn(&c.hadamard.queries, q)
	if err != nil {
		return nil, fmt.Errorf("kvcache: turn queries: %w", err)
	}
	return q, nil
}

// unturn undoes Query, and what the cache does to keys, for rows of HeadDim elements on the host.
func (c *Cache) unturn(x []float32) {
	if c.hadamard != nil {
		transform(x, c.HeadDim())
	}
}

// transform turns the rows of x, each of d elements, on the host: the fast Walsh-Hadamard transform, divided by √d, which is its
// own inverse.
func transform(x []float32, d int) {
	scale := float32(1 / math.Sqrt(float64(d)))
	for ; len(x) > 0; x = x[d:] {
		row := x[:d]
		for half := 1; half < d; half *= 2 {
			for i := 0; i < d; i += 2 * half {
				for j := i; j < i+half; j++ {
					row[j], row[j+half] = row[j]+row[j+half], row[j]-row[j+half]
				}
			}
		}
		for i := range row {
			row[i] *= scale
		}
	}
}
