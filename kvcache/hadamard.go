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

// Hadamard turns queries and keys by the Hadamard matrix after RoPE. Their products stay what they are, but a key's outliers
// spread over all of its elements, so that rounding to 4 bits loses much less (QuaRot, arXiv 2404.00456). The caches of a
// session share one; it is not safe for concurrent use.
type Hadamard struct {
	backend       backend.Backend
	matrix        *tensor.Tensor // [headDim, headDim], symmetric and its own inverse, as the device wants weights
	queries, keys turned
}

// turned has room for the turned rows of a chunk.
type turned struct {
	full *tensor.Tensor // [tokens, heads, headDim]
	view tensor.Tensor
}

// NewHadamard makes one for chunks of up to tokens. It returns nil where it does not help: for types of cache that lose little,
// and for heads whose size is no power of two.
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
		to    *turned
		heads int
	}{{&h.queries, heads}, {&h.keys, kvHeads}} {
		if t.to.full, err = tensor.New(b, tensor.F32, tensor.ShapeOf(tokens, t.heads, headDim)); err != nil {
			return h, err
		}
	}
	return h, nil
}

// Bytes returns the memory that it takes.
func (h *Hadamard) Bytes() int64 {
	if h == nil {
		return 0
	}
	return int64(h.matrix.Size() + h.queries.full.Size() + h.keys.full.Size())
}

// Free releases the memory.
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

// turn returns x [tokens, heads, headDim] turned, in memory that is valid until the next call for the same side.
func (h *Hadamard) turn(side *turned, x *tensor.Tensor) (*tensor.Tensor, error) {
	if err := side.full.SliceInto(&side.view, 0, x.Shape().Dim(0)); err != nil {
		return nil, err
	}
	return &side.view, h.backend.MatMulTransposed(x, h.matrix, &side.view)
}

// UseHadamard makes the empty cache keep turned keys from now on, nil keys as they are. A cache in use can only change from
// one matrix to another of its kind: a clone for another session does.
func (c *Cache) UseHadamard(h *Hadamard) error {
	if c.len > 0 && (h == nil) != (c.hadamard == nil) {
		return fmt.Errorf("kvcache: whether keys are turned cannot change in a cache with %d slots in use", c.len)
	}
	c.hadamard = h
	return nil
}

// Query returns the queries of a chunk [tokens, heads, headDim], RoPE applied, as the cache's keys want them: q itself, or in
// memory that is valid until the next call for any cache of the session.
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

// transform turns the rows of x, each of d elements, on the host.
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
