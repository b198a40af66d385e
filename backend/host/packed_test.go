package host_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/effort"
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

// TestPackedMatricesOfAnyRows multiplies with matrices that end with rows that fill no panel, alone and two together, gathers their rows, and
// multiplies with slices. Vocabularies are such matrices: 49,155, 32,002 and 128,258 rows.
func TestPackedMatricesOfAnyRows(t *testing.T) {
	effort.Turn(t, 8)
	s, reference := newSource(t), host.NewReference()
	c := cpu.New(2)
	defer c.Close()
	for _, d := range tensor.WeightTypes() {
		for _, n := range []int{16, 17, 31, 32, 33, 95, 130, 515} {
			rows, other := s.as(d, n, 256), s.as(d, 49, 256)
			packed, err := backend.Prepare(t.Context(), c, rows)
			if err != nil {
				t.Fatal(err)
			}
			packedOther, err := backend.Prepare(t.Context(), c, other)
			if err != nil {
				t.Fatal(err)
			}
			if packed == rows { // this processor does not pack the type
				continue
			}
			for _, m := range []int{1, 9} {
				x := s.floats(m, 256)
				product := func(b backend.Backend, w *tensor.Tensor) []float32 {
					out := s.floats(m, w.Shape().Dim(0))
					if err := b.Run(&backend.MatMulTransposed{X: x, W: w, Out: out}); err != nil {
						t.Fatal(err)
					}
					return copied(t, out)
				}
				if got, want := product(c, packed), product(reference, rows); !slices.Equal(got, want) {
					t.Errorf("%v: %d rows by %d: packed and plain products differ", d, n, m)
				}
				if n > 32 {
					tail, err := packed.Slice(32, n)
					if err != nil {
						t.Fatal(err)
					}
					plain, err := rows.Slice(32, n)
					if err != nil {
						t.Fatal(err)
					}
					if got, want := product(c, tail), product(reference, plain); !slices.Equal(got, want) {
						t.Errorf("%v: the last %d of %d rows by %d: packed and plain products differ", d, n-32, n, m)
					}
				}
				together := func(b backend.Backend, ws ...*tensor.Tensor) (all []float32) {
					var outs []*tensor.Tensor
					for _, w := range ws {
						outs = append(outs, s.floats(m, w.Shape().Dim(0)))
					}
					norm := s.floats(256)
					for i := range values(t, norm) {
						values(t, norm)[i] = 1
					}
					if err := b.Run(&backend.NormMatMul{X: x, Norm: norm, Eps: 1e-5, Normed: s.floats(m, 256), Ws: ws, Outs: outs}); err != nil {
						t.Fatal(err)
					}
					for _, out := range outs {
						all = append(all, copied(t, out)...)
					}
					return all
				}
				if got, want := together(c, packed, packedOther), together(reference, rows, other); !slices.Equal(got, want) {
					t.Errorf("%v: %d and 49 rows by %d: packed and plain products differ", d, n, m)
				}
			}
			indices := []int32{0, int32(n - 1), int32(n/16*16 - 1), int32(n / 2)}
			gather := func(b backend.Backend, w *tensor.Tensor) []float32 {
				out := s.floats(len(indices), 256)
				if err := b.Run(&backend.Gather{Table: w, Indices: indices, Out: out}); err != nil {
					t.Fatal(err)
				}
				return copied(t, out)
			}
			if got, want := gather(c, packed), gather(reference, rows); !slices.Equal(got, want) {
				t.Errorf("%v: gathered rows of %d differ", d, n)
			}
			if n > 33 {
				within, err := packed.Slice(16, 33)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Run(&backend.MatMulTransposed{X: s.floats(1, 256), W: within, Out: s.floats(1, 17)}); err == nil {
					t.Errorf("%v: a slice that ends within a panel is no error", d)
				}
			}
			if err := errors.Join(packed.Free(), packedOther.Free()); err != nil {
				t.Fatal(err)
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
