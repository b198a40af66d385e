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

// hadamard turns queries and keys after RoPE: it multiplies each head's row by the Hadamard matrix. The products of queries and
// keys stay what they are, but a key's outliers spread over all of its elements, so that rounding to 4 bits loses much less
// (QuaRot, arXiv 2404.00456). The caches of a pool share one. Only one batch at a time may use the memory for turned rows.
//
// For heads of 2 elements the matrix is [1 1; 1 -1]/√2. The key (8, 0) becomes (5.7, 5.7) and the query (1, 3) becomes (2.8, -1.4): both
// products are 8.
type hadamard struct {
	matrix        *tensor.Tensor // [headDim, headDim], symmetric and its own inverse, as the device wants weights
	queries, keys turnedRows
}

// turnedRows is memory for the turned rows of one step, and the parts of it and of the step's rows that are in use.
type turnedRows struct {
	full           *tensor.Tensor // [rows, heads, headDim]
	view, from, to tensor.Tensor
}

// turns reports whether the keys of a cache are turned. Turning helps caches of type Q4_0, where rounding loses much, and needs a headDim
// that is a power of two.
func turns(d tensor.DType, headDim int) bool {
	return d == tensor.Q4_0 && bits.OnesCount(uint(headDim)) == 1
}

// newHadamard makes a hadamard for steps of up to the given number of rows.
func newHadamard(b backend.Backend, rows, heads, kvHeads, headDim int) (h *hadamard, err error) {
	h = &hadamard{}
	defer func() {
		if err != nil {
			h.free()
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
		if t.to.full, err = tensor.New(b, tensor.F32, tensor.ShapeOf(rows, t.heads, headDim)); err != nil {
			return h, err
		}
	}
	return h, nil
}

// bytes returns the bytes of the matrix and of the memory for turned rows; a nil hadamard has no memory.
func (h *hadamard) bytes() int64 {
	if h == nil {
		return 0
	}
	return int64(h.matrix.Size() + h.queries.full.Size() + h.keys.full.Size())
}

// free releases the memory. A nil hadamard has no memory.
func (h *hadamard) free() error {
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

// unturn undoes on the host the turning of rows of d elements. A nil hadamard did nothing.
func (h *hadamard) unturn(x []float32, d int) {
	if h != nil {
		transform(x, d)
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
