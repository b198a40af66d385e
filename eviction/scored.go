package eviction

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/kvcache"
)

// Scorer says what slots are worth: all that a new policy has to bring. It is stateless and safe for concurrent use.
type Scorer interface {
	// Name is the policy's name on command lines.
	Name() string
	// Tracking is what the cache must record for Score.
	Tracking() kvcache.Tracking
	// Recent returns how many of the latest slots stay whatever their score, when targetLen slots stay in all; at least 1.
	Recent(targetLen int) int
	// Score returns a number for each slot, the higher the better: [kvHeads][Len], or one row where all heads of the layer
	// are to keep the same slots. The slices become the caller's.
	Score(c *kvcache.Cache) ([][]float32, error)
}

// Options are what policies have in common.
type Options struct {
	// Budget is the number of slots that stay after an eviction, in each layer and KV head, prefix and latest slots included.
	Budget int
	// ProtectedPrefix is the number of first slots that always stay. 0 is the policy's default, DefaultPrefix for a sliding
	// window and none for policies that score, which find out what matters; negative: none.
	ProtectedPrefix int
	// Observation is the number of latest queries by which SnapKV and PyramidKV (0: 32) and ExpectedAttention (0: 64) choose.
	Observation int
}

// Scored is a policy that keeps the slots of the highest scores.
type Scored struct {
	Scorer
	budget, prefix int
}

// NewScored makes a policy of a scorer.
func NewScored(s Scorer, o Options) (*Scored, error) {
	prefix := min(max(o.ProtectedPrefix, 0), maxBudget)
	switch recent := s.Recent(max(o.Budget, 1)); {
	case o.Budget < 1 || o.Budget > maxBudget:
		return nil, fmt.Errorf("%w: %s with a budget of %d slots: it must be 1 to %d", ErrOptions, s.Name(), o.Budget, maxBudget)
	case prefix > o.Budget-recent:
		return nil, fmt.Errorf("%w: %s with a budget of %d slots, of which the first %d and the latest %d always stay: the budget must be at least %d",
			ErrOptions, s.Name(), o.Budget, prefix, recent, prefix+recent)
	}
	return &Scored{s, o.Budget, prefix}, nil
}

// Budget returns the slots that stay after an eviction.
func (s *Scored) Budget() int { return s.budget }

// ShouldEvict tells whether the cache has outgrown the budget; choosing pays for a few slots at a time only.
func (s *Scored) ShouldEvict(c *kvcache.Cache, _ int64) bool {
	return c.Len() >= s.budget+slack(s.budget)
}

// Evict keeps the protected prefix, the latest slots, and between them those of the highest scores, the later of
// equals; a NaN is the lowest score.
func (s *Scored) Evict(c *kvcache.Cache, targetLen int) error {
	if shrink, err := checkTarget(s.Name(), c, targetLen); err != nil || !shrink {
		return err
	}
	recent := min(max(s.Recent(targetLen), 1), targetLen)
	prefix := min(s.prefix, targetLen-recent)
	if prefix+recent == targetLen {
		return c.Keep(pinned(c.Len(), targetLen, prefix))
	}
	scores, err := s.Score(c)
	if err != nil {
		return fmt.Errorf("eviction: %s: %w", s.Name(), err)
	}
	keep := make([][]int, len(scores))
	for h, row := range scores {
		if len(row) != c.Len() {
			return fmt.Errorf("eviction: %s scored %d slots of %d", s.Name(), len(row), c.Len())
		}
		keep[h] = highest(row, prefix, recent, targetLen)
	}
	switch len(keep) {
	case 1:
		return c.Keep(keep[0])
	case c.KVHeads():
		return c.KeepPerHead(keep)
	}
	return fmt.Errorf("eviction: %s scored %d heads of %d", s.Name(), len(keep), c.KVHeads())
}

// highest lists n slots in order: the first prefix, the latest recent, and between them those of the highest scores, the later
// of equals: the lowest go, NaN before them, and of equals the earlier.
func highest(scores []float32, prefix, recent, n int) []int {
	slots := make([]int, 0, n)
	for slot := range prefix {
		slots = append(slots, slot)
	}
	slots = selection.WithoutSmallest(slots, scores[prefix:len(scores)-recent], len(scores)-n)
	for i := range slots[prefix:] {
		slots[prefix+i] += prefix
	}
	for slot := len(scores) - recent; slot < len(scores); slot++ {
		slots = append(slots, slot)
	}
	return slots
}
