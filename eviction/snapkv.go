package eviction

import (
	"fmt"

	"github.com/antigravity-go/antigravity/kvcache"
)

const (
	snapKVWindow = 32
	snapKVPool   = 5
)

// NewSnapKV makes the policy of arXiv 2404.14469: what the latest queries attend to, smoothed over neighbours, stays, in each
// KV head its own; and the window of these queries itself.
func NewSnapKV(o Options) (*Scored, error) {
	s, err := newSnapKV("snapkv", o)
	if err != nil {
		return nil, err
	}
	return NewScored(s, o)
}

func newSnapKV(name string, o Options) (snapKV, error) {
	if o.Observation < 0 {
		return snapKV{}, fmt.Errorf("%w: %s with an observation window of %d queries: it must be positive", ErrOptions, name, o.Observation)
	}
	s := snapKV{name, o.Observation}
	if s.window == 0 {
		s.window = snapKVWindow
		if o.Budget > 0 { // a small budget is not all window
			s.window = min(s.window, max(o.Budget/2, 1))
		}
	}
	return s, nil
}

type snapKV struct {
	name   string
	window int
}

func (s snapKV) Name() string               { return s.name }
func (s snapKV) Tracking() kvcache.Tracking { return kvcache.Tracking{Queries: s.window} }
func (s snapKV) Recent(int) int             { return s.window }

// Score averages the attention of the window's queries to the slots before it over five neighbours; beyond the ends it is 0.
func (s snapKV) Score(c *kvcache.Cache) ([][]float32, error) {
	sums, queries, err := c.RecentAttention(s.window)
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

// pool averages over width neighbours, of which those beyond the ends are 0.
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
