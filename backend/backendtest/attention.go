package backendtest

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// heads is the shape of an attention: the keys of the tokens are the last of the first n slots.
type heads struct{ tokens, heads, kvHeads, dim, n int }

// Single tokens and chunks: one slot, the sizes around tiles, an odd group of heads; and Llama's.
var (
	singleTokens = []heads{
		{1, 1, 1, 32, 1}, {1, 4, 2, 64, 2}, {1, 4, 4, 32, 63}, {1, 8, 2, 64, 64}, {1, 3, 1, 96, 65}, {1, 6, 2, 128, 129},
		{1, 32, 8, 64, 300}, {1, 5, 5, 80, 77}, {1, 4, 2, 256, 33},
	}
	longSingles = []heads{{1, 32, 8, 64, 4096}, {1, 24, 8, 128, 1000}, {1, 4, 1, 64, 20000}}
	chunks      = []heads{
		{1, 2, 1, 32, 5}, {2, 4, 2, 64, 2}, {7, 4, 4, 32, 7}, {33, 8, 2, 64, 100}, {20, 3, 1, 96, 300}, {5, 4, 2, 128, 129}, {9, 5, 5, 80, 40},
	}
	longChunks = []heads{{100, 32, 8, 64, 100}, {64, 24, 8, 128, 500}, {512, 4, 2, 64, 1024}}
	oneHeads   = heads{5, 4, 2, 64, 150}
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
	return append(
		headChecks("AttentionGen", upTo(quick, singleTokens, longSingles...), one, attentionGen),
		headChecks("Attention", upTo(quick, chunks, longChunks...), oneHeads, attention)...)
}

func weighChecks(quick bool) []Check {
	return headChecks("AccumulateAttention", append(upTo(quick, singleTokens, longSingles...), upTo(quick, chunks, longChunks...)...), oneHeads, weigh)
}

// attended are the values of an attention.
type attended struct {
	heads
	dtype      tensor.DType
	slots      int
	q, k, v    []float32 // as they are cached, n slots
	keys, vals []byte    // with poisoned slots after them
}

func (h heads) values(d tensor.DType, in queries, g generator) *attended {
	a := &attended{heads: h, dtype: d, slots: h.n + 3, q: g.floats(in.q, h.tokens*h.heads*h.dim)}
	a.keys, a.k = g.cache(d, in.k, a.slots, h.n, h.kvHeads*h.dim)
	a.vals, a.v = g.cache(d, in.v, a.slots, h.n, h.kvHeads*h.dim)
	return a
}

// cached describes the keys or the values.
func (a *attended) cached(name string, data []byte) operand {
	return operand{name: name, dtype: a.dtype, dims: []int{a.slots, a.kvHeads, a.dim}, data: data}
}

func attentionGen(h heads, d tensor.DType, in queries, g generator) *trial {
	a := h.values(d, in, g)
	return &trial{
		operands: []operand{
			f32("q", reading, a.q, h.heads, h.dim), a.cached("k", a.keys), a.cached("v", a.vals),
			blank("out", output, h.heads, h.dim).within(limit{tolerance: productTolerance(d), magnitude: a.magnitude}),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error { return b.AttentionGen(t[0], t[1], t[2], t[3], h.n) },
	}
}

func attention(h heads, d tensor.DType, in queries, g generator) *trial {
	a := h.values(d, in, g)
	return &trial{
		operands: []operand{
			f32("q", reading, a.q, h.tokens, h.heads, h.dim), a.cached("k", a.keys), a.cached("v", a.vals),
			blank("out", output, h.tokens, h.heads, h.dim).within(limit{tolerance: productTolerance(d), magnitude: a.magnitude}),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			return backend.Attender(b).Attention(t[0], t[1], t[2], t[3], h.n)
		},
	}
}

func weigh(h heads, d tensor.DType, in queries, g generator) *trial {
	a := h.values(d, in, g)
	width := h.n + 2 // the sums after the first n must stay as they are
	sums := g.floats(random, h.kvHeads*width)
	return &trial{
		operands: []operand{
			f32("q", reading, a.q, h.tokens, h.heads, h.dim), a.cached("k", a.keys),
			f32("sums", update, sums, h.kvHeads, width).within(limit{
				tolerance: productTolerance(d),
				magnitude: func([]float32) []float64 { return a.weighed(sums, width) },
			}),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error { return b.AccumulateAttention(t[0], t[1], t[2], h.n) },
	}
}

// each calls f for each query with the weights of the keys that it sees, and with the magnitudes of their scores.
func (a *attended) each(f func(query, kvHead int, p, scores []float64)) {
	root := math.Sqrt(float64(a.dim))
	p, s := make([]float64, a.n), make([]float64, a.n)
	for token := range a.tokens {
		seen := a.n - a.tokens + token + 1
		for head := range a.heads.heads {
			query, kv := token*a.heads.heads+head, head/(a.heads.heads/a.kvHeads)
			q := a.q[query*a.dim : (query+1)*a.dim]
			steps := blockMaxima(q, a.dtype.Format().ActivationForm().BlockLen())
			highest := math.Inf(-1)
			for j := range seen {
				k := a.k[(j*a.kvHeads+kv)*a.dim:][:a.dim]
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

// sumsPart is the share of the tolerance that the weighted sums of values need, whatever the scores are. Only where queries are
// rounded to 8 bits is the tolerance wider than that.
func (a *attended) sumsPart() float64 {
	if a.dtype.Quantized() {
		return exponents / rounding
	}
	return 1
}

// magnitude returns what the errors of out are relative to: Σ p·|v|, and how the errors s of the scores show,
// Σ p·s·|v-out|, which is a sum of squares where they are those of rounding.
func (a *attended) magnitude([]float32) []float64 {
	result := make([]float64, len(a.q))
	a.each(func(query, kv int, p, scores []float64) {
		for e := range a.dim {
			value := func(j int) float64 { return float64(a.v[(j*a.kvHeads+kv)*a.dim+e]) }
			out, size, shift := 0.0, 0.0, 0.0
			for j, weight := range p {
				out += weight * value(j)
				size += weight * math.Abs(value(j))
			}
			for j, weight := range p {
				shift = a.plus(shift, weight*scores[j]*math.Abs(value(j)-out))
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
