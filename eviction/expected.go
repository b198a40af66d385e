package eviction

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/kvcache"
)

// A query q gives a key k the attention exp(q·k/√d), before the sum over all keys. If queries are normally distributed with mean μ and
// covariance Σ, its expectation is exp(k·μ/√d + kᵀΣk/2d). The policy takes μ and Σ from the latest queries, turned by RoPE to the mean of
// the positions to come, and keeps the slots with the largest expectations, weighted by the lengths of their values.
//
// A matrix product computes the logits: see probes. For d = 1, the latest queries 1 and 3, already rotated, and the key 0.5:
//
//	μ, Σ       2 and 1, so that the logit is 0.5·2 + 0.5²·1/2 = 1.125
//	probes     2 for μ; (1-2)/√4 = -0.5 and (3-2)/√4 = 0.5 for the queries
//	products   0.5·2 = 1, -0.25 and 0.25
//	logit      1 + 0.25² + 0.25² = 1.125

// What ExpectedAttention does if its options do not say otherwise.
const (
	expectedWindow = 64  // latest queries by which it chooses
	expectedFuture = 512 // queries to come that it expects: a power of 2, see futureRotation
	expectedSinks  = 4   // first slots that stay: models put attention there for want of anything better
)

// NewExpectedAttention makes the policy of Devoto, Jeblick and Jégou (arXiv 2510.00636): slots stay by the attention that the
// next 512 queries can be expected to give them, times the length of their values, in each KV head its own. Queries to come
// are taken to be normally distributed, before RoPE, as the latest ones were.
func NewExpectedAttention(o Options) (Policy, error) {
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

// expected is the Scorer of ExpectedAttention.
type expected struct{ window int }

func (expected) Name() string                 { return "expected" }
func (e expected) Tracking() kvcache.Tracking { return kvcache.Tracking{Queries: e.window} }
func (expected) Recent(int) int               { return 1 }

// Score is the mean over a KV head's query heads of softmax(k·μ/√d + kᵀΣk/2d), times |v|, where μ and Σ are the mean and the
// covariance of the latest queries, rotated by RoPE to the positions of the queries to come.
func (e expected) Score(view View) ([][]float32, error) {
	queries, err := e.queries(view)
	if err != nil {
		return nil, err
	}
	kvHeads, d := view.KVHeads(), view.HeadDim()
	group, stride := len(queries)/kvHeads, 0
	matrices := make([][]float32, kvHeads)
	for h := range matrices {
		matrices[h], stride = probes(queries[h*group:][:group], d)
	}
	product, err := newDeviceProduct(view.Backend(), matrices, d, min(expectedBatch, view.Len()))
	if err != nil {
		return nil, err
	}
	defer product.free()
	scores := make([][]float32, kvHeads)
	for h := range scores {
		if scores[h], err = expectedScores(view, h, product, group, stride); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// expectedScores is Score for one KV head. product multiplies by its group query heads' probes, of stride rows each.
func expectedScores(view View, head int, product *deviceProduct, group, stride int) ([]float32, error) {
	logits, lengths, err := expectedLogits(view, head, product, group, stride)
	if err != nil {
		return nil, err
	}
	n := len(lengths)
	if err := softmax(view.Backend(), logits, n); err != nil {
		return nil, err
	}
	mean := logits[:n] // over the query heads
	for i := 1; i < group; i++ {
		for slot, v := range logits[i*n:][:n] {
			mean[slot] += v
		}
	}
	for slot, v := range mean {
		lengths[slot] *= v / float32(group)
	}
	return lengths, nil
}

// queries returns the latest n queries, each rotated by RoPE from its position to the positions of the queries to come, by the mean
// of these rotations: [heads][n·d].
func (e expected) queries(view View) ([][]float32, error) {
	recent, err := view.RecentQueries(e.window)
	if err != nil {
		return nil, err
	}
	if len(recent) == 0 {
		return nil, fmt.Errorf("no queries were recorded")
	}
	d := view.HeadDim()
	queries := make([][]float32, len(recent[0])/d)
	forward, step := futureRotation(view.Rotation(), d), rotation(view.Rotation(), 1, d)
	for _, row := range slices.Backward(recent) { // each is a position farther from the future than the one after it
		forward = composed(forward, step)
		for h := range queries {
			queries[h] = append(queries[h], rotated(row[h*d:][:d], forward)...)
		}
	}
	return queries, nil
}

// rotation returns RoPE's rotation by a number of positions as the complex numbers by which it multiplies the pairs (i, i+d/2) of a
// head's elements.
func rotation(r kvcache.Rotation, position, d int) []complex128 {
	row, z := make([]float32, d), make([]complex128, d/2)
	r(row, position)
	for i := range z {
		z[i] = complex(float64(row[i]), float64(row[i+d/2]))
	}
	return z
}

// futureRotation returns the mean of the rotations by 0, 1, … expectedFuture-1 positions. With z the rotation by one position it
// is the product of (1+z)/2, (1+z²)/2, (1+z⁴)/2, …, up to the power expectedFuture/2.
func futureRotation(r kvcache.Rotation, d int) []complex128 {
	mean := rotation(r, 0, d)
	for step := 1; step < expectedFuture; step *= 2 {
		half := rotation(r, step, d)
		for i := range half {
			half[i] = (1 + half[i]) / 2
		}
		mean = composed(mean, half)
	}
	return mean
}

// composed returns the rotation by x and then by y: their products, element by element. The conversions to float64 keep the compiler
// from fusing multiplications and additions, so that the bits are the same on every processor.
func composed(x, y []complex128) []complex128 {
	z := make([]complex128, len(x))
	for i, x := range x {
		a, b, c, d := real(x), imag(x), real(y[i]), imag(y[i])
		z[i] = complex(float64(a*c)-float64(b*d), float64(a*d)+float64(b*c))
	}
	return z
}

// rotated returns a head's vector x after a rotation.
func rotated(x []float32, by []complex128) []float32 {
	y, half := make([]float32, len(x)), len(x)/2
	for i, z := range by {
		a, b, c, d := float64(x[i]), float64(x[i+half]), real(z), imag(z)
		y[i], y[i+half] = float32(float64(a*c)-float64(b*d)), float32(float64(a*d)+float64(b*c))
	}
	return y
}

// probesMultiple is the number of rows of a matrix that backends multiply together: a multiple of it needs no padding.
const probesMultiple = 16

// probes returns a matrix of rows of d numbers. Their products with a key k make its logits, for the queries of several heads [heads][n·d].
// Each head has stride = n+1 rows: first μ/√d, for the logit's first term; then (q-μ)/√2dn for each query q, because kᵀΣk/2d is the sum of
// the squares of their products. Rows of zeros fill the matrix up to a multiple of probesMultiple.
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

// expectedLogits returns k·μ/√d + kᵀΣk/2d for each slot of a KV head and each of its query heads, [group·HeadLen], and the length
// of each slot's value. It reads the slots once, expectedBatch at a time.
func expectedLogits(view View, kvHead int, product *deviceProduct, group, stride int) (logits, lengths []float32, err error) {
	d, n := view.HeadDim(), view.HeadLen(kvHead)
	logits, lengths = make([]float32, group*n), make([]float32, n)
	keys := make([]float32, 0, min(expectedBatch, n)*d) // those of the batch
	flush := func(end int) error {                      // computes the logits of the batch, which ends with slot end-1, and empties it
		products, err := product.multiply(kvHead, keys)
		if err != nil {
			return err
		}
		slots := len(keys) / d
		for head := range group {
			row := logits[head*n+end-slots:][:slots]
			for i := range row {
				p := products[i*len(products)/slots+head*stride:][:stride]
				row[i] = p[0] + squares(p[1:])
			}
		}
		keys = keys[:0]
		return nil
	}
	var failed error
	err = view.Each(kvHead, func(slot int, key, value []float32) {
		keys = append(keys, key...)
		lengths[slot] = float32(math.Sqrt(dot(value, value)))
		if failed == nil && (slot == n-1 || len(keys) == cap(keys)) {
			failed = flush(slot + 1)
		}
	})
	return logits, lengths, errors.Join(err, failed)
}

// squares returns the sum of the squares, summed in four lanes so that additions need not wait for each other.
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
