package eviction

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/kvcache"
)

// Scorer says what slots are worth; NewScored makes a policy of it. A Scorer is stateless and safe for concurrent use.
type Scorer interface {
	// Name is the policy's name on command lines.
	Name() string
	// Tracking is what the cache must record for Score.
	Tracking() kvcache.Tracking
	// Recent returns how many of the latest slots stay, whatever their score, when targetLen slots stay in all. At least 1 stays.
	Recent(targetLen int) int
	// Score returns a number for each slot, [KVHeads][HeadLen], or one row [1][Len] if all heads of the layer are to keep the same
	// slots, which is possible if all heads have the same number of slots. The slots with the highest numbers stay. The caller may
	// change the slices.
	Score(v View) ([][]float32, error)
}

// Options are what policies have in common. A Budget must be given; the zero value of the others is a good default.
type Options struct {
	// Budget is the number of slots that stay after an eviction, in each layer and KV head, prefix and latest slots included. It is
	// the mean over the layers for PyramidKV, and the mean over a layer's KV heads for Ada.
	Budget int
	// ProtectedPrefix is the number of first slots that always stay; negative: no slots. 0 is the policy's default: DefaultPrefix for a
	// sliding window, 4 for ExpectedAttention, and no slots for the other policies: their scores show whether the first slots matter.
	ProtectedPrefix int
	// Observation is the number of latest queries by which SnapKV, PyramidKV and Ada (0: 32), ExpectedAttention (0: 64) and
	// KVzip (0: 8) choose.
	Observation int
}

// scored is a policy that keeps the slots of the highest scores.
type scored struct {
	Scorer
	budget, prefix int // 1 ≤ budget ≤ maxBudget, 0 ≤ prefix ≤ budget - Recent(budget)
}

// NewScored makes a policy of a scorer: the protected prefix and the latest slots stay, and of the slots between them those with the highest
// scores. Of equal scores the later slot stays; NaN is the lowest score. The policy is a Tracker.
func NewScored(s Scorer, o Options) (Policy, error) {
	p, err := newScored(s, o)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// newScored is NewScored for policies that add to a scored one.
func newScored(s Scorer, o Options) (*scored, error) {
	prefix := min(max(o.ProtectedPrefix, 0), maxBudget)
	switch recent := s.Recent(max(o.Budget, 1)); {
	case o.Budget < 1 || o.Budget > maxBudget:
		return nil, fmt.Errorf("%w: %s with a budget of %d slots: it must be 1 to %d", ErrOptions, s.Name(), o.Budget, maxBudget)
	case prefix > o.Budget-recent:
		return nil, fmt.Errorf("%w: %s with a budget of %d slots, of which the first %d and the latest %d always stay: the budget must be at least %d",
			ErrOptions, s.Name(), o.Budget, prefix, recent, prefix+recent)
	}
	return &scored{s, o.Budget, prefix}, nil
}

// Budget returns the slots that stay after an eviction.
func (s *scored) Budget() int { return s.budget }

// ShouldEvict reports whether the cache has outgrown the budget by slack(budget) slots: an eviction costs nearly the same for many
// slots as for one.
func (s *scored) ShouldEvict(v View, _ int64) bool {
	return v.Len() >= s.budget+slack(s.budget)
}

// Evict keeps the protected prefix, the latest slots, and of the slots between them those with the highest scores. Of equal scores
// the later slot stays; NaN is the lowest score.
func (s *scored) Evict(v View, targetLen int) ([][]int, error) {
	if err := checkTarget(s.Name(), targetLen); err != nil || v.Len() <= targetLen {
		return nil, err
	}
	prefix, recent := s.pins(targetLen)
	if prefix+recent == targetLen {
		return endsOfHeads(v, targetLen, prefix), nil
	}
	scores, err := s.scores(v)
	if err != nil {
		return nil, err
	}
	keep := make([][]int, len(scores))
	for h, row := range scores {
		keep[h] = highest(row, prefix, recent, targetLen)
	}
	return keep, nil
}

// pins returns how many of the first and of the latest slots stay whatever their scores, of targetLen: the latest go first if
// there is no room for both. At least one is the latest.
func (s *scored) pins(targetLen int) (prefix, recent int) {
	recent = min(max(s.Recent(targetLen), 1), targetLen)
	return min(s.prefix, targetLen-recent), recent
}

// scores returns the scores of all slots after a check that there are as many as View has slots.
func (s *scored) scores(v View) ([][]float32, error) {
	scores, err := s.Score(v)
	switch {
	case err != nil:
		return nil, fmt.Errorf("eviction: %s: %w", s.Name(), err)
	case len(scores) != 1 && len(scores) != v.KVHeads():
		return nil, fmt.Errorf("eviction: %s scored %d heads of %d", s.Name(), len(scores), v.KVHeads())
	case len(scores) == 1 && !even(v):
		return nil, fmt.Errorf("eviction: %s scored the slots of all heads by one row: the heads have different numbers of slots, up to %d, and need a row each",
			s.Name(), v.Len())
	}
	for h, row := range scores {
		if len(row) != v.HeadLen(h) {
			return nil, fmt.Errorf("eviction: %s scored %d slots of %d", s.Name(), len(row), v.HeadLen(h))
		}
	}
	return scores, nil
}

// highest lists n slots in order, or all if there are no more: the first prefix slots, the latest recent slots, and of the slots
// between them those with the highest scores. Of equal scores the later slot stays; NaN is the lowest score.
func highest(scores []float32, prefix, recent, n int) []int {
	if len(scores) <= n {
		return ends(len(scores), n, 0)
	}
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
