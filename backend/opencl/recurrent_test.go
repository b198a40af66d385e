//go:build opencl && (amd64 || arm64)

package opencl

import (
	"testing"

	"github.com/antigravity-go/antigravity/backend"
)

// TestRecurrentAllocatesNothing compares operations with Scale: what the driver's call of one kernel allocates is all.
func TestRecurrentAllocatesNothing(t *testing.T) {
	b := newBench(t, Options{})
	x, q, v, g := b.on(b.floats(2, 32)), b.on(b.floats(2, 2, 16)), b.on(b.floats(2, 2, 16)), b.on(b.floats(2, 2))
	w := b.on(b.floats(4, 32))
	var filters, matrices []backend.Stretch
	for range 2 {
		filters = append(filters, backend.Stretch{State: b.on(b.floats(3, 32)), Rows: 1})
		matrices = append(matrices, backend.Stretch{State: b.on(b.floats(2, 1, 16, 16)), Rows: 1})
	}
	x1, q1, g1 := b.on(b.floats(1, 32)), b.on(b.floats(1, 2, 16)), b.on(b.floats(1, 2))
	allocations := func(run func() error) float64 { return testing.AllocsPerRun(100, func() { must(t, run()) }) }
	one := allocations(func() error { return b.gpu.Run(&backend.Scale{X: x, By: 1}) })
	for _, op := range []struct {
		name string
		most float64
		run  func() error
	}{
		{"Convolve", one, func() error { return b.gpu.Run(&backend.Convolve{X: x1, W: w, Out: x1, Of: filters[:1]}) }},
		{"Recur", one, func() error {
			return b.gpu.Run(&backend.Recur{Q: q1, K: q1, V: q1, G: g1, Beta: g1, Out: q1, Delta: true, Of: matrices[:1]})
		}},
		{"Convolve of two", one + 1, func() error { return b.gpu.Run(&backend.Convolve{X: x, W: w, Out: x, Of: filters}) }}, // the list of stretches is another call
		{"Recur of two", one + 1, func() error {
			return b.gpu.Run(&backend.Recur{Q: q, K: q, V: v, G: g, Beta: g, Out: v, Delta: true, Of: matrices})
		}},
		{"Softplus", one, func() error { return b.gpu.Run(&backend.Softplus{A: x}) }},
		{"SigmoidMul", one, func() error { return b.gpu.Run(&backend.SigmoidMul{A: x}) }},
		{"MulAssign", one, func() error { return b.gpu.Run(&backend.MulAssign{A: x, B: x}) }},
	} {
		if n := allocations(op.run); n > op.most {
			t.Errorf("%s: %v allocations, want at most %v", op.name, n, op.most)
		}
	}
}
