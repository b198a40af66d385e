package backend_test

import (
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestFuse fuses programs, and wants the names of the operations that are left.
func TestFuse(t *testing.T) {
	c := cpu.New(1)
	defer c.Close()
	of := func(dims ...int) *tensor.Tensor {
		x, err := tensor.New(nil, tensor.F32, tensor.ShapeOf(dims...))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	x, normed, gate, up, product, other := of(1, 32), of(1, 32), of(1, 32), of(1, 32), of(1, 32), of(1, 32)
	w, norm, bias := of(32, 32), of(32), of(32)
	multiply := func(x, out *tensor.Tensor) backend.Op { return &backend.MatMulTransposed{X: x, W: w, Out: out} }
	rms := &backend.RMSNorm{X: x, W: norm, Out: normed}
	network := []backend.Op{rms, multiply(normed, gate), multiply(normed, up), &backend.SiLUMul{A: gate, B: up}}
	back := []backend.Op{multiply(gate, product), &backend.AddAssign{A: x, B: product}}
	all := []*tensor.Tensor{normed, up, product}
	for _, f := range []struct {
		name    string
		backend backend.Backend
		program []backend.Op
		scratch []*tensor.Tensor
		want    []string
	}{
		{"a layer's network", c, slices.Concat(network, back), all, []string{"NormSwiGLU", "MatMulAdd"}},
		{"on a backend that fuses nothing", host.NewReference(), slices.Concat(network, back), all,
			[]string{"RMSNorm", "MatMulTransposed", "MatMulTransposed", "SiLUMul", "MatMulTransposed", "AddAssign"}},
		{"nothing may be lost", c, slices.Concat(network, back), nil, []string{"RMSNorm", "NormMatMul", "SiLUMul", "MatMulTransposed", "AddAssign"}},
		{"the norm is read later", c, slices.Concat(network, []backend.Op{&backend.AddAssign{A: other, B: normed}}), all,
			[]string{"RMSNorm", "NormMatMul", "SiLUMul", "AddAssign"}},
		{"the norm's memory is written later", c, slices.Concat(network, []backend.Op{&backend.RMSNorm{X: other, W: norm, Out: normed}}), all,
			[]string{"NormSwiGLU", "RMSNorm"}},
		{"up is read later", c, slices.Concat(network, []backend.Op{&backend.AddAssign{A: other, B: up}}), all, []string{"NormMatMul", "SiLUMul", "AddAssign"}},
		{"a bias of the sum", c, append(slices.Clone(back), &backend.AddAssign{A: x, B: bias}), all, []string{"MatMulAdd"}},
		{"the sum of something else", c, []backend.Op{multiply(gate, product), &backend.AddAssign{A: x, B: other}}, all, []string{"MatMulTransposed", "AddAssign"}},
		{"a norm in place", c, []backend.Op{&backend.RMSNorm{X: x, W: norm}, multiply(x, gate)}, all, []string{"RMSNorm", "MatMulTransposed"}},
		{"a product of another tensor", c, []backend.Op{rms, multiply(other, gate)}, all, []string{"RMSNorm", "MatMulTransposed"}},
		{"an encoder's projections", c, []backend.Op{
			&backend.LayerNorm{X: x, W: norm}, multiply(x, gate), multiply(x, up), &backend.AddAssign{A: up, B: bias}, &backend.GELUErf{A: gate, B: up},
		}, all, []string{"Project"}},
	} {
		var names []string
		for _, op := range backend.Fuse(f.backend, f.program, f.scratch...) {
			names = append(names, backend.NameOf(op))
		}
		if !slices.Equal(names, f.want) {
			t.Errorf("%s: %v, want %v", f.name, names, f.want)
		}
	}
}
