package eviction

import (
	"fmt"

	"github.com/antigravity-go/antigravity/kvcache"
)

const (
	snapKVWindow = 32 // latest queries by which SnapKV chooses if Options.Observation is 0
	snapKVPool   = 5  // neighbouring slots over which attention is averaged
)

// NewSnapKV makes the policy of arXiv 2404.14469: the slots stay that get the most attention from the latest queries, the
// observation window, averaged over neighbouring slots; and so do the window's own slots. Each KV head keeps its own slots.
func NewSnapKV(o Options) (Policy, error) {
	s, err := newSnapKV("snapkv", o)
	if err != nil {
		return nil, err
	}
	return NewScored(s, o)
}

// newSnapKV makes the Scorer of SnapKV, or of a policy of another name that scores likewise.
func newSnapKV(name string, o Options) (snapKV, error) {
	if o.Observation < 0 {
		return snapKV{}, fmt.Errorf("%w: %s with an observation window of %d queries: it must be positive", ErrOptions, name, o.Observation)
	}
	s := snapKV{name, o.Observation}
	if s.window == 0 {
		s.window = snapKVWindow
		if o.Budget > 0 { // the window takes no more than half of a small budget
			s.window = min(s.window, max(o.Budget/2, 1))
		}
	}
	return s, nil
}

// snapKV is the Scorer of SnapKV, PyramidKV and Ada.
type snapKV struct {
	name   string
	window int // latest queries by which it chooses, and latest slots that stay
}

func (s snapKV) Name() string               { return s.name }
func (s snapKV) Tracking() kvcache.Tracking { return kvcache.Tracking{Queries: s.window} }
func (s snapKV) Recent(int) int             { return s.window }

// Score is the attention that the window's queries give to a slot, averaged over snapKVPool neighbouring slots before the window.
// Neighbours beyond the first and the last of these slots count as getting no attention.
func (s snapKV) Score(v View) ([][]float32, error) {
	sums, queries, err := v.RecentAttention(s.window)
	if err != nil {
		return nil, err
	}
	if queries == 0 {
		return nil, fmt.Errorf("no queries were recorded")
	}
	for h, row := range sums {
		before := row[:max(len(row)-s.window, 0)]
		sums[h] = append(pool(before, snapKVPool), row[len(before):]...)
	}
	return sums, nil
}

// pool returns, for each element, the mean of the width elements around it; elements beyond the ends of x count as 0.
func pool(x []float32, width int) []float32 {
	y := make([]float32, len(x))
	for i := range x {
		var sum float32
		for _, v := range x[max(i-width/2, 0):min(i+width/2+1, len(x))] {
			sum += v
		}
		y[i] = sum / float32(width)
	}
	return y
}
