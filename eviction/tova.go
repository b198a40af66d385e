package eviction

import (
	"fmt"

	"github.com/antigravity-go/antigravity/kvcache"
)

// NewTOVA makes the policy of arXiv 2401.06104: it gives up the slots that get the least attention from the latest query, by the mean over
// all heads of the layer. All heads keep the same slots, unless they already have different numbers of slots, as Ada leaves them.
func NewTOVA(o Options) (Policy, error) { return NewScored(tova{}, o) }

// tova is the Scorer of TOVA.
type tova struct{}

func (tova) Name() string               { return "tova" }
func (tova) Tracking() kvcache.Tracking { return kvcache.Tracking{Queries: 1} }
func (tova) Recent(int) int             { return 1 }

// Score adds up the latest query's attention over the heads.
func (tova) Score(v View) ([][]float32, error) {
	sums, queries, err := v.RecentAttention(1)
	if err != nil {
		return nil, err
	}
	if queries == 0 {
		return nil, fmt.Errorf("no query was recorded")
	}
	if !even(v) {
		return sums, nil
	}
	for _, row := range sums[1:] {
		for slot, weight := range row {
			sums[0][slot] += weight
		}
	}
	return sums[:1], nil
}
