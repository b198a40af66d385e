package host_test

import (
	"errors"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestPackedWeightsAreNoRows hands weights in panels to every operation that wants rows, of this backend and of another: the bytes
// of panels must never be taken for rows.
func TestPackedWeightsAreNoRows(t *testing.T) {
	s := newSource(t)
	c, other := cpu.New(1), host.NewReference()
	defer c.Close()
	for _, d := range tensor.WeightTypes() {
		rows := s.as(d, 32, 256)
		packed, err := backend.Prepare(t.Context(), c, rows)
		if err != nil {
			t.Fatal(err)
		}
		if packed == rows { // this processor does not pack the type
			continue
		}
		if packed.Data() != nil || packed.Buffer().Mapped() {
			t.Errorf("the panels of %v are visible as rows", d)
		}
		x, row, out := s.floats(32, 256), s.floats(1, 256), s.floats(32, 256)
		copied := func(_ *tensor.Tensor, err error) error { return err }
		for _, b := range []backend.Backend{c, other} {
			for name, err := range map[string]error{
				"CopyFrom":   copied(b.CopyFrom(packed)),
				"ReadBuffer": b.ReadBuffer(packed, make([]byte, packed.Size())),
				"CopySlice":  b.Run(&backend.CopySlice{Src: packed, Dst: rows, N: 256}),
				"Cast":       b.Run(&backend.Cast{Src: packed, Dst: out}),
			} {
				if !errors.Is(err, backend.ErrUnsupported) {
					t.Errorf("%s of %v packed on %s: %v", name, d, b.Name(), err)
				}
			}
			if d != tensor.F32 {
				continue
			}
			for name, err := range map[string]error{
				"MatMul":           b.Run(&backend.MatMul{A: s.floats(1, 32), B: packed, Out: row}),
				"MatMulTransposed": b.Run(&backend.MatMulTransposed{X: packed, W: x, Out: s.floats(32, 32)}),
				"AddAssign":        b.Run(&backend.AddAssign{A: x, B: packed}),
				"SiLUMul":          b.Run(&backend.SiLUMul{A: x, B: packed}),
				"Largest":          b.Run(&backend.Largest{X: packed, Indices: make([]int32, 1), Values: make([]float32, 1)}),
				"Mask":             b.Run(&backend.Mask{X: packed, Allowed: make([]uint64, packed.Shape().Rows()*packed.Shape().Dim(-1)/64)}),
				"NormMatMul":       b.Run(&backend.NormMatMul{X: packed, Norm: s.floats(256), Eps: 1e-5, Normed: x, Ws: []*tensor.Tensor{rows}, Outs: []*tensor.Tensor{s.floats(32, 32)}}),
				"MatMulAdd":        b.Run(&backend.MatMulAdd{X: packed, W: rows, Product: s.floats(32, 32), Out: s.floats(32, 32)}),
			} {
				if err == nil {
					t.Errorf("%s of %v packed on %s is no error", name, d, b.Name())
				}
			}
		}
	}
}

// TestFreedOperandsAreErrors hands tensors that have been freed to operations.
func TestFreedOperandsAreErrors(t *testing.T) {
	s := newSource(t)
	c := cpu.New(2)
	defer c.Close()
	x, freed, norm, w, out := s.floats(2, 64), s.floats(2, 64), s.floats(64), s.as(tensor.Q4_0, 32, 64), s.floats(2, 32)
	heads := s.floats(1, 2, 64)
	packed, err := backend.Prepare(t.Context(), c, s.as(tensor.Q4_0, 32, 64))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(freed.Free(), heads.Free(), packed.Free()); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"AddAssign":          c.Run(&backend.AddAssign{A: x, B: freed}),
		"to a freed sum":     c.Run(&backend.AddAssign{A: freed, B: x}),
		"Scale":              c.Run(&backend.Scale{X: freed, By: 2}),
		"RMSNorm":            c.Run(&backend.RMSNorm{X: freed, W: norm, Eps: 1e-5}),
		"Softmax":            c.Run(&backend.Softmax{X: freed}),
		"MatMulTransposed":   c.Run(&backend.MatMulTransposed{X: freed, W: w, Out: out}),
		"with freed weights": c.Run(&backend.MatMulTransposed{X: x, W: packed, Out: out}),
		"Gather":             c.Run(&backend.Gather{Table: packed, Indices: []int32{1, 2}, Out: x}),
		"CopySlice":          c.Run(&backend.CopySlice{Src: freed, Dst: x, N: 3}),
		"ReadBuffer":         c.ReadBuffer(freed, make([]byte, freed.Size())),
		"NormMatMul":         c.Run(&backend.NormMatMul{X: x, Norm: norm, Eps: 1e-5, Normed: freed, Ws: []*tensor.Tensor{w}, Outs: []*tensor.Tensor{out}}),
		"MatMulAdd":          c.Run(&backend.MatMulAdd{X: freed, W: w, Product: out, Out: out}),
		"Attention":          c.Run(&backend.Attend{Q: s.floats(1, 2, 64), Out: heads, Runs: []backend.Run{{Tokens: 1, Slots: s.slots(c, tensor.F32, 64, 3, 3)}}}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
