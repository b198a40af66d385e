package host_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/tensor"
)

// weights computes in float64 what AccumulateAttention adds, from keys as they are cached.
func weights(t *testing.T, q *tensor.Tensor, c *backend.Slots) [][]float64 {
	t.Helper()
	queries := copied(t, q)
	tokens, heads, dim, kvHeads := q.Shape().Dim(0), q.Shape().Dim(1), q.Shape().Dim(2), len(c.Heads)
	sums, keys := make([][]float64, kvHeads), make([][]float32, kvHeads)
	for h := range sums {
		wide, err := tensor.New(nil, tensor.F32, tensor.ShapeOf(c.Heads[h].Len, dim))
		if err != nil {
			t.Fatal(err)
		}
		if err := host.NewReference().Run(&backend.ReadSlots{Slots: c, Head: h, First: 0, Keys: wide}); err != nil {
			t.Fatal(err)
		}
		sums[h], keys[h] = make([]float64, c.Heads[h].Len), copied(t, wide)
		runtime.KeepAlive(wide)
	}
	for i := range tokens {
		for h := range heads {
			kv := h / (heads / kvHeads)
			p, total := make([]float64, c.Heads[kv].Len-tokens+i+1), 0.0
			for j := range p {
				for e := range dim {
					p[j] += float64(queries[(i*heads+h)*dim+e]) * float64(keys[kv][j*dim+e])
				}
				p[j] = math.Exp(p[j] / math.Sqrt(float64(dim)))
				total += p[j]
			}
			for j := range p {
				sums[kv][j] += p[j] / total
			}
		}
	}
	return sums
}

func TestWeigh(t *testing.T) {
	s := newSource(t)
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0} {
		for _, c := range []struct{ tokens, heads, kvHeads, dim, n int }{
			{1, 4, 2, 32, 1}, {1, 8, 2, 64, 300}, {5, 4, 4, 32, 5}, {40, 6, 2, 64, 150}, {33, 8, 1, 64, 257},
		} {
			t.Run(fmt.Sprintf("%v/%+v", d, c), func(t *testing.T) {
				used := slices.Repeat([]int{c.n}, c.kvHeads)
				used[0] = max(c.tokens, c.n-20) // heads may have different numbers of slots
				reference := host.NewReference()
				q, slots := s.floats(c.tokens, c.heads, c.dim), s.slots(reference, d, c.dim, used...)
				want := weights(t, q, slots)
				var first []float32
				for _, b := range []backend.Backend{reference, cpu.New(1), cpu.New(3)} {
					sums, err := tensor.FromFloats(slices.Repeat([]float32{1}, c.kvHeads*(c.n+2)), c.kvHeads, c.n+2)
					if err != nil {
						t.Fatal(err)
					}
					run := backend.Run{Tokens: c.tokens, Slots: s.moved(reference, b, slots)}
					if err := b.Run(&backend.AccumulateAttention{Q: q, Sums: sums, Run: run}); err != nil {
						t.Fatal(err)
					}
					got := copied(t, sums)
					runtime.KeepAlive(sums)
					if first == nil {
						first = got
					}
					if !slices.Equal(got, first) {
						t.Errorf("%s: not the bits of the reference", b.Describe())
					}
					tolerance := map[tensor.DType]float64{tensor.F32: 1e-5, tensor.F16: 1e-5}[d]
					if tolerance == 0 {
						tolerance = 0.03 // queries are rounded to 8 bits
					}
					for h := range want {
						for j, w := range want[h] {
							if diff := math.Abs(float64(got[h*(c.n+2)+j]) - 1 - w); diff > tolerance*(1+w) {
								t.Fatalf("%s: head %d, slot %d: %v, want %v", b.Describe(), h, j, got[h*(c.n+2)+j]-1, w)
							}
						}
						if tail := got[h*(c.n+2)+used[h]:][:2]; tail[0] != 1 || tail[1] != 1 {
							t.Errorf("%s: wrote beyond slot %d", b.Describe(), used[h])
						}
					}
					b.Close()
				}
			})
		}
	}
}

// The sums must not depend on how a prompt is cut into chunks.
func TestWeighByChunks(t *testing.T) {
	s := newSource(t)
	const tokens, heads, kvHeads, dim = 200, 4, 2, 64
	b := cpu.New(2)
	defer b.Close()
	q, c := s.floats(tokens, heads, dim), s.slots(b, tensor.F16, dim, tokens, tokens)
	var want []float32
	for _, chunk := range []int{tokens, 1, 7, 64} {
		sums, err := tensor.New(nil, tensor.F32, tensor.ShapeOf(kvHeads, tokens))
		if err != nil {
			t.Fatal(err)
		}
		for lo := 0; lo < tokens; lo += chunk {
			hi := min(lo+chunk, tokens)
			part, err := q.Slice(lo, hi)
			if err != nil {
				t.Fatal(err)
			}
			for head := range c.Heads {
				c.Heads[head].Len = hi
			}
			if err := b.Run(&backend.AccumulateAttention{Q: part, Sums: sums, Run: backend.Run{Tokens: hi - lo, Slots: c}}); err != nil {
				t.Fatal(err)
			}
		}
		if want == nil {
			want = copied(t, sums)
		}
		if !slices.Equal(values(t, sums), want) {
			t.Errorf("chunks of %d give other sums", chunk)
		}
	}
}

func BenchmarkWeigh(b *testing.B) {
	s := newSource(b)
	device := cpu.New(0)
	defer device.Close()
	for _, tokens := range []int{1, 32, 256} {
		b.Run(fmt.Sprint(tokens), func(b *testing.B) {
			q, run := s.floats(tokens, 32, 64), backend.Run{Tokens: tokens, Slots: s.slots(device, tensor.F16, 64, slices.Repeat([]int{4096}, 8)...)}
			sums, _ := tensor.New(nil, tensor.F32, tensor.ShapeOf(8, 4096))
			for b.Loop() {
				if err := device.Run(&backend.AccumulateAttention{Q: q, Sums: sums, Run: run}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(tokens)*4096*32*64*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
		})
	}
}
