package recurrent_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/asm/internal/asmtest"
	"github.com/antigravity-go/antigravity/internal/effort"
)

// operands makes the operands of a pass. Gaps between tokens are filled as the tokens are, and no kernel may write there.
func operands(r *rand.Rand, fill asmtest.Fill, rows, keyDim, gap int, delta bool) *asm.StatePass {
	floats := func(fill asmtest.Fill, n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = fill.At(r, i)
		}
		return x
	}
	p := &asm.StatePass{KeyDim: keyDim, KeyStride: keyDim + gap, ValueStride: asm.StateColumns + gap, Delta: delta}
	keys, values := (rows-1)*p.KeyStride+keyDim, (rows-1)*p.ValueStride+asm.StateColumns
	p.State, p.Q, p.K = floats(fill, keyDim*asm.StateColumns), floats(fill, keys), floats(fill, keys)
	p.V, p.Out = floats(fill, values), floats(fill, values)
	p.Decay, p.Beta = floats(fill, rows), floats(fill, rows)
	return p
}

// fenced returns a pass with copies of the operands. Each copy ends at a protected page.
func fenced(t testing.TB, p *asm.StatePass) *asm.StatePass {
	c := *p
	for _, x := range []*[]float32{&c.State, &c.Q, &c.K, &c.V, &c.Out, &c.Decay, &c.Beta} {
		*x = asmtest.FencedCopy(t, *x)
	}
	return &c
}

func TestRecur(t *testing.T) {
	for _, k := range asm.Tiers()[1:] {
		for _, fill := range asmtest.Fills {
			t.Run(k.Tier()+"/"+fill.Name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				for i, keyDim := range []int{1, 3, 4, 8, 12, 18, 64, 128, 256} {
					for j, rows := range []int{1, 2, 3, 17, 70} {
						if !effort.Share(i+j, 4) {
							continue
						}
						for _, delta := range []bool{true, false} {
							want := operands(r, fill, rows, keyDim, rows%3*5, delta)
							got := fenced(t, want)
							if rows%2 == 0 {
								want.Out, got.Out = want.V, got.V
							}
							asm.Portable().Recur(want)
							k.Recur(got)
							what := fmt.Sprintf("%d rows with keys of %d, delta %v: ", rows, keyDim, delta)
							asmtest.SameFloats(t, what+"out", got.Out, want.Out)
							asmtest.SameFloats(t, what+"state", got.State, want.State)
							asmtest.SameFloats(t, what+"values", got.V, want.V)
						}
					}
				}
			})
		}
	}
}

func TestRecurDoesNotAllocate(t *testing.T) {
	p := operands(rand.New(rand.NewPCG(1, 2)), asmtest.Fills[0], 3, 16, 0, true)
	for _, k := range asm.Tiers() {
		if n := testing.AllocsPerRun(10, func() { k.Recur(p) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", k.Tier(), n)
		}
	}
}

// BenchmarkRecur passes tokens through a head of Qwen 3.5. Its state is in the second-level cache. Bytes are those of the state, read and
// written once a token, whether it is or not.
func BenchmarkRecur(b *testing.B) {
	const keyDim, blocks = 128, 8
	zero := asmtest.Fill{At: func(*rand.Rand, int) float32 { return 0.1 }}
	for _, delta := range []bool{true, false} {
		for _, rows := range []int{1, 64} {
			for _, k := range asm.Tiers() {
				b.Run(fmt.Sprintf("delta %v/rows %d/%s", delta, rows, k.Tier()), func(b *testing.B) {
					p := operands(rand.New(rand.NewPCG(1, 2)), zero, rows, keyDim, 0, delta)
					states := make([]float32, blocks*len(p.State))
					b.SetBytes(int64(2 * 4 * len(states) * rows))
					for b.Loop() {
						for i := range blocks {
							p.State = states[i*keyDim*asm.StateColumns:][:keyDim*asm.StateColumns]
							k.Recur(p)
						}
					}
				})
			}
		}
	}
}
