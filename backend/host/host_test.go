package host_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/tensor"
)

// source makes random operands.
type source struct {
	t testing.TB
	*rand.Rand
}

func newSource(t testing.TB) source { return source{t, rand.New(rand.NewPCG(1, 2))} }

func (s source) floats(dims ...int) *tensor.Tensor {
	s.t.Helper()
	values := make([]float32, tensor.ShapeOf(dims...).NumElements())
	for i := range values {
		values[i] = float32(s.NormFloat64())
	}
	x, err := tensor.FromFloats(values, dims...)
	if err != nil {
		s.t.Fatal(err)
	}
	return x
}

// as converts to another type, which for the K-quants means random blocks with small scales.
func (s source) as(d tensor.DType, dims ...int) *tensor.Tensor {
	s.t.Helper()
	x, err := tensor.New(nil, d, tensor.ShapeOf(dims...))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := host.NewReference().Run(&backend.Cast{Src: s.floats(dims...), Dst: x}); err != nil {
		s.t.Fatal(err)
	}
	return x
}

// values returns the elements of x, which the caller keeps alive: a slice alone does not keep a tensor's memory.
func values(t testing.TB, x *tensor.Tensor) []float32 {
	t.Helper()
	v, err := tensor.As[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// copied returns a copy of the elements of x, which are there without x, too.
func copied(t testing.TB, x *tensor.Tensor) []float32 {
	t.Helper()
	defer runtime.KeepAlive(x)
	return slices.Clone(values(t, x))
}

// TestAttentionByDefinition compares with softmax(q·kᵀ/√d)·v in float64.
func TestAttentionByDefinition(t *testing.T) {
	const heads, kvHeads, headDim, n = 4, 2, 16, 300
	s, b := newSource(t), host.NewReference()
	q, out := s.floats(1, heads, headDim), s.floats(1, heads, headDim)
	slots := s.slots(b, tensor.F32, headDim, n, n)
	if err := b.Run(&backend.Attend{Q: q, Out: out, Runs: []backend.Run{{Tokens: 1, Slots: slots}}}); err != nil {
		t.Fatal(err)
	}
	k, v := s.contiguous(b, slots)
	keys, vals, got := values(t, k), values(t, v), values(t, out)
	for h := range heads {
		row := func(x []float32, slot int) []float32 { return x[(slot*kvHeads+h/2)*headDim:][:headDim] }
		sum, want := 0.0, make([]float64, headDim)
		for j := range n {
			dot := 0.0
			for i, x := range values(t, q)[h*headDim : (h+1)*headDim] {
				dot += float64(x) * float64(row(keys, j)[i])
			}
			e := math.Exp(dot / 4)
			sum += e
			for i, x := range row(vals, j) {
				want[i] += e * float64(x)
			}
		}
		for i := range want {
			if math.Abs(float64(got[h*headDim+i])-want[i]/sum) > 1e-5 {
				t.Fatalf("head %d, element %d: %g, want %g", h, i, got[h*headDim+i], want[i]/sum)
			}
		}
	}
}

func TestMatMulByDefinition(t *testing.T) {
	s, b := newSource(t), host.NewReference()
	a, c, out := s.floats(3, 5), s.floats(5, 4), s.floats(3, 4)
	if err := b.Run(&backend.MatMul{A: a, B: c, Out: out}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		for j := range 4 {
			want := 0.0
			for l := range 5 {
				want += float64(values(t, a)[i*5+l]) * float64(values(t, c)[l*4+j])
			}
			if got := values(t, out)[i*4+j]; math.Abs(float64(got)-want) > 1e-5 {
				t.Errorf("element %d, %d: %g, want %g", i, j, got, want)
			}
		}
	}
	w := s.floats(3, 5)
	x, product := s.floats(2, 5), s.floats(2, 3)
	if err := b.Run(&backend.MatMulTransposed{X: x, W: w, Out: product}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		for j := range 3 {
			want := 0.0
			for l := range 5 {
				want += float64(values(t, x)[i*5+l]) * float64(values(t, w)[j*5+l])
			}
			if got := values(t, product)[i*3+j]; math.Abs(float64(got)-want) > 1e-5 {
				t.Errorf("weights, element %d, %d: %g, want %g", i, j, got, want)
			}
		}
	}
}

func TestMovingData(t *testing.T) {
	s, b := newSource(t), host.NewReference()
	x, y := s.floats(4, 8), s.floats(4, 8)
	if err := b.Run(&backend.CopySlice{Src: x, Dst: y, From: 8, N: 16}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(values(t, y)[:16], values(t, x)[8:24]) {
		t.Error("CopySlice copied something else")
	}
	before := copied(t, x)
	if err := b.Run(&backend.CopySlice{Src: x, Dst: x, To: 4, N: 20}); err != nil { // overlapping
		t.Fatal(err)
	}
	if !slices.Equal(values(t, x)[4:24], before[:20]) {
		t.Error("an overlapping CopySlice lost data")
	}
	dst := make([]byte, x.Size())
	if err := b.ReadBuffer(x, dst); err != nil || !slices.Equal(dst, x.Data()) {
		t.Error("ReadBuffer read something else", err)
	}
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16, tensor.Q8_0} {
		wide, narrow, back := s.floats(2, 64), s.as(d, 2, 64), s.floats(2, 64)
		if err := errors.Join(b.Run(&backend.Cast{Src: wide, Dst: narrow}), b.Run(&backend.Cast{Src: narrow, Dst: back})); err != nil {
			t.Fatal(err)
		}
		for i, v := range values(t, wide) {
			if math.Abs(float64(v-values(t, back)[i])) > 0.02 {
				t.Fatalf("%v: %g came back as %g", d, v, values(t, back)[i])
			}
		}
	}
}

// TestMistakesAreErrors gives each operation operands that do not fit. It may neither panic nor write.
func TestMistakesAreErrors(t *testing.T) {
	s := newSource(t)
	c := cpu.New(2)
	defer c.Close()
	x, w, small := s.floats(2, 64), s.as(tensor.Q4_0, 32, 64), s.floats(2, 32)
	half := s.as(tensor.F16, 2, 64)
	packed, err := backend.Prepare(t.Context(), c, w)
	if err != nil {
		t.Fatal(err)
	}
	constant, err := tensor.Wrap(nil, tensor.WrapBytes(tensor.F32, make([]byte, 2*64*4), nil, true), tensor.ShapeOf(2, 64))
	if err != nil {
		t.Fatal(err)
	}
	q := s.floats(1, 4, 32)
	k, angles, slot := s.floats(1, 2, 32), s.floats(1, 32), s.as(tensor.F16, 1, 2, 32)
	runs, fixed := []backend.Run{{Tokens: 1, Slots: s.slots(host.NewReference(), tensor.F16, 32, 3, 3)}}, []backend.Run{{Tokens: 1, Slots: s.slots(host.NewReference(), tensor.F16, 32, 3, 3)}}
	shape := tensor.ShapeOf(2, 2, backend.PageSlots, 32)
	slab, err := tensor.Wrap(nil, tensor.WrapBytes(tensor.F16, make([]byte, 2*shape.NumElements()), nil, true), shape)
	if err != nil {
		t.Fatal(err)
	}
	for head := range fixed[0].Slots.Heads {
		fixed[0].Slots.Heads[head].Pages[0].Slab = slab
	}
	for _, b := range []backend.Backend{host.NewReference(), c} {
		for name, err := range map[string]error{
			"AddAssign of two shapes":            b.Run(&backend.AddAssign{A: x, B: small}),
			"AddAssign of f16":                   b.Run(&backend.AddAssign{A: half, B: half}),
			"AddAssign to constant memory":       b.Run(&backend.AddAssign{A: constant, B: x}),
			"Scale of f16":                       b.Run(&backend.Scale{X: half, By: 2}),
			"SiLUMul of two shapes":              b.Run(&backend.SiLUMul{A: x, B: small}),
			"RMSNorm with other weights":         b.Run(&backend.RMSNorm{X: x, W: s.floats(3), Eps: 1e-5}),
			"Softmax of f16":                     b.Run(&backend.Softmax{X: half}),
			"RoPE of two dimensions":             b.Run(&backend.RoPE{X: x, Table: x}),
			"RoPE with another table":            b.Run(&backend.RoPE{X: q, Table: s.floats(1, 30)}),
			"MatMul of shapes that do not fit":   b.Run(&backend.MatMul{A: x, B: small, Out: x}),
			"MatMulTransposed to another shape":  b.Run(&backend.MatMulTransposed{X: x, W: w, Out: x}),
			"MatMulTransposed of other lengths":  b.Run(&backend.MatMulTransposed{X: small, W: w, Out: small}),
			"MatMulTransposed of f16":            b.Run(&backend.MatMulTransposed{X: half, W: w, Out: small}),
			"Gather of a negative row":           b.Run(&backend.Gather{Table: w, Indices: []int32{-1, 0}, Out: x}),
			"Gather beyond the rows":             b.Run(&backend.Gather{Table: w, Indices: []int32{0, 32}, Out: x}),
			"Gather to another shape":            b.Run(&backend.Gather{Table: w, Indices: []int32{0}, Out: x}),
			"CopySlice beyond the end":           b.Run(&backend.CopySlice{Src: x, Dst: x, To: 1, N: 128}),
			"CopySlice of two types":             b.Run(&backend.CopySlice{Src: x, Dst: half, N: 1}),
			"CopySlice of half a block":          b.Run(&backend.CopySlice{Src: w, Dst: w, From: 16, N: 16}),
			"CopySlice to constant memory":       b.Run(&backend.CopySlice{Src: x, Dst: constant, N: 1}),
			"ReadBuffer of another size":         b.ReadBuffer(x, make([]byte, 3)),
			"Cast to another shape":              b.Run(&backend.Cast{Src: x, Dst: small}),
			"Cast to constant memory":            b.Run(&backend.Cast{Src: half, Dst: constant}),
			"Largest of more than there are":     selecting(b, s.floats(1, 3), 4, 4),
			"Largest of an odd number of two":    selecting(b, x, 3, 3),
			"Largest of f16":                     selecting(b, s.as(tensor.F16, 1, 64), 1, 1),
			"Largest to fewer values":            selecting(b, s.floats(64), 2, 1),
			"Mask by too few words":              b.Run(&backend.Mask{X: s.floats(65), Allowed: make([]uint64, 1)}),
			"Mask of f16":                        b.Run(&backend.Mask{X: s.as(tensor.F16, 1, 64), Allowed: make([]uint64, 1)}),
			"Mask of constant memory":            b.Run(&backend.Mask{X: constant, Allowed: make([]uint64, 1)}),
			"NormMatMul with too few outputs":    b.Run(&backend.NormMatMul{X: x, Norm: s.floats(64), Eps: 1e-5, Normed: x, Ws: []*tensor.Tensor{w}}),
			"NormMatMul with a small scratch":    b.Run(&backend.NormMatMul{X: x, Norm: s.floats(64), Eps: 1e-5, Normed: small, Ws: []*tensor.Tensor{w}, Outs: []*tensor.Tensor{small}}),
			"RoPEStore of two dimensions":        b.Run(&backend.RoPEStore{Q: q, K: x, V: x, Table: angles, Runs: runs}),
			"RoPEStore with another table":       b.Run(&backend.RoPEStore{Q: q, K: k, V: k, Table: s.floats(1, 30), Runs: runs}),
			"RoPEStore with a table of two":      b.Run(&backend.RoPEStore{Q: q, K: k, V: k, Table: s.floats(2, 32), Runs: runs}),
			"RoPEStore of keys of other tokens":  b.Run(&backend.RoPEStore{Q: q, K: s.floats(2, 2, 32), V: s.floats(2, 2, 32), Table: angles, Runs: runs}),
			"RoPEStore of keys of another size":  b.Run(&backend.RoPEStore{Q: q, K: s.floats(1, 2, 64), V: s.floats(1, 2, 64), Table: angles, Runs: runs}),
			"RoPEStore of values of other heads": b.Run(&backend.RoPEStore{Q: q, K: k, V: s.floats(1, 4, 32), Table: angles, Runs: runs}),
			"RoPEStore of f16":                   b.Run(&backend.RoPEStore{Q: q, K: slot, V: k, Table: angles, Runs: runs}),
			"RoPEStore to constant memory":       b.Run(&backend.RoPEStore{Q: q, K: k, V: k, Table: angles, Runs: fixed}),
			"Attend of more tokens than used":    b.Run(&backend.Attend{Q: s.floats(4, 4, 32), Out: s.floats(4, 4, 32), Runs: []backend.Run{{Tokens: 4, Slots: runs[0].Slots}}}),
		} {
			if err == nil {
				t.Errorf("%s: %s is no error", b.Name(), name)
			}
		}
	}
	if packed != w { // this processor packs
		part, err := packed.Slice(0, 8)
		if err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{
			"ReadBuffer":                       c.ReadBuffer(packed, make([]byte, packed.Size())),
			"CopySlice":                        c.Run(&backend.CopySlice{Src: packed, Dst: packed, N: 32}),
			"Cast":                             c.Run(&backend.Cast{Src: packed, Dst: s.floats(32, 64)}),
			"MatMulTransposed of half a panel": c.Run(&backend.MatMulTransposed{X: x, W: part, Out: s.floats(2, 8)}),
		} {
			if err == nil {
				t.Errorf("%s of packed weights is no error", name)
			}
		}
	}
}
