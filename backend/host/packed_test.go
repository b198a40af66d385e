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
				"CopySlice":  b.CopySlice(packed, rows, 0, 0, 256),
				"Cast":       b.Cast(packed, out),
			} {
				if !errors.Is(err, backend.ErrUnsupported) {
					t.Errorf("%s of %v packed on %s: %v", name, d, b.Name(), err)
				}
			}
			if d != tensor.F32 {
				continue
			}
			for name, err := range map[string]error{
				"MatMul":           b.MatMul(s.floats(1, 32), packed, row),
				"MatMulTransposed": b.MatMulTransposed(packed, x, s.floats(32, 32)),
				"AddAssign":        b.AddAssign(x, packed),
				"SiLUMul":          b.SiLUMul(x, packed),
				"Largest":          backend.Selecting(b).Largest(packed, make([]int32, 1), make([]float32, 1)),
				"Mask":             backend.Selecting(b).Mask(packed, make([]uint64, packed.Shape().Rows()*packed.Shape().Dim(-1)/64)),
				"NormMatMul":       backend.Fused(b).NormMatMul(packed, s.floats(256), 1e-5, x, []*tensor.Tensor{rows}, []*tensor.Tensor{s.floats(32, 32)}),
				"MatMulAdd":        backend.Fused(b).MatMulAdd(packed, rows, s.floats(32, 32), s.floats(32, 32)),
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
		"AddAssign":          c.AddAssign(x, freed),
		"to a freed sum":     c.AddAssign(freed, x),
		"Scale":              c.Scale(freed, 2),
		"RMSNorm":            c.RMSNorm(freed, norm, 1e-5),
		"Softmax":            c.Softmax(freed),
		"MatMulTransposed":   c.MatMulTransposed(freed, w, out),
		"with freed weights": c.MatMulTransposed(x, packed, out),
		"Gather":             c.Gather(packed, []int32{1, 2}, x),
		"CopySlice":          c.CopySlice(freed, x, 0, 0, 3),
		"ReadBuffer":         c.ReadBuffer(freed, make([]byte, freed.Size())),
		"NormMatMul":         c.NormMatMul(x, norm, 1e-5, freed, []*tensor.Tensor{w}, []*tensor.Tensor{out}),
		"MatMulAdd":          c.MatMulAdd(freed, w, out, out),
		"Attention":          c.Attend(s.floats(1, 2, 64), heads, []backend.Run{{Tokens: 1, Slots: s.slots(c, tensor.F32, 64, 3, 3)}}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
