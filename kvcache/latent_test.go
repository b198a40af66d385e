package kvcache_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// without is a backend that does not take Latent slots.
type without struct{ *cpu.Backend }

func (without) KeepsLatents() bool { return false }

// latentSide is a cache of latent rows and its store.
type latentSide struct {
	store  *kvcache.Store
	caches []*kvcache.Cache
}

// TestLatent compares caches that have a row for each token with those that have it twice, through steps, copies, evictions, saved states and steps back: the
// bits of attention are equal, and the memory is half as much.
func TestLatent(t *testing.T) {
	const heads, dim = 4, 96
	device := cpu.New(2)
	defer device.Close()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	number := 0
	floats := func(dims ...int) *tensor.Tensor {
		x, err := tensor.New(device, tensor.F32, tensor.ShapeOf(dims...))
		ok(err)
		list, err := tensor.Mut[float32](x)
		ok(err)
		for i := range list {
			number++
			list[i] = float32(math.Sin(float64(number*number%9973))) * float32(1+i%7)
		}
		return x
	}
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0} {
		sides := [2]latentSide{}
		for i, b := range [...]backend.Backend{device, without{device}} {
			sides[i].store = kvcache.NewStore(b, 300, heads, 1, dim)
			c, err := sides[i].store.NewLayer(kvcache.Layer{KVHeads: 1, HeadDim: dim, Latent: true}, d, 600)
			ok(err)
			sides[i].caches = []*kvcache.Cache{c}
		}
		step := func(which, tokens int) {
			t.Helper()
			rows, q := floats(tokens, 1, dim), floats(tokens, heads, dim)
			var outs [2][]float32
			for i := range sides {
				c := sides[i].caches[which]
				ok(c.Reserve(tokens))
				b := single(c, tokens)
				k, out := floats(tokens, 1, dim), floats(tokens, heads, dim)
				ok(device.Run(backend.Copy(rows, k)))
				ok(b.Append(nil, k, rows, nil))
				ok(b.Attend(q, out))
				list, err := tensor.As[float32](out)
				ok(err)
				outs[i] = list
			}
			if !slices.Equal(outs[0], outs[1]) {
				t.Errorf("%v: cache %d, %d tokens more: attention differs", d, which, tokens)
			}
		}
		both := func(f func(s *latentSide)) {
			for i := range sides {
				f(&sides[i])
			}
		}
		step(0, 200)
		step(0, 1)
		if one, two := sides[0].store.Bytes(), sides[1].store.Bytes(); 2*one != two {
			t.Errorf("%v: %d bytes, and %d with rows twice", d, one, two)
		}
		both(func(s *latentSide) {
			c, err := s.caches[0].Clone()
			ok(err)
			s.caches = append(s.caches, c)
		})
		step(1, 3)
		both(func(s *latentSide) {
			var keep []int
			for slot := range s.caches[1].Len() {
				if slot < 4 || slot%3 == 0 {
					keep = append(keep, slot)
				}
			}
			ok(s.caches[1].Keep([][]int{keep}))
		})
		step(1, 70)
		step(0, 5) // the copy's evictions change nothing here
		var saved [2]bytes.Buffer
		for i := range sides { // a state goes from one kind of backend to the other
			ok(sides[i].caches[1].Save(&saved[i]))
		}
		for i := range sides {
			c, err := sides[i].store.NewLayer(kvcache.Layer{KVHeads: 1, HeadDim: dim, Latent: true}, d, 600)
			ok(err)
			ok(c.Restore(&saved[1-i]))
			sides[i].caches = append(sides[i].caches, c)
		}
		step(2, 1)
		both(func(s *latentSide) { ok(s.caches[0].Truncate(130)) })
		step(0, 129)
		both(func(s *latentSide) {
			for _, c := range s.caches {
				ok(c.Free())
			}
			ok(s.store.Free())
		})
	}
}
