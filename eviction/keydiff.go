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
	keys := make([]float32, c.Len()*heads*d) // of unit length
	mean := make([]float64, heads*d)
	err := c.Each(func(slot int, key, _ []float32) {
		for h := range heads {
			k, unit := key[h*d:][:d], keys[(slot*heads+h)*d:][:d]
			length := math.Sqrt(dot(k, k))
			for i, v := range k {
				if length > 0 {
					unit[i] = float32(float64(v) / length)
				}
				mean[h*d+i] += float64(unit[i])
			}
		}
	})
	if err != nil {
		return nil, err
	}
	direction := make([]float32, heads*d) // of the mean; its length does not change the order
	for i, v := range mean {
		direction[i] = float32(v / float64(c.Len()))
	}
	scores := make([][]float32, heads)
	for h := range scores {
		scores[h] = make([]float32, c.Len())
		for slot := range scores[h] {
			scores[h][slot] = float32(-dot(keys[(slot*heads+h)*d:][:d], direction[h*d:][:d]))
		}
	}
	return scores, nil
}

// dot returns the inner product.
func dot(x, y []float32) (sum float64) {
	for i, v := range x {
		sum += float64(float64(v) * float64(y[i]))
	}
	return sum
}
