package eviction

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/kvcache"
)

const (
	expectedWindow = 64
	expectedFuture = 512 // a power of 2
	expectedSinks  = 4
)

// NewExpectedAttention makes the policy of Devoto, Jeblick and Jégou (arXiv 2510.00636): slots stay by the attention that the
// next 512 queries can be expected to give them, times the length of their values, in each KV head its own. Queries to come
// are taken to be normally distributed, before RoPE, as the latest ones were.
func NewExpectedAttention(o Options) (*Scored, error) {
	if o.Observation < 0 {
		return nil, fmt.Errorf("%w: expected with an observation window of %d queries: it must be positive", ErrOptions, o.Observation)
	}
	if o.Observation == 0 { // a cache has at least the budget's capacity, and records no more queries than that
		o.Observation = min(expectedWindow, max(o.Budget, 1))
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
// covariance of queries as they will be turned.
func (e expected) Score(c *kvcache.Cache) ([][]float32, error) {
	queries, err := e.queries(c)
	if err != nil {
		return nil, err
	}
	kvHeads, n := c.KVHeads(), c.Len()
	group := len(queries) / kvHeads
	scores := make([][]float32, kvHeads) // at first the lengths of values
	for h := range scores {
		scores[h] = make([]float32, n)
	}
	logits, err := expectedLogits(c, queries, scores)
	if err != nil {
		return nil, err
	}
	if err := softmax(c.Backend(), logits, n); err != nil {
		return nil, err
	}
	for h, lengths := range scores {
		mean := logits[h*group*n:][:n] // over the group's heads
		for head := 1; head < group; head++ {
			for slot, v := range logits[(h*group+head)*n:][:n] {
				mean[slot] += v
			}
		}
		for slot, v := range mean {
			lengths[slot] *= v / float32(group)
		}
	}
	return scores, nil
}

// queries returns the latest queries, turned on from their positions to the mean of the rotations to come: [heads][n·d].
func (e expected) queries(c *kvcache.Cache) ([][]float32, error) {
	recent, err := c.RecentQueries(e.window)
	if err != nil {
		return nil, err
	}
	if len(recent) == 0 {
		return nil, fmt.Errorf("no queries were recorded")
	}
	d := c.HeadDim()
	queries := make([][]float32, len(recent[0])/d)
	turn, step := futureRotation(c.Rotation(), d), rotation(c.Rotation(), 1, d)
	for _, row := range slices.Backward(recent) { // each is a position farther from the future than the one after it
		turn = product(turn, step)
		for h := range queries {
			queries[h] = append(queries[h], turned(row[h*d:][:d], turn)...)
		}
	}
	return queries, nil
}

// rotation returns what RoPE multiplies the pairs (i, i+d/2) of a head with, as complex numbers.
func rotation(r kvcache.Rotation, position, d int) []complex128 {
	row, z := make([]float32, d), make([]complex128, d/2)
	r(row, position)
	for i := range z {
		z[i] = complex(float64(row[i]), float64(row[i+d/2]))
	}
	return z
}

// futureRotation returns the mean of the rotations by 0, 1, … expectedFuture-1 positions: the product of the means of those
// by 0 and 1, by 0 and 2, by 0 and 4, ….
func futureRotation(r kvcache.Rotation, d int) []complex128 {
	mean := rotation(r, 0, d)
	for step := 1; step < expectedFuture; step *= 2 {
		half := rotation(r, step, d)
		for i := range half {
			half[i] = (1 + half[i]) / 2
		}
		mean = product(mean, half)
	}
	return mean
}

// product multiplies element by element; the conversions keep processors from fusing.
func product(x, y []complex128) []complex128 {
	z := make([]complex128, len(x))
	for i, x := range x {
		a, b, c, d := real(x), imag(x), real(y[i]), imag(y[i])
		z[i] = complex(float64(a*c)-float64(b*d), float64(a*d)+float64(b*c))
	}
	return z
}

// turned returns a head's vector, turned.
func turned(x []float32, turn []complex128) []float32 {
	y, half := make([]float32, len(x)), len(x)/2
	for i, z := range turn {
		a, b, c, d := float64(x[i]), float64(x[i+half]), real(z), imag(z)
		y[i], y[i+half] = float32(float64(a*c)-float64(b*d)), float32(float64(a*d)+float64(b*c))
	}
	return y
}

// probesMultiple is the number of rows of a matrix that backends multiply together: with a multiple of it none is padded.
const probesMultiple = 16

// probes returns the vectors [.., d] whose products with a key make its logits, for several heads' queries [heads][n·d]: of
// each head μ/√d, and then every query's (q-μ)/√2dn, because kᵀΣk is the mean of ((q-μ)·k)². Each head has stride of them;
// rows of zeros fill the matrix up to a multiple of probesMultiple.
func probes(queries [][]float32, d int) (rows []float32, stride int) {
	n := len(queries[0]) / d
	stride = n + 1
	rows = make([]float32, (len(queries)*stride+probesMultiple-1)/probesMultiple*probesMultiple*d)
	for h, x := range queries {
		head := rows[h*stride*d:][:stride*d]
		for j := range d {
			mean := 0.0
			for i := j; i < n*d; i += d {
				mean += float64(x[i]) / float64(n)
			}
			head[j] = float32(mean / math.Sqrt(float64(d)))
			for i := j; i < n*d; i += d {
				head[d+i] = float32((float64(x[i]) - mean) / math.Sqrt(float64(2*d*n)))
			}
		}
	}
	return rows, stride
}

// expectedBatch is how many slots are multiplied at once.
const expectedBatch = 512

// expectedLogits returns [heads, n], computed from a layer's keys by batches, and writes the lengths of values [kvHeads][n].
func expectedLogits(c *kvcache.Cache, queries, lengths [][]float32) ([]float32, error) {
	kvHeads, d, n := c.KVHeads(), c.HeadDim(), c.Len()
	group, stride := len(queries)/kvHeads, 0
	matrices, batch := make([][]float32, kvHeads), make([][]float32, kvHeads) // batch: [kvHeads][up to expectedBatch, d]
	for h := range matrices {
		matrices[h], stride = probes(queries[h*group:][:group], d)
		batch[h] = make([]float32, 0, min(expectedBatch, n)*d)
	}
	product, err := newDeviceProduct(c.Backend(), matrices, d, min(expectedBatch, n))
	if err != nil {
		return nil, err
	}
	defer product.free()
	logits := make([]float32, len(queries)*n)
	flush := func(end int) error { // multiplies the batch, of slots up to end
		for h, keys := range batch {
			products, err := product.multiply(h, keys)
			if err != nil {
				return err
			}
			slots := len(keys) / d
			for head := range group {
				row := logits[(h*group+head)*n+end-slots:][:slots]
				for i := range row {
					p := products[i*len(products)/slots+head*stride:][:stride]
					row[i] = p[0] + squares(p[1:])
				}
			}
			batch[h] = keys[:0]
		}
		return nil
	}
	var failed error
	err = c.Each(func(slot int, key, value []float32) {
		for h := range kvHeads {
			batch[h] = append(batch[h], key[h*d:][:d]...)
			v := value[h*d:][:d]
			lengths[h][slot] = float32(math.Sqrt(dot(v, v)))
		}
		if failed == nil && (slot == n-1 || len(batch[0]) == cap(batch[0])) {
			failed = flush(slot + 1)
		}
	})
	return logits, errors.Join(err, failed)
}

// squares returns the sum of the squares, in four lanes.
func squares(x []float32) float32 {
	var a, b, c, d float32
	for ; len(x) >= 4; x = x[4:] {
		a += float32(x[0] * x[0])
		b += float32(x[1] * x[1])
		c += float32(x[2] * x[2])
		d += float32(x[3] * x[3])
	}
	for _, v := range x {
		a += float32(v * v)
	}
	return (a + b) + (c + d)
}
