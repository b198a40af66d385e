package eviction

import (
	"math"

	"github.com/antigravity-go/antigravity/kvcache"
)

// NewKeyDiff makes the policy of arXiv 2504.15364: it gives up the slots with the keys most like the other keys. Each KV head keeps its own
// slots. KeyDiff looks at nothing but the keys, so that it costs nothing until it evicts.
func NewKeyDiff(o Options) (Policy, error) { return NewScored(keyDiff{}, o) }

// keyDiff is the Scorer of KeyDiff.
type keyDiff struct{}

func (keyDiff) Name() string               { return "keydiff" }
func (keyDiff) Tracking() kvcache.Tracking { return kvcache.Tracking{} }
func (keyDiff) Recent(int) int             { return 1 }

// Score is minus the cosine between a key and the mean of all keys at unit length.
func (keyDiff) Score(v View) ([][]float32, error) {
	scores := make([][]float32, v.KVHeads())
	for h := range scores {
		var err error
		if scores[h], err = keyDifferences(v, h); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// keyDifferences is Score for one KV head.
func keyDifferences(view View, head int) ([]float32, error) {
	scores, sum := make([]float32, view.HeadLen(head)), make([]float64, view.HeadDim())
	err := view.EachKey(head, func(slot int, key []float32) {
		length := math.Sqrt(dot(key, key))
		if length == 0 {
			return
		}
		factor := 1 / length
		for i, v := range key {
			sum[i] += float64(float64(v) * factor)
		}
		scores[slot] = float32(factor) // 1/|k| for now: the cosine's other factors follow below
	})
	if err != nil {
		return nil, err
	}
	mean := make([]float32, len(sum)) // its length does not change the order
	for i, v := range sum {
		mean[i] = float32(v / float64(len(scores)))
	}
	// The keys are read twice, because there may be no memory to keep them.
	err = view.EachKey(head, func(slot int, key []float32) {
		scores[slot] *= float32(-dot(key, mean))
	})
	return scores, err
}

// dot returns the inner product, summed in four lanes so that additions need not wait for each other.
func dot(x, y []float32) float64 {
	var a, b, c, d float64
	y = y[:len(x)]
	for ; len(x) >= 4; x, y = x[4:], y[4:] {
		a += float64(float64(x[0]) * float64(y[0]))
		b += float64(float64(x[1]) * float64(y[1]))
		c += float64(float64(x[2]) * float64(y[2]))
		d += float64(float64(x[3]) * float64(y[3]))
	}
	for i, v := range x {
		a += float64(float64(v) * float64(y[i]))
	}
	return (a + b) + (c + d)
}
