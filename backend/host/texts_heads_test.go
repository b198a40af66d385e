package host_test

import (
	"math"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
)

// TestTextsOfAnyHeads lets texts with heads of any length attend to themselves, as towers with heads of 72 elements do: kernels and the reference have the
// same bits, and these are near softmax(q·kᵀ/√d)·v in float64.
func TestTextsOfAnyHeads(t *testing.T) {
	s := newSource(t)
	c := cpu.New(2)
	defer c.Close()
	lengths := []int{1, 17, 150}
	const heads, rows = 2, 168
	for _, d := range []int{8, 72, 100} {
		q, k, v := s.floats(rows, heads, d), s.floats(rows, heads, d), s.floats(rows, heads, d)
		qs, ks, vs := values(t, q), values(t, k), values(t, v)
		for _, reach := range []int{0, 5} {
			var got [2][]float32
			for i, b := range []backend.Backend{c, host.NewReference()} {
				out := s.floats(rows, heads, d)
				if err := b.Run(&backend.AttendTexts{Q: q, K: k, V: v, Out: out, Texts: lengths, Reach: reach}); err != nil {
					t.Fatal(err)
				}
				got[i] = copied(t, out)
			}
			first := 0
			for _, n := range lengths {
				for row := range n {
					for head := range heads {
						at := func(x []float32, row int) []float32 { return x[((first+row)*heads+head)*d:][:d] }
						sum, want := 0.0, make([]float64, d)
						for other := range n {
							if reach > 0 && (other < row-reach || other > row+reach) {
								continue
							}
							dot := 0.0
							for i, x := range at(qs, row) {
								dot += float64(x) * float64(at(ks, other)[i])
							}
							e := math.Exp(dot / math.Sqrt(float64(d)))
							sum += e
							for i, x := range at(vs, other) {
								want[i] += e * float64(x)
							}
						}
						for i, x := range at(got[0], row) {
							if x != at(got[1], row)[i] {
								t.Fatalf("heads of %d elements, reach %d: row %d differs from the reference", d, reach, first+row)
							}
							if math.Abs(float64(x)-want[i]/sum) > 1e-4 {
								t.Fatalf("heads of %d elements, reach %d: row %d has %g, and by definition %g", d, reach, first+row, x, want[i]/sum)
							}
						}
					}
				}
				first += n
			}
		}
	}
}
