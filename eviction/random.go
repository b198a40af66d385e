package eviction

import (
	"math/rand/v2"

	"github.com/antigravity-go/antigravity/kvcache"
)

// NewRandom makes a policy that keeps the latest slot and others at random: what any other policy must be better than. The choice
// is the same for every cache with the same Len and Seen.
func NewRandom(o Options) (*Scored, error) { return NewScored(random{}, o) }

// random is the Scorer of Random.
type random struct{}

func (random) Name() string               { return "random" }
func (random) Tracking() kvcache.Tracking { return kvcache.Tracking{} }
func (random) Recent(int) int             { return 1 }

// Score draws a number for each slot and head.
func (random) Score(c *kvcache.Cache) ([][]float32, error) {
	r := rand.New(rand.NewPCG(uint64(c.Seen()), uint64(c.Len())))
	scores := make([][]float32, c.KVHeads())
	for h := range scores {
		for range c.Len() {
			scores[h] = append(scores[h], r.Float32())
		}
	}
	return scores, nil
}
