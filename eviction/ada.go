package eviction

import (
	"fmt"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/internal/selection"
)

// ada shares a layer's slots out among its KV heads by what the slots are worth.
type ada struct{ *scored }

// adaFloorShare says how much is safe from the other heads: each head keeps a fifth of what it would have if all heads had the same,
// the protected prefix and the latest slots apart. It is the authors' safeguard α = 0.2.
const adaFloorShare = 5

// NewAda makes the policy of AdaKV, arXiv 2407.11550, over a scorer's scores: a head that attends to few slots leaves its share of the
// layer's slots to a head that attends to many. Options.Budget is the mean over the heads. The scores must be comparable between heads, as
// attention is, and in a row for each KV head. A nil scorer stands for SnapKV's, with Options.Observation. The policy is Headed.
func NewAda(s Scorer, o Options) (Policy, error) {
	if s == nil {
		snapKV, err := newSnapKV("ada", o)
		if err != nil {
			return nil, err
		}
		s = snapKV
	}
	scored, err := newScored(s, o)
	if err != nil {
		return nil, err
	}
	return &ada{scored}, nil
}

// HeadSlots returns the most slots that one head can hold while the mean of the KV heads is meanLen: all but one of each other head.
func (*ada) HeadSlots(kvHeads, meanLen int) int {
	most := int64(kvHeads)*int64(meanLen-1) + 1
	return int(min(most, math.MaxInt32/2)) // an int of 32 bits has room for some slots more
}

// ShouldEvict reports whether the mean of the heads has outgrown the budget by slack(budget) slots.
func (a *ada) ShouldEvict(v View, _ int64) bool {
	return usedSlots(v)/v.KVHeads() >= a.budget+slack(a.budget)
}

// Evict keeps targetLen slots in the mean of the heads: in every head the protected prefix, the latest slots and the slots of the
// highest scores up to the head's floor, and of all other slots those with the highest scores, in whichever head. Of equal scores
// the slot of the later head stays, and in one head the later slot; NaN is the lowest score.
func (a *ada) Evict(v View, targetLen int) ([][]int, error) {
	heads, used := v.KVHeads(), usedSlots(v)
	if err := checkTarget(a.Name(), targetLen); err != nil || (used+heads-1)/heads <= targetLen {
		return nil, err
	}
	prefix, recent := a.pins(targetLen)
	if prefix+recent == targetLen {
		return endsOfHeads(v, targetLen, prefix), nil
	}
	scores, err := a.scores(v)
	if err != nil {
		return nil, err
	}
	if len(scores) != heads {
		return nil, fmt.Errorf("eviction: %s scored all %d heads by one row: to share slots out it needs a row for each", a.Name(), heads)
	}
	floor := prefix + recent + (targetLen-prefix-recent)/adaFloorShare
	keep, rivals := make([][]int, heads), make([][]int, heads) // slots of each head that stay, and that compete for the rest
	left := targetLen * heads
	var contest []float32 // the rivals' scores, head by head
	for h, row := range scores {
		keep[h] = highest(row, prefix, recent, floor)
		rivals[h] = without(len(row), keep[h])
		for _, slot := range rivals[h] {
			contest = append(contest, row[slot])
		}
		left -= len(keep[h])
	}
	winners, first := selection.WithoutSmallest(nil, contest, len(contest)-left), 0
	for h := range keep { // winners ascend, so that those of the first heads come first
		end := first + len(rivals[h])
		for len(winners) > 0 && winners[0] < end {
			keep[h] = append(keep[h], rivals[h][winners[0]-first])
			winners = winners[1:]
		}
		slices.Sort(keep[h])
		first = end
	}
	return keep, nil
}

// without lists the slots 0 … n-1 that an ascending list does not have.
func without(n int, list []int) []int {
	others := make([]int, 0, n-len(list))
	for slot := range n {
		if len(list) > 0 && list[0] == slot {
			list = list[1:]
			continue
		}
		others = append(others, slot)
	}
	return others
}
