package backendtest

import (
	"fmt"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// heads is the shape of an attention to contiguous keys and values: those of the tokens are the last of the first n slots.
type heads struct{ tokens, heads, kvHeads, dim, n int }

// Single tokens: one slot, the sizes around tiles, an odd group of heads; and Llama's.
var (
	singleTokens = []heads{
		{1, 1, 1, 32, 1}, {1, 4, 2, 64, 2}, {1, 4, 4, 32, 63}, {1, 8, 2, 64, 64}, {1, 3, 1, 96, 65}, {1, 6, 2, 128, 129},
		{1, 32, 8, 64, 300}, {1, 5, 5, 80, 77}, {1, 4, 2, 256, 33},
	}
	longSingles = []heads{{1, 32, 8, 64, 4096}, {1, 24, 8, 128, 1000}, {1, 4, 1, 64, 20000}}
	oneHeads    = heads{5, 4, 2, 64, 150}
)

func (h heads) String() string {
	return fmt.Sprintf("[%d %d %d] to %d slots of %d heads", h.tokens, h.heads, h.dim, h.n, h.kvHeads)
}

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

// headChecks makes checks of all cache types.
func headChecks(operation string, shapes []heads, one heads, build func(heads, tensor.DType, queries, generator) *trial) (checks []Check) {
	for _, d := range cacheTypes {
		add := func(h heads, in queries) {
			if h.dim%d.BlockLen() != 0 {
				return
			}
			checks = append(checks, Check{Operation: operation, Type: d.String(), Shape: h.String(), Input: in.name,
				build: func(g generator) *trial { return build(h, d, in, g) }})
		}
		for _, h := range shapes {
			add(h, anyQueries)
		}
		for _, in := range allQueries {
			add(one, in)
		}
	}
	return checks
}

func attentionChecks(quick bool) []Check {
	one := oneHeads
	one.tokens = 1
	return headChecks("AttentionGen", upTo(quick, singleTokens, longSingles...), one, attentionGen)
}

// attended are the values of an attention. Row (head, slot) of k and v is number first[head] + slot·step.
type attended struct {
	heads
	dtype tensor.DType
	q     []float32
	k, v  []float32 // as they are cached
	first []int     // of each KV head
	step  int
	used  []int // slots of each KV head
}

// row returns the key or the value of a slot.
func (a *attended) row(x []float32, head, slot int) []float32 {
	return x[(a.first[head]+slot*a.step)*a.dim:][:a.dim]
}

func attentionGen(h heads, d tensor.DType, in queries, g generator) *trial {
	slots := h.n + 3 // those after the first n are poisoned
	a := &attended{heads: h, dtype: d, q: g.floats(in.q, h.heads*h.dim), step: h.kvHeads}
	keys, k := g.cache(d, in.k, slots, h.n, h.kvHeads*h.dim)
	vals, v := g.cache(d, in.v, slots, h.n, h.kvHeads*h.dim)
	a.k, a.v = k, v
	for head := range h.kvHeads {
		a.first, a.used = append(a.first, head), append(a.used, h.n)
	}
	dims := []int{slots, h.kvHeads, h.dim}
	return &trial{
		operands: []operand{
			f32("q", reading, a.q, h.heads, h.dim), {name: "k", dtype: d, dims: dims, data: keys}, {name: "v", dtype: d, dims: dims, data: vals},
			blank("out", output, h.heads, h.dim).within(limit{tolerance: productTolerance(d), magnitude: a.magnitude}),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error { return b.AttentionGen(t[0], t[1], t[2], t[3], h.n) },
	}
}

// each calls f for each query with the weights of the keys that it sees, and with the magnitudes of their scores.
func (a *attended) each(f func(query, kvHead int, p, scores []float64)) {
	root := math.Sqrt(float64(a.dim))
	most := slices.Max(a.used)
	p, s := make([]float64, most), make([]float64, most)
	for token := range a.tokens {
		for head := range a.heads.heads {
			query, kv := token*a.heads.heads+head, head/(a.heads.heads/a.kvHeads)
			seen := a.used[kv] - a.tokens + token + 1
			q := a.q[query*a.dim : (query+1)*a.dim]
			steps := blockMaxima(q, a.dtype.Format().ActivationForm().BlockLen())
			highest := math.Inf(-1)
			for j := range seen {
				k := a.row(a.k, kv, j)
				p[j], s[j] = dot(q, k)/root, magnitudeOf(a.dtype, k, steps)/root
				highest = max(highest, p[j])
			}
			normalise(p[:seen], highest)
			f(query, kv, p[:seen], s[:seen])
		}
	}
}

// normalise makes scores their softmax.
func normalise(p []float64, highest float64) {
	sum := 0.0
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

// magnitude returns what the errors of out are relative to: Σ p·|v|, and how the errors s of the scores show,
// Σ p·s·|v-out|, which is a sum of squares where they are those of rounding; and what the rounding of weights may do.
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
