package backendtest

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// company is the shape of an attention of texts to themselves.
type company struct {
	texts               []int
	heads, kvHeads, dim int
	reach               int
	beyond              bool  // scores depend on distances, and heads have sinks
	seen                []int // how many rows of each text are seen; nil: all
}

// companies are texts of one row, shorter and longer than a tile, at a tile's end, with and without a reach, and with shared KV heads.
func companies(quick bool) []company {
	return upTo(quick, []company{
		{[]int{1}, 1, 1, 2, 0, false, nil}, {[]int{3, 1, 16}, 2, 2, 32, 0, false, nil}, {[]int{128, 129}, 2, 1, 16, 0, false, nil}, {[]int{17, 300}, 4, 2, 32, 8, false, nil},
		{[]int{300}, 2, 2, 24, 64, false, nil}, {[]int{5, 5}, 3, 3, 20, 1, false, nil}, {[]int{3, 150}, 2, 2, 16, 0, true, nil},
		{[]int{32, 1, 24}, 2, 1, 16, 0, false, []int{5, 1, 24}}, {[]int{300, 140}, 2, 2, 32, 0, true, []int{3, 129}}, {[]int{150}, 2, 2, 16, 40, false, []int{130}},
	}, company{[]int{700, 20, 513}, 12, 12, 64, 0, false, nil}, company{[]int{700, 20, 513}, 4, 1, 256, 200, false, nil}, company{[]int{300, 20}, 3, 3, 64, 100, true, nil})
}

// textChecks checks AttendTexts.
func textChecks(quick bool) (checks []Check) {
	add := func(c company, in queries) {
		checks = append(checks, Check{Operation: "AttendTexts", Type: "f32", Shape: fmt.Sprint(c), Input: in.name,
			build: func(g generator) *trial { return c.trial(g, in) }})
	}
	for _, c := range companies(quick) {
		add(c, anyQueries)
	}
	for _, in := range allQueries {
		add(company{[]int{40, 150}, 2, 1, 32, 0, false, nil}, in)
	}
	return checks
}

// trial makes a trial of the texts.
func (c company) trial(g generator, in queries) *trial {
	rows := 0
	for _, n := range c.texts {
		rows += n
	}
	q, k, v := g.floats(in.q, rows*c.heads*c.dim), g.floats(in.k, rows*c.kvHeads*c.dim), g.floats(in.v, rows*c.kvHeads*c.dim)
	magnitude := func(want []float32) []float64 {
		result := make([]float64, len(want))
		row := 0
		for _, n := range c.texts {
			for head := range c.heads {
				kv := head / (c.heads / c.kvHeads)
				at := func(x []float32, i, heads, head int) []float32 { return x[((row+i)*heads+head)*c.dim:][:c.dim] }
				largest, scores := 0.0, 0.0
				for i := range n {
					for e := range c.dim {
						largest = max(largest, math.Abs(float64(at(v, i, c.kvHeads, kv)[e])))
					}
					for j := range n {
						score := 0.0
						for e := range c.dim {
							score += math.Abs(float64(at(q, i, c.heads, head)[e]) * float64(at(k, j, c.kvHeads, kv)[e]))
						}
						scores = max(scores, score/math.Sqrt(float64(c.dim)))
						if c.beyond {
							scores = max(scores, 2+3*score/math.Sqrt(float64(c.dim)))
						}
					}
				}
				for i := range n {
					for e := range c.dim {
						at := ((row+i)*c.heads+head)*c.dim + e
						result[at] = largest * (1 + scores)
					}
				}
			}
			row += n
		}
		return result
	}
	return &trial{
		operands: []operand{
			f32("q", reading, q, rows, c.heads, c.dim), f32("k", reading, k, rows, c.kvHeads, c.dim), f32("v", reading, v, rows, c.kvHeads, c.dim),
			blank("out", output, rows, c.heads, c.dim).within(limit{tolerance: exponents, magnitude: magnitude}),
			f32("sinks", reading, g.floats(in.q, c.heads), c.heads),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			op := &backend.AttendTexts{Q: t[0], K: t[1], V: t[2], Out: t[3], Texts: c.texts, Seen: c.seen, Reach: c.reach}
			if c.beyond {
				op.Relative, op.Sinks = c.relative(), t[4]
			}
			return b.Run(op)
		},
	}
}

// relative returns numbers for seven buckets of distances.
func (c company) relative() *backend.Relative {
	r := &backend.Relative{Buckets: 7}
	for d := -20; d <= 20; d++ {
		r.Bucket = append(r.Bucket, int32(min(max(d/4+3, 0), 6)))
	}
	for i := range c.heads * r.Buckets {
		r.Bias = append(r.Bias, float32(i%5)/8)
		for e := range c.dim {
			r.Keys, r.Queries = append(r.Keys, float32((i+e)%7)/16-.2), append(r.Queries, float32((i+2*e)%9)/16-.25)
		}
	}
	return r
}
