package eviction

import "fmt"

// DefaultPrefix is the number of first tokens that a sliding window protects by default. Models give these tokens, the attention
// sinks, the attention for which they find nothing better, and fail without them.
const DefaultPrefix = 4

// slidingWindow keeps the first tokens and the latest.
type slidingWindow struct {
	window, prefix int // 1 ≤ window ≤ maxBudget/2, 0 ≤ prefix ≤ window
}

// NewSlidingWindow makes a policy that keeps the first protectedPrefix tokens and at least the latest window tokens, and forgets the tokens
// between (StreamingLLM, arXiv 2309.17453). It needs no record and no arithmetic. The policy is Contiguous.
func NewSlidingWindow(window, protectedPrefix int) (Policy, error) {
	switch {
	case window < 1 || window > maxBudget/2:
		return nil, fmt.Errorf("%w: a sliding window of %d tokens: it must be 1 to %d", ErrOptions, window, maxBudget/2)
	case protectedPrefix < 0 || protectedPrefix > window:
		return nil, fmt.Errorf("%w: a sliding window of %d tokens that protects the first %d: protect 0 to %d", ErrOptions, window, protectedPrefix, window)
	}
	return &slidingWindow{window, protectedPrefix}, nil
}

// Name returns "sliding".
func (*slidingWindow) Name() string { return "sliding" }

// Budget returns the window and the protected prefix.
func (s *slidingWindow) Budget() int { return s.window + s.prefix }

// ProtectedPrefix returns how many first tokens stay.
func (s *slidingWindow) ProtectedPrefix() int { return s.prefix }

// ShouldEvict reports whether the cache has outgrown the budget by slack(budget) slots: moving the others costs the same whether one
// slot goes or many.
func (s *slidingWindow) ShouldEvict(v View, _ int64) bool {
	return v.Len() >= s.Budget()+slack(s.Budget())
}

// Evict gives up the oldest tokens behind the prefix.
func (s *slidingWindow) Evict(v View, targetLen int) ([][]int, error) {
	if err := checkTarget(s.Name(), targetLen); err != nil || v.Len() <= targetLen {
		return nil, err
	}
	return endsOfHeads(v, targetLen, s.prefix), nil
}

// endsOfHeads returns the lists of targetLen slots that stay in the heads: the first prefix slots, or fewer if there would be no
// room for the latest slot, and then the latest slots.
func endsOfHeads(v View, targetLen, prefix int) [][]int {
	prefix = min(prefix, targetLen-1)
	if even(v) {
		return [][]int{ends(v.Len(), targetLen, prefix)}
	}
	lists := make([][]int, v.KVHeads())
	for h := range lists {
		lists[h] = ends(v.HeadLen(h), targetLen, prefix)
	}
	return lists
}

// ends lists targetLen of n slots, or all if there are no more: the first prefix slots and then the latest.
func ends(n, targetLen, prefix int) []int {
	targetLen = min(targetLen, n)
	prefix = min(prefix, targetLen)
	slots := make([]int, 0, targetLen)
	for slot := range prefix {
		slots = append(slots, slot)
	}
	for slot := n - (targetLen - prefix); slot < n; slot++ {
		slots = append(slots, slot)
	}
	return slots
}
