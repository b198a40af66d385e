package eviction

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/kvcache"
)

const (
	expectedWindow = 64
	expectedFuture = 512
	expectedSinks  = 4
)

// NewExpectedAttention makes the policy of Devoto, Jeblick and Jégou (arXiv 2510.00636): slots stay by the attention that the
// next 512 queries can be expected to give them, times the length of their values, in each KV head its own. Queries to come
// are taken to be normally distributed, before RoPE, as the latest ones were.
func NewExpectedAttention(o Options) (*Scored, error) {
	if o.Observation < 0 {
		return nil, fmt.Errorf("%w: expected with an observation window of %d queries: it must be positive", ErrOptions, o.Observation)
	}
	if o.Observation == 0 {
		o.Observation = expectedWindow
	}
	if o.ProtectedPrefix == 0 {
		o.ProtectedPrefix = min(expectedSinks, max(o.Budget-1, 0))
	}
	return NewScored(expected{o.Observation}, o)
}

type expected struct{ window int }

func (expected) Name() string                 { return "expected" }
func (e expected) Tracking() kvcache.Tracking { return kvcache.Tracking{Queries: e.window} }
func (expected) Recent(int) int               { return 1 }

// Score is the mean over a KV head's query heads of softmax(k·μ/√d + kᵀΣk/2d), times |v|, where μ and Σ are the mean and the
// covariance of queries turned by the mean of the rotations to come.
func (e expected) Score(c *kvcache.Cache) ([][]float32, error) {
	queries, heads, err := e.queries(c)
	if err != nil {
		return nil, err
	}
	kvHeads, d, n := c.KVHeads(), c.HeadDim(), c.Len()
	keys, lengths := make([][]float32, kvHeads), make([][]float32, kvHeads)
	err = c.Each(func(_ int, key, value []float32) {
		for h := range kvHeads {
			keys[h] = append(keys[h], key[h*d:][:d]...)
			lengths[h] = append(lengths[h], float32(math.Sqrt(dot(value[h*d:][:d], value[h*d:][:d]))))
		}
	})
	if err != nil {
		return nil, err
	}
	turn := meanRotation(c, d)
	scores := make([][]float32, kvHeads)
	for h := range scores {
		scores[h] = make([]float32, n)
		group := heads / kvHeads
		for head := h * group; head < (h+1)*group; head++ {
			mean, covariance := moments(queries, heads, head, d, turn)
			logits, err := expectedLogits(c, keys[h], mean, covariance)
			if err != nil {
				return nil, err
			}
			largest, total := math.Inf(-1), 0.0
			for _, v := range logits {
				largest = max(largest, v)
			}
			for i, v := range logits {
				logits[i] = math.Exp(v - largest)
				total += logits[i]
			}
			for i, v := range logits {
				scores[h][i] += float32(v/total) * lengths[h][i]
			}
		}
	}
	return scores, nil
}

// queries returns the latest queries as they were before RoPE, [n, heads, headDim], and the number of heads.
func (e expected) queries(c *kvcache.Cache) (x []float32, heads int, err error) {
	recent, err := c.RecentQueries(e.window)
	if err != nil {
		return nil, 0, err
	}
	if recent == nil {
		return nil, 0, fmt.Errorf("no queries were recorded")
	}
	if x, err = c.ReadFloats(recent); err != nil {
		return nil, 0, err
	}
	n, heads, d := recent.Shape().Dim(0), recent.Shape().Dim(1), recent.Shape().Dim(2)
	row := make([]float32, d)
	for i := range n {
		c.Rotation()(row, c.Seen()-n+i)
		for h := range heads {
			unrotate(x[(i*heads+h)*d:][:d], row)
		}
	}
	return x, heads, nil
}

// unrotate turns a head back by the angles of a row of cosines and sines.
func unrotate(x, row []float32) {
	half := len(x) / 2
	for i := range half {
		a, b, cos, sin := float64(x[i]), float64(x[i+half]), float64(row[i]), float64(row[i+half])
		x[i], x[i+half] = float32(float64(a*cos)+float64(b*sin)), float32(float64(b*cos)-float64(a*sin))
	}
}

// meanRotation averages the cosines and sines of the positions to come.
func meanRotation(c *kvcache.Cache, headDim int) []float64 {
	row, mean := make([]float32, headDim), make([]float64, headDim)
	for i := range expectedFuture {
		c.Rotation()(row, c.Seen()+i)
		for j, v := range row {
			mean[j] += float64(v) / expectedFuture
		}
	}
	return mean
}

// moments returns the mean and the covariance [d, d] of one head's queries, turned by the mean rotation.
func moments(queries []float32, heads, head, d int, turn []float64) (mean []float64, covariance []float32) {
	n := len(queries) / (heads * d)
	turned := make([]float64, n*d)
	mean = make([]float64, d)
	for i := range n {
		q, half := queries[(i*heads+head)*d:][:d], d/2
		for j := range half {
			a, b := float64(q[j]), float64(q[j+half])
			turned[i*d+j] = float64(a*turn[j]) - float64(b*turn[j+half])
			turned[i*d+j+half] = float64(b*turn[j]) + float64(a*turn[j+half])
		}
		for j := range d {
			mean[j] += turned[i*d+j] / float64(n)
		}
	}
	sums := make([]float64, d*d)
	for i := range n {
		x := turned[i*d:][:d]
		for j := range x {
			x[j] -= mean[j]
		}
		for j, a := range x {
			for k, b := range x {
				sums[j*d+k] += float64(a*b) / float64(n)
			}
		}
	}
	covariance = make([]float32, d*d)
	for i, v := range sums {
		covariance[i] = float32(v)
	}
	return mean, covariance
}

// expectedLogits returns k·μ/√d + kᵀΣk/2d for keys [n, d].
func expectedLogits(c *kvcache.Cache, keys []float32, mean []float64, covariance []float32) ([]float64, error) {
	d := len(mean)
	n := len(keys) / d
	products := make([]float32, len(keys)) // k·Σ
	if err := c.Multiply(keys, covariance, products, n, d); err != nil {
		return nil, err
	}
	logits := make([]float64, n)
	for i := range logits {
		k := keys[i*d:][:d]
		first, second := 0.0, dot(k, products[i*d:][:d])
		for j, v := range k {
			first += float64(float64(v) * mean[j])
		}
		logits[i] = first/math.Sqrt(float64(d)) + second/float64(2*d)
	}
	return logits, nil
}
