package kvcache_test

import (
	"testing"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// BenchmarkStep measures what a layer's caches add to a decode step of 4 conversations, and takes the step back: of 8 slots each, so that
// the arithmetic of attention counts for little.
func BenchmarkStep(b *testing.B) {
	const heads, kvHeads, headDim, sessions = 32, 8, 64, 4
	for _, k := range []struct {
		name  string
		dtype tensor.DType
		track *kvcache.Tracking
		clone bool
	}{
		{"f16", tensor.F16, nil, false},
		{"f16 shared", tensor.F16, nil, true},
		{"f16 recorded", tensor.F16, &kvcache.Tracking{Queries: 4, Attention: true}, false},
		{"q4_0", tensor.Q4_0, nil, false},
	} {
		b.Run(k.name, func(b *testing.B) {
			ok := func(err error) {
				if err != nil {
					b.Fatal(err)
				}
			}
			device := cpu.New(1)
			defer device.Close()
			rows := func(n, heads int) *tensor.Tensor {
				t, err := tensor.FromFloats(make([]float32, n*heads*headDim), n, heads, headDim)
				ok(err)
				return t
			}
			store := kvcache.NewStore(device, sessions, heads, kvHeads, headDim)
			var caches [sessions]*kvcache.Cache
			for i := range caches {
				var err error
				caches[i], err = store.New(k.dtype, 64)
				ok(err)
				if k.track != nil {
					ok(caches[i].Track(*k.track, heads, nil))
				}
				ok(caches[i].Update(rows(3, kvHeads), rows(3, kvHeads)))
				ok(caches[i].Update(rows(4, kvHeads), rows(4, kvHeads)))
			}
			q, keys, out := rows(sessions, heads), rows(sessions, kvHeads), rows(sessions, heads)
			batch := kvcache.NewBatch(device)
			b.ReportAllocs()
			for b.Loop() {
				if k.clone {
					c, err := caches[0].Clone()
					ok(err)
					ok(caches[0].Free())
					caches[0] = c
				}
				batch.Reset()
				for _, c := range caches {
					batch.Add(c, 1)
				}
				ok(batch.Append(nil, keys, keys, nil))
				ok(batch.Attend(q, out))
				for _, c := range caches {
					ok(c.TakeBack(7))
				}
			}
		})
	}
}
