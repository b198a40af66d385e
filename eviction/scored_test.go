package eviction_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

func BenchmarkScore(b *testing.B) {
	device := cpu.New(2)
	defer device.Close()
	for _, s := range []struct{ slots, heads, kvHeads, headDim int }{{288, 4, 2, 64}, {4096, 32, 8, 64}} {
		for _, name := range eviction.Names()[2:] {
			p, err := eviction.ByName(name, eviction.Options{Budget: s.slots / 2})
			if err != nil {
				b.Fatal(err)
			}
			scorer := p.(interface {
				eviction.Scorer
			})
			b.Run(fmt.Sprintf("%s/%d_slots_%dx%dx%d", name, s.slots, s.heads, s.kvHeads, s.headDim), func(b *testing.B) {
				c, err := kvcache.New(device, tensor.F16, s.slots, s.kvHeads, s.headDim)
				if err != nil {
					b.Fatal(err)
				}
				defer c.Free()
				c.Track(scorer.Tracking(), s.heads, func(row []float32, position int) {
					for i := range row[:len(row)/2] {
						sin, cos := math.Sincos(float64(position) / math.Pow(500000, float64(i)/float64(len(row)/2)))
						row[i], row[i+len(row)/2] = float32(cos), float32(sin)
					}
				})
				random := rand.New(rand.NewPCG(1, 2))
				normal := func(dims ...int) *tensor.Tensor {
					x := make([]float32, dims[0]*dims[1]*dims[2])
					for i := range x {
						x[i] = float32(random.NormFloat64())
					}
					t, err := tensor.FromFloats(x, dims...)
					if err != nil {
						b.Fatal(err)
					}
					return t
				}
				kv := normal(s.slots, s.kvHeads, s.headDim)
				if err := c.Update(kv, kv); err != nil {
					b.Fatal(err)
				}
				if err := c.Observe(normal(s.slots, s.heads, s.headDim)); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if _, err := scorer.Score(c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
