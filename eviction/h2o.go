package eviction

import "github.com/antigravity-go/antigravity/kvcache"

// NewH2O makes the heavy-hitter policy of arXiv 2306.14048: half of the slots that stay are the latest, the other half
// are those with the most attention per query that could see them. Each KV head keeps its own slots.
func NewH2O(o Options) (Policy, error) { return NewScored(h2o{}, o) }

// h2o is the Scorer of H2O.
type h2o struct{}

func (h2o) Name() string               { return "h2o" }
func (h2o) Tracking() kvcache.Tracking { return kvcache.Tracking{Attention: true} }
func (h2o) Recent(targetLen int) int   { return max(targetLen/2, 1) }

// Score divides what each slot has received by the number of queries that could see it.
func (h2o) Score(v View) ([][]float32, error) {
	sums, err := v.Received()
	if err != nil {
		return nil, err
	}
	for h, row := range sums {
		for slot, position := range v.Positions(h) {
			row[slot] /= float32(v.Seen() - int(position))
		}
	}
	return sums, nil
}
