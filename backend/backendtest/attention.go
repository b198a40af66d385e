package backendtest

import (
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/tensor"
)

// heads is the shape of an attention: of the tokens that are computed, and the heads.
type heads struct{ tokens, heads, kvHeads, dim int }

// queries are kinds of values of an attention. Queries of zeros give each key the same score; large ones leave all but one
// without weight.
type queries struct {
	name    string
	q, k, v input
}

var (
	anyQueries = queries{"random", random, random, random}
	allQueries = []queries{
		{"equal scores", zeros, random, random},
		{"equal keys", random, equal, random},
		{"one winner", input{name: "x30", value: times(30)}, random, random},
		{"zero values", random, random, zeros},
		{"denormal values", random, random, tiny},
		{"large values", random, random, large},
		{"negative", negative, negative, negative},
	}
)

// attended are the values of an attention. Row (head, slot) of k and v is number first[head] + slot.
type attended struct {
	heads
	dtype tensor.DType
	q     []float32
	k, v  []float32 // as they are cached
	first []int     // of each KV head
	used  []int     // slots of each KV head
	also  also
	sinks []float32 // of each head; nil: no sinks
}

// row returns the key or the value of a slot.
func (a *attended) row(x []float32, head, slot int) []float32 {
	return x[(a.first[head]+slot)*a.dim:][:a.dim]
}

// each calls f for each query with the weights of the keys that it sees, and with the magnitudes of their scores.
func (a *attended) each(f func(query, kvHead int, p, scores []float64)) {
	root := math.Sqrt(float64(a.dim))
	most := slices.Max(a.used)
	p, s := make([]float64, most), make([]float64, most)
	for token := range a.tokens {
		for head := range a.heads.heads {
			query, kv := token*a.heads.heads+head, head/(a.heads.heads/a.kvHeads)
			through := a.used[kv] - a.tokens + token + 1
			seen := through
			if a.also.together {
				seen = a.used[kv]
			}
			q := a.q[query*a.dim : (query+1)*a.dim]
			steps := blockMaxima(q, a.dtype.Format().ActivationForm().BlockLen())
			highest := math.Inf(-1)
			for j := range seen {
				k := a.row(a.k, kv, j)
				p[j], s[j] = dot(q, k)/root, magnitudeOf(a.dtype, k, steps)/root
				switch limit := float64(a.also.limit); {
				case a.also.window > 0 && j < through-a.also.window && !(a.also.whole && j >= a.used[kv]-a.tokens):
					p[j], s[j] = math.Inf(-1), 0
				case limit > 0:
					p[j] = limit * math.Tanh(p[j]/limit)
				}
				highest = max(highest, p[j])
			}
			sink := math.Inf(-1)
			if a.sinks != nil {
				sink = float64(a.sinks[head])
			}
			normalise(p[:seen], sink, max(highest, sink))
			f(query, kv, p[:seen], s[:seen])
		}
	}
}

// normalise makes scores their softmax, in which a sink takes part. highest is the largest of all.
func normalise(p []float64, sink, highest float64) {
	sum := math.Exp(sink - highest)
	for j, score := range p {
		p[j] = math.Exp(score - highest)
		sum += p[j]
	}
	for j := range p {
		p[j] /= sum
	}
}

// sumsPart is the share of the tolerance that the weighted sums of values need, whatever the scores are. Only where queries, and
// weights, are rounded to 8 bits is the tolerance wider than that.
func (a *attended) sumsPart() float64 {
	if a.dtype.Quantized() {
		return exponents / rounding
	}
	return 1
}

// grouped is how many neighbouring slots' weights of quantised values are rounded to 8 bits with one scale.
const grouped = 32

// grain is the most that the rounding of one of these weights can be away, as a part of the largest: half a step of 1/127.
const grain = 1. / 254

// peaks returns, for each value of a KV head, the largest magnitude of its block: in proportion to the block's scale, by which its weights
// are multiplied before they are rounded. It is nil where values are floats.
func (a *attended) peaks(kv int) (list [][]float64) {
	if a.dtype.Quantized() {
		for j := range a.used[kv] {
			list = append(list, blockMaxima(a.row(a.v, kv, j), a.dtype.BlockLen()))
		}
	}
	return list
}

// grains returns what the rounding of weights p may do to element e of the output at most, for each group of slots: half a step of the
// group's largest weight, times the integers of all its values.
func grains(p []float64, peaks [][]float64, e int, value func(j int) float64) (list []float64) {
	for first := 0; first < len(p); first += grouped {
		largest, integers := 0.0, 0.0
		for j := first; j < min(first+grouped, len(p)); j++ {
			if peak := peaks[j][e]; peak > 0 {
				largest = max(largest, p[j]*peak)
				integers += math.Abs(value(j)) / peak
			}
		}
		list = append(list, grain*largest*integers)
	}
	return list
}

// magnitude returns the magnitude that each error of out is relative to. It adds three parts: Σ p·|v|; the effect of the scores' errors s,
// Σ p·s·|v-out|, or the root of the squares' sum for errors of rounding; and the effect of rounded weights.
func (a *attended) magnitude([]float32) []float64 {
	result := make([]float64, len(a.q))
	peaks := make([][][]float64, a.kvHeads)
	for kv := range peaks {
		peaks[kv] = a.peaks(kv)
	}
	a.each(func(query, kv int, p, scores []float64) {
		for e := range a.dim {
			value := func(j int) float64 { return float64(a.row(a.v, kv, j)[e]) }
			out, size, shift := 0.0, 0.0, 0.0
			for j, weight := range p {
				out += weight * value(j)
				size += weight * math.Abs(value(j))
			}
			for j, weight := range p {
				shift = a.plus(shift, weight*scores[j]*math.Abs(value(j)-out))
			}
			if a.dtype.Quantized() {
				for _, most := range grains(p, peaks[kv], e, value) {
					shift = a.plus(shift, most/rounding)
				}
			}
			result[query*a.dim+e] = a.sumsPart()*size + a.total(shift)
		}
	})
	return result
}

// weighed returns what the errors of AccumulateAttention's sums are relative to.
func (a *attended) weighed(sums []float32, width int) []float64 {
	result := make([]float64, len(sums))
	for i, v := range sums {
		result[i] = a.sumsPart() * math.Abs(float64(v))
	}
	a.each(func(_, kv int, p, scores []float64) {
		all := 0.0 // the error of the sum of the exponentials
		for j, weight := range p {
			all = a.plus(all, weight*scores[j])
		}
		for j, weight := range p {
			result[kv*width+j] += weight * (a.sumsPart() + scores[j] + a.total(all))
		}
	})
	return result
}

// plus and total add up errors: random ones, of rounding, as squares, others as they are.
func (a *attended) plus(sum, e float64) float64 {
	if a.dtype == tensor.F32 {
		return sum + e
	}
	return sum + e*e
}

func (a *attended) total(sum float64) float64 {
	if a.dtype == tensor.F32 {
		return sum
	}
	return math.Sqrt(sum)
}
