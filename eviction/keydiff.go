package eviction

import (
	"math"

	"github.com/antigravity-go/antigravity/kvcache"
)

// NewKeyDiff makes the policy of arXiv 2504.15364: keys that are like the others go, in each KV head its own. It looks at
// nothing but the keys, so it costs nothing until it evicts.
func NewKeyDiff(o Options) (*Scored, error) { return NewScored(keyDiff{}, o) }

type keyDiff struct{}

func (keyDiff) Name() string               { return "keydiff" }
func (keyDiff) Tracking() kvcache.Tracking { return kvcache.Tracking{} }
func (keyDiff) Recent(int) int             { return 1 }

// Score is minus the cosine between a key and the mean of all keys at unit length.
func (keyDiff) Score(c *kvcache.Cache) ([][]float32, error) {
	heads, d := c.KVHeads(), c.HeadDim()
	mean := make([]float32, heads*d) // its length does not change the order
	sums := make([]float64, heads*d)
	err := c.EachKey(func(_ int, key []float32) {
		for h := range heads {
			k := key[h*d:][:d]
			if length := math.Sqrt(dot(k, k)); length > 0 {
				for i, v := range k {
					sums[h*d+i] += float64(v) / length
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for i, v := range sums {
		mean[i] = float32(v / float64(c.Len()))
	}
	scores := make([][]float32, heads)
	for h := range scores {
		scores[h] = make([]float32, c.Len())
	}
	// The keys are read twice, because there may be no memory to keep them.
	err = c.EachKey(func(slot int, key []float32) {
		for h := range heads {
			k := key[h*d:][:d]
			if length := math.Sqrt(dot(k, k)); length > 0 {
				scores[h][slot] = float32(-dot(k, mean[h*d:][:d]) / length)
			}
		}
	})
	return scores, err
}

// dot returns the inner product.
func dot(x, y []float32) (sum float64) {
	for i, v := range x {
		sum += float64(float64(v) * float64(y[i]))
	}
	return sum
}
