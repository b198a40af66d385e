package eviction

import (
	"math"

	"github.com/antigravity-go/antigravity/kvcache"
)

// NewKeyDiff makes the policy of arXiv 2504.15364: the slots go whose keys are most like the other keys. Each KV head
// keeps its own slots. KeyDiff looks at nothing but the keys, so that it costs nothing until it evicts.
func NewKeyDiff(o Options) (*Scored, error) { return NewScored(keyDiff{}, o) }

// keyDiff is the Scorer of KeyDiff.
type keyDiff struct{}

func (keyDiff) Name() string               { return "keydiff" }
func (keyDiff) Tracking() kvcache.Tracking { return kvcache.Tracking{} }
func (keyDiff) Recent(int) int             { return 1 }

// Score is minus the cosine between a key and the mean of all keys at unit length.
func (keyDiff) Score(c *kvcache.Cache) ([][]float32, error) {
	heads, d := c.KVHeads(), c.HeadDim()
	scores := make([][]float32, heads)
	for h := range scores {
		scores[h] = make([]float32, c.Len())
	}
	sums := make([]float64, heads*d)
	err := c.EachKey(func(slot int, key []float32) {
		for h := range heads {
			k := key[h*d:][:d]
			length := math.Sqrt(dot(k, k))
			if length == 0 {
				continue
			}
			factor, sum := 1/length, sums[h*d:][:d]
			for i, v := range k {
				sum[i] += float64(float64(v) * factor)
			}
			scores[h][slot] = float32(factor) // 1/|k| for now: the cosine's other factors follow below
		}
	})
	if err != nil {
		return nil, err
	}
	mean := make([]float32, heads*d) // its length does not change the order
	for i, v := range sums {
		mean[i] = float32(v / float64(c.Len()))
	}
	// The keys are read twice, because there may be no memory to keep them.
	err = c.EachKey(func(slot int, key []float32) {
		for h := range heads {
			scores[h][slot] *= float32(-dot(key[h*d:][:d], mean[h*d:][:d]))
		}
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
