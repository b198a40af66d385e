package host_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/tensor"
)

// remembering is a convolution or a recurrence on fixed operands. Its rows may be computed in any cuts and together with any others.
type remembering struct {
	name   string
	states func(t testing.TB) *tensor.Tensor // zeros: of a conversation that begins
	// do computes rows [lo, hi) of each conversation with its state, all at once, and returns what came out for each.
	do func(t testing.TB, b backend.Backend, conversations, lo, hi []int, states []*tensor.Tensor) [][]float32
}

// zeros makes a tensor on the host.
func zeros(t testing.TB, shape tensor.Shape) *tensor.Tensor {
	t.Helper()
	x, err := tensor.New(nil, tensor.F32, shape)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

const lengthOfConversations = 150

// conversation returns the operands of conversation i: rows of a width.
func conversation(i, operand, width int) []float32 {
	r := rand.New(rand.NewPCG(uint64(i), uint64(operand)))
	x := make([]float32, lengthOfConversations*width)
	for j := range x {
		x[j] = float32(r.NormFloat64())
	}
	return x
}

// gathered returns rows [lo, hi) of each conversation, one after the other, each element changed by f.
func gathered(t testing.TB, conversations, lo, hi []int, operand int, f func(float32) float32, dims ...int) *tensor.Tensor {
	t.Helper()
	width := tensor.ShapeOf(dims...).NumElements()
	var x []float32
	for i, c := range conversations {
		x = append(x, conversation(c, operand, width)[lo[i]*width:hi[i]*width]...)
	}
	for i, v := range x {
		x[i] = f(v)
	}
	result, err := tensor.FromFloats(x, append([]int{len(x) / width}, dims...)...)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// asIs changes nothing.
func asIs(v float32) float32 { return v }

// stretchesOf returns the stretches of rows [lo, hi).
func stretchesOf(lo, hi []int, states []*tensor.Tensor) (of []backend.Stretch) {
	for i := range lo {
		of = append(of, backend.Stretch{State: states[i], Rows: hi[i] - lo[i]})
	}
	return of
}

// parted cuts what came out by stretches.
func parted(x []float32, width int, lo, hi []int) (parts [][]float32) {
	for i := range lo {
		n := (hi[i] - lo[i]) * width
		parts, x = append(parts, x[:n]), x[n:]
	}
	return parts
}

// convolving is a convolution with a bias.
func convolving(width, channels int) remembering {
	s := rand.New(rand.NewPCG(7, 8))
	weights, bias := make([]float32, width*channels), make([]float32, channels)
	for i := range weights {
		weights[i] = float32(s.NormFloat64())
	}
	for i := range bias {
		bias[i] = float32(s.NormFloat64())
	}
	return remembering{
		name:   fmt.Sprintf("Convolve %d × %d", width, channels),
		states: func(t testing.TB) *tensor.Tensor { return zeros(t, tensor.ShapeOf(width-1, channels)) },
		do: func(t testing.TB, b backend.Backend, conversations, lo, hi []int, states []*tensor.Tensor) [][]float32 {
			x := gathered(t, conversations, lo, hi, 0, asIs, channels)
			w, err := tensor.FromFloats(weights, width, channels)
			if err != nil {
				t.Fatal(err)
			}
			c, err := tensor.FromFloats(bias, channels)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Run(&backend.Convolve{X: x, W: w, B: c, Out: x, Of: stretchesOf(lo, hi, states)}); err != nil {
				t.Fatal(err)
			}
			return parted(copied(t, x), channels, lo, hi)
		},
	}
}

// recurring is a recurrence.
func recurring(keyHeads, heads, dk, dv int, delta bool) remembering {
	unit := func(v float32) float32 { return v / float32(math.Sqrt(float64(dk))) }
	return remembering{
		name:   fmt.Sprintf("Recur %d %d %d %d %v", keyHeads, heads, dk, dv, delta),
		states: func(t testing.TB) *tensor.Tensor { return zeros(t, backend.StateShape(heads, dk, dv)) },
		do: func(t testing.TB, b backend.Backend, conversations, lo, hi []int, states []*tensor.Tensor) [][]float32 {
			rows := func(operand int, f func(float32) float32, dims ...int) *tensor.Tensor {
				return gathered(t, conversations, lo, hi, operand, f, dims...)
			}
			q, k, v := rows(0, unit, keyHeads, dk), rows(1, unit, keyHeads, dk), rows(2, asIs, heads, dv)
			g := rows(3, func(v float32) float32 { return -v * v / 4 }, heads)
			beta := rows(4, func(v float32) float32 { return float32(1 / (1 + math.Exp(-float64(v)))) }, heads)
			out := zeros(t, v.Shape())
			if err := b.Run(&backend.Recur{Q: q, K: k, V: v, G: g, Beta: beta, Out: out, Delta: delta, Of: stretchesOf(lo, hi, states)}); err != nil {
				t.Fatal(err)
			}
			return parted(copied(t, out), heads*dv, lo, hi)
		},
	}
}

var rememberings = []remembering{
	convolving(4, 100), convolving(3, 1500), convolving(6, 17),
	recurring(2, 4, 32, 32, true), recurring(1, 3, 7, 21, true), recurring(1, 2, 16, 40, false), recurring(2, 2, 128, 64, true),
}

// TestCutsAndCompany computes conversations in one piece and alone, by the reference, and in any pieces together with others, with every
// tier and numbers of threads: the bits are the same.
func TestCutsAndCompany(t *testing.T) {
	effort.Turn(t, 8)
	const conversations = 3
	for _, op := range rememberings {
		t.Run(op.name, func(t *testing.T) {
			var want [conversations][]float32
			var ends [conversations]*tensor.Tensor
			for c := range conversations {
				ends[c] = op.states(t)
				defer ends[c].Free()
				want[c] = op.do(t, host.NewReference(), []int{c}, []int{0}, []int{lengthOfConversations}, ends[c:c+1])[0]
			}
			for i, tier := range asm.Tiers() {
				for j, threads := range []int{1, 2, 5} {
					if !effort.Share(i+j, 4) {
						continue
					}
					pool := parallel.New(threads)
					b := deviceOf(host.NewBase(tier, pool))
					r := rand.New(rand.NewPCG(uint64(threads), 1))
					var states [conversations]*tensor.Tensor
					var done [conversations]int
					var got [conversations][]float32
					for c := range states {
						states[c] = op.states(t)
						defer states[c].Free()
					}
					for {
						var who, lo, hi []int
						var with []*tensor.Tensor
						for _, c := range r.Perm(conversations)[:1+r.IntN(conversations)] {
							if n := min(1+r.IntN(4)*r.IntN(30), lengthOfConversations-done[c]); n > 0 {
								who, lo, hi, with = append(who, c), append(lo, done[c]), append(hi, done[c]+n), append(with, states[c])
								done[c] += n
							}
						}
						if len(who) == 0 {
							if slices.Min(done[:]) == lengthOfConversations {
								break
							}
							continue
						}
						for i, out := range op.do(t, b, who, lo, hi, with) {
							got[who[i]] = append(got[who[i]], out...)
						}
					}
					pool.Close()
					for c := range got {
						what := fmt.Sprintf("%s, %d threads, conversation %d", tier.Tier(), threads, c)
						sameBits(t, what, got[c], want[c])
						sameBits(t, what+", state", values(t, states[c]), values(t, ends[c]))
					}
				}
			}
		})
	}
}

// deviceOf makes a Base a backend.
func deviceOf(b *host.Base) backend.Backend {
	r := host.NewReference()
	r.Base = b
	return r
}

// sameBits fails unless the bits agree.
func sameBits(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestConvolveByDefinition compares with Σ w[j]·x[t−(width−1)+j] in float64.
func TestConvolveByDefinition(t *testing.T) {
	const width, channels, rows = 4, 5, 9
	s, b := newSource(t), host.NewReference()
	x, w, bias, state := s.floats(rows, channels), s.floats(width, channels), s.floats(channels), s.floats(width-1, channels)
	inputs := slices.Concat(values(t, state), values(t, x))
	out := s.floats(rows, channels)
	if err := b.Run(&backend.Convolve{X: x, W: w, B: bias, Out: out, Of: []backend.Stretch{{State: state, Rows: rows}}}); err != nil {
		t.Fatal(err)
	}
	for i, got := range values(t, out) {
		want := float64(values(t, bias)[i%channels])
		for j := range width {
			want += float64(values(t, w)[j*channels+i%channels]) * float64(inputs[i+j*channels])
		}
		if math.Abs(float64(got)-want) > 1e-5 {
			t.Errorf("element %d: %v, want %v", i, got, want)
		}
	}
	sameBits(t, "the state", values(t, state), inputs[rows*channels:])
}

// TestRecurByDefinition compares with the recurrence in float64, the state as a matrix.
func TestRecurByDefinition(t *testing.T) {
	const keyHeads, heads, dk, dv, rows = 2, 4, 11, 21, 30
	for _, delta := range []bool{true, false} {
		s, b := newSource(t), host.NewReference()
		q, k, v := s.floats(rows, keyHeads, dk), s.floats(rows, keyHeads, dk), s.floats(rows, heads, dv)
		g, beta, out := s.floats(rows, heads), s.floats(rows, heads), s.floats(rows, heads, dv)
		for i := range values(t, k) {
			values(t, k)[i] /= 4
		}
		for i, x := range values(t, g) {
			values(t, g)[i], values(t, beta)[i] = -x*x, float32(1/(1+math.Exp(-float64(values(t, beta)[i]))))
		}
		state := zeros(t, backend.StateShape(heads, dk, dv))
		if err := b.Run(&backend.Recur{Q: q, K: k, V: v, G: g, Beta: beta, Out: out, Delta: delta, Of: []backend.Stretch{{State: state, Rows: rows}}}); err != nil {
			t.Fatal(err)
		}
		for head := range heads {
			var matrix [dk][dv]float64
			for row := range rows {
				at := func(x *tensor.Tensor, n, width, head int) []float32 { return values(t, x)[(row*n+head)*width:][:width] }
				key, query, value := at(k, keyHeads, dk, head/2), at(q, keyHeads, dk, head/2), at(v, heads, dv, head)
				decay, rate := math.Exp(float64(at(g, heads, 1, head)[0])), float64(at(beta, heads, 1, head)[0])
				for j := range dv {
					known := 0.0
					for i := range dk {
						matrix[i][j] *= decay
						known += matrix[i][j] * float64(key[i])
					}
					u := rate * float64(value[j])
					if delta {
						u = rate * (float64(value[j]) - known)
					}
					want := 0.0
					for i := range dk {
						matrix[i][j] += float64(key[i]) * u
						want += matrix[i][j] * float64(query[i])
					}
					if got := at(out, heads, dv, head)[j]; math.Abs(float64(got)-want) > 1e-4 {
						t.Fatalf("delta %v, row %d, head %d, element %d: %v, want %v", delta, row, head, j, got, want)
					}
				}
			}
			for i := range dk {
				for j := range dv {
					got := values(t, state)[((head*2+j/16)*dk+i)*16+j%16]
					if math.Abs(float64(got)-matrix[i][j]) > 1e-4 {
						t.Fatalf("delta %v, head %d: S[%d][%d] is %v, want %v", delta, head, i, j, got, matrix[i][j])
					}
				}
			}
		}
	}
}

// TestRecurrentAllocatesNothing holds what a decoded token computes to no allocation.
func TestRecurrentAllocatesNothing(t *testing.T) {
	b := cpu.New(2)
	defer b.Close()
	s := newSource(t)
	x, w, row := s.floats(2, 32), s.floats(4, 32), s.floats(32)
	q, v, g := s.floats(2, 2, 16), s.floats(2, 2, 16), s.floats(2, 2)
	var filters, matrices []backend.Stretch
	for range 2 {
		filters = append(filters, backend.Stretch{State: s.floats(3, 32), Rows: 1})
		matrices = append(matrices, backend.Stretch{State: zeros(t, backend.StateShape(2, 16, 16)), Rows: 1})
	}
	for _, op := range []backend.Op{
		&backend.Convolve{X: x, W: w, Out: x, Of: filters},
		&backend.Recur{Q: q, K: q, V: v, G: g, Beta: g, Out: v, Delta: true, Of: matrices},
		&backend.Softplus{A: x, Bias: row}, &backend.SigmoidMul{A: x}, &backend.SiLUMul{A: x}, &backend.MulAssign{A: x, B: row},
	} {
		program := []backend.Op{op}
		if n := testing.AllocsPerRun(20, func() {
			if err := b.Run(program...); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations, want 0", backend.NameOf(op), n)
		}
	}
}
