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

// BenchmarkEvict measures an eviction in one layer: of Pebble's shape, from 288 slots to 144, and of Llama 3.2 1B's, which has
// 16 such layers, from 4096 to 1024.
func BenchmarkEvict(b *testing.B) {
	device := cpu.New(2)
	defer device.Close()
	for _, s := range []benchShape{{288, 144, 4, 2, 64}, {4096, 1024, 32, 8, 64}} {
		for _, name := range eviction.Names()[1:] {
			b.Run(fmt.Sprintf("%s/%d_to_%d_slots_%dx%dx%d", name, s.slots, s.target, s.heads, s.kvHeads, s.headDim), func(b *testing.B) {
				p, err := eviction.ByName(name, eviction.Options{Budget: s.target})
				if err != nil {
					b.Fatal(err)
				}
				full := s.fill(b, device, p)
				defer full.Free()
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					c, err := full.Clone()
					if err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
					keep, err := p.Evict(c, s.target)
					if err == nil {
						err = c.Keep(keep)
					}
					if err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					c.Free()
					b.StartTimer()
				}
			})
		}
	}
}

type benchShape struct{ slots, target, heads, kvHeads, headDim int }

// fill makes a full cache of random keys, with the record that a policy wants.
func (s benchShape) fill(b *testing.B, device *cpu.Backend, p eviction.Policy) *kvcache.Cache {
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	c, err := kvcache.NewStore(device, s.slots, s.heads, s.kvHeads, s.headDim).New(tensor.F16, s.slots)
	check(err)
	if t, ok := p.(eviction.Tracker); ok {
		check(c.Track(t.Tracking(), s.heads, func(row []float32, position int) {
			for i := range row[:len(row)/2] {
				sin, cos := math.Sincos(float64(position) / math.Pow(500000, float64(i)/float64(len(row)/2)))
				row[i], row[i+len(row)/2] = float32(cos), float32(sin)
			}
		}))
	}
	random := rand.New(rand.NewPCG(1, 2))
	normal := func(dims ...int) *tensor.Tensor {
		x := make([]float32, dims[0]*dims[1]*dims[2])
		for i := range x {
			x[i] = float32(random.NormFloat64())
		}
		t, err := tensor.FromFloats(x, dims...)
		check(err)
		return t
	}
	kv := normal(s.slots, s.kvHeads, s.headDim)
	check(c.Update(kv, kv))
	batch := kvcache.NewBatch(device)
	batch.Add(c, s.slots)
	check(batch.Attend(normal(s.slots, s.heads, s.headDim), normal(s.slots, s.heads, s.headDim))) // which records the queries
	return c
}
