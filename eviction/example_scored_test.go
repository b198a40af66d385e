package eviction_test

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// everySecond prefers tokens at even positions.
type everySecond struct{}

func (everySecond) Name() string               { return "every second" }
func (everySecond) Tracking() kvcache.Tracking { return kvcache.Tracking{} } // positions are always recorded
func (everySecond) Recent(int) int             { return 1 }

func (everySecond) Score(v eviction.View) ([][]float32, error) {
	scores := make([]float32, v.Len())
	for slot, position := range v.Positions(0) {
		scores[slot] = float32(1 - position%2)
	}
	return [][]float32{scores}, nil // one row: the same slots for all heads
}

// To write a policy, write a Scorer, which says what slots are worth. Sessions take the policy as they take any other, as
// llama.SessionOptions.Eviction; here it chooses of a cache by itself.
func ExampleNewScored() {
	policy, err := eviction.NewScored(everySecond{}, eviction.Options{Budget: 8, ProtectedPrefix: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	cache := filled(16)
	defer cache.Free()
	keep, err := policy.Evict(cache, policy.Budget())
	fmt.Println(keep, err)
	fmt.Println(cache.Keep(keep), cache.Len(), "slots stay")
	// Output:
	// [[0 1 6 8 10 12 14 15]] <nil>
	// <nil> 8 slots stay
}

// filled makes a cache of a number of tokens, as a model fills it.
func filled(tokens int) *kvcache.Cache {
	cache, err := kvcache.NewStore(cpu.New(1), tokens, 2, 2, 64).New(tensor.F16, tokens)
	if err != nil {
		panic(err)
	}
	if err := cache.Track(kvcache.Tracking{}, 2, nil); err != nil {
		panic(err)
	}
	keys, err := tensor.FromFloats(make([]float32, tokens*2*64), tokens, 2, 64)
	if err != nil {
		panic(err)
	}
	if err := cache.Update(keys, keys); err != nil {
		panic(err)
	}
	return cache
}
