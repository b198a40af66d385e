package eviction

import (
	"math/rand/v2"

	"github.com/antigravity-go/antigravity/kvcache"
)

// NewRandom makes a policy that keeps the latest slot and others at random: what any other policy must be better than. The choice
// is the same for every cache with the same Seen and the same numbers of slots.
func NewRandom(o Options) (Policy, error) { return NewScored(random{}, o) }

// random is the Scorer of Random.
type random struct{}

func (random) Name() string               { return "random" }
func (random) Tracking() kvcache.Tracking { return kvcache.Tracking{} }
func (random) Recent(int) int             { return 1 }

// Score draws a number for each slot and head.
func (random) Score(v View) ([][]float32, error) {
	r := rand.New(rand.NewPCG(uint64(v.Seen()), uint64(v.Len())))
	scores := make([][]float32, v.KVHeads())
	for h := range scores {
		for range v.HeadLen(h) {
			scores[h] = append(scores[h], r.Float32())
		}
	}
	return scores, nil
}
