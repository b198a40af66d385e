package host_test

import (
	"math"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestTextsByDefinition compares with softmax(q·kᵀ/√d)·v in float64, with and without a reach.
func TestTextsByDefinition(t *testing.T) {
	const heads, kvHeads, headDim, rows = 4, 2, 16, 317
	texts := []int{1, 16, 300}
	s, b := newSource(t), host.NewReference()
	q, k, v, out := s.floats(rows, heads, headDim), s.floats(rows, kvHeads, headDim), s.floats(rows, kvHeads, headDim), s.floats(rows, heads, headDim)
	qs, ks, vs, got := values(t, q), values(t, k), values(t, v), values(t, out)
	for _, reach := range []int{0, 1, 8, 150} {
		if err := b.Run(&backend.AttendTexts{Q: q, K: k, V: v, Out: out, Texts: texts, Reach: reach}); err != nil {
			t.Fatal(err)
		}
		first := 0
		for _, n := range texts {
			for i := range n {
				for h := range heads {
					query := qs[((first+i)*heads+h)*headDim:][:headDim]
					sum, want := 0.0, make([]float64, headDim)
					for j := range n {
						if reach > 0 && (j < i-reach || j > i+reach) {
							continue
						}
						at, dot := ((first+j)*kvHeads+h/2)*headDim, 0.0
						for e, x := range query {
							dot += float64(x) * float64(ks[at+e])
						}
						p := math.Exp(dot / 4)
						sum += p
						for e := range want {
							want[e] += p * float64(vs[at+e])
						}
					}
					for e, w := range want {
						if g := float64(got[((first+i)*heads+h)*headDim+e]); math.Abs(g-w/sum) > 1e-5 {
							t.Fatalf("reach %d, text of %d rows, row %d, head %d: %g, want %g", reach, n, i, h, g, w/sum)
						}
					}
				}
			}
			first += n
		}
	}
}

// TestTextsDoNotMeet holds each text's rows to the bits that they have alone, on this processor with several threads.
func TestTextsDoNotMeet(t *testing.T) {
	const heads, headDim = 3, 32
	s, b := newSource(t), cpu.New(3)
	defer b.Close()
	texts := []int{130, 1, 17, 256, 5}
	rows := 0
	for _, n := range texts {
		rows += n
	}
	q, k, v, out := s.floats(rows, heads, headDim), s.floats(rows, heads, headDim), s.floats(rows, heads, headDim), s.floats(rows, heads, headDim)
	for _, reach := range []int{0, 20} {
		if err := b.Run(&backend.AttendTexts{Q: q, K: k, V: v, Out: out, Texts: texts, Reach: reach}); err != nil {
			t.Fatal(err)
		}
		first := 0
		for _, n := range texts {
			var alone [4]*tensor.Tensor
			for i, x := range []*tensor.Tensor{q, k, v, out} {
				var err error
				if alone[i], err = tensor.FromFloats(slices.Clone(values(t, x)[first*heads*headDim:][:n*heads*headDim]), n, heads, headDim); err != nil {
					t.Fatal(err)
				}
			}
			together := copied(t, alone[3])
			if err := b.Run(&backend.AttendTexts{Q: alone[0], K: alone[1], V: alone[2], Out: alone[3], Texts: []int{n}, Reach: reach}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(values(t, alone[3]), together) {
				t.Errorf("reach %d: a text of %d rows has other bits alone", reach, n)
			}
			first += n
		}
	}
}

// TestLayerNormByDefinition compares with float64.
func TestLayerNormByDefinition(t *testing.T) {
	s, b := newSource(t), host.NewReference()
	x, w, bias := s.floats(3, 1000), s.floats(1000), s.floats(1000)
	before := copied(t, x)
	for i := range before { // far from 0
		before[i] += 10
	}
	copy(values(t, x), before)
	if err := b.Run(&backend.LayerNorm{X: x, W: w, B: bias, Eps: 1e-12}); err != nil {
		t.Fatal(err)
	}
	for row := range 3 {
		part := before[row*1000:][:1000]
		mean, variance := 0.0, 0.0
		for _, v := range part {
			mean += float64(v) / 1000
		}
		for _, v := range part {
			variance += (float64(v) - mean) * (float64(v) - mean) / 1000
		}
		for i, v := range part {
			want := (float64(v)-mean)/math.Sqrt(variance+1e-12)*float64(values(t, w)[i]) + float64(values(t, bias)[i])
			if got := float64(values(t, x)[row*1000+i]); math.Abs(got-want) > 1e-5 {
				t.Fatalf("row %d, element %d: %g, want %g", row, i, got, want)
			}
		}
	}
}
