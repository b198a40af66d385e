package backendtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/selection/selectiontest"
	"github.com/antigravity-go/antigravity/tensor"
)

// few has many equal values, zeros of both signs and infinities; damaged has NaNs, too.
var (
	few = input{name: "few values", value: func(r *rand.Rand) float32 {
		return [...]float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)), float32(math.Inf(-1))}[r.IntN(6)]
	}}
	damaged = input{name: "with NaN", value: func(r *rand.Rand) float32 {
		if r.IntN(10) == 0 {
			return float32(math.NaN())
		}
		return float32(r.NormFloat64())
	}}
)

// largestChecks select from rows of a few elements up to vocabularies.
func largestChecks() (checks []Check) {
	for _, n := range []int{3, 7, 333, 4096, 128256} {
		for _, k := range []int{1, 2, 40, 256, n} {
			if k > n || k > 4096 {
				continue
			}
			for _, in := range append(slices.Clip(inputs), few, damaged) {
				for _, rows := range []int{1, 3} {
					if rows > 1 && n > 4096 {
						continue
					}
					checks = append(checks, Check{Operation: "Largest", Type: "f32", Shape: fmt.Sprintf("%d of each of %d rows of %d", k, rows, n), Input: in.name,
						build: func(g generator) *trial { return selectLargest(g, rows, n, k, in) }})
				}
			}
		}
	}
	return checks
}

func selectLargest(g generator, rows, n, k int, in input) *trial {
	x := g.floats(in, rows*n)
	var order []int32 // of the largest of each row
	for r := range rows {
		order = append(order, selectiontest.Largest(x[r*n:][:n])[:k]...)
	}
	return &trial{
		operands: []operand{f32("x", reading, x, rows, n)},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			indices, values := make([]int32, rows*k), make([]float32, rows*k)
			if err := b.Run(&backend.Largest{X: t[0], Indices: indices, Values: values}); err != nil {
				return err
			}
			for i, index := range order {
				want := x[i/k*n+int(index)]
				if got := values[i]; indices[i] != index || got != want && (got == got || want == want) {
					return fmt.Errorf("the largest of number %d of row %d is element %d, %g; want element %d, %g", i%k, i/k, indices[i], got, index, want)
				}
			}
			return nil
		},
	}
}

// maskChecks mask rows of a few elements up to vocabularies.
func maskChecks() (checks []Check) {
	for _, n := range []int{3, 64, 333, 4096, 128256} {
		for _, rows := range []int{1, 3} {
			for _, in := range []input{random, damaged} {
				checks = append(checks, Check{Operation: "Mask", Type: "f32", Shape: fmt.Sprintf("%d rows of %d", rows, n), Input: in.name,
					build: func(g generator) *trial { return mask(g, rows, n, in) }})
			}
		}
	}
	return checks
}

// mask allows all elements of some words, no elements of others, and random ones of the rest.
func mask(g generator, rows, n int, in input) *trial {
	allowed := make([]uint64, rows*((n+63)/64))
	for i := range allowed {
		allowed[i] = [...]uint64{0, math.MaxUint64, g.Uint64(), g.Uint64()}[g.IntN(4)]
	}
	return &trial{
		operands: []operand{f32("x", update, g.floats(in, rows*n), rows, n)},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			lent := slices.Clone(allowed)
			err := b.Run(&backend.Mask{X: t[0], Allowed: lent})
			clear(lent) // it is the caller's again
			return err
		},
	}
}
