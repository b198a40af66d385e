package eviction

import "github.com/antigravity-go/antigravity/kvcache"

// NewH2O makes the heavy-hitter policy of arXiv 2306.14048: half of the slots are the latest, the others those that have
// received the most attention for each query that could see them, in each KV head its own.
func NewH2O(o Options) (*Scored, error) { return NewScored(h2o{}, o) }

type h2o struct{}

func (h2o) Name() string               { return "h2o" }
func (h2o) Tracking() kvcache.Tracking { return kvcache.Tracking{Attention: true} }
func (h2o) Recent(targetLen int) int   { return max(targetLen/2, 1) }

// Score divides what each slot has received by the number of queries that could see it.
func (h2o) Score(c *kvcache.Cache) ([][]float32, error) {
	sums, err := c.Received()
	if err != nil {
		return nil, err
	}
	for h, row := range sums {
		for slot, position := range c.Positions(h) {
			row[slot] /= float32(c.Seen() - int(position))
		}
	}
	return sums, nil
}
