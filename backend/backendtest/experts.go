package backendtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// mixture is the shape of an operation with experts: some rows, each with k chosen experts, and weights [experts, n, width].
//
// For example, {2, 128, 8, 16, 32} with Q8_0 becomes a trial of MatMulExperts with
//
//	x f32[2 32], w q8_0[128 16 32], chosen i32[2 8]: eight different experts for each row
//	out f32[16 16]: a row for each of the 2·8 pairs
type mixture struct{ rows, experts, k, n, width int }

func (m mixture) of(d tensor.DType) mixture {
	m.width = whole(m.width, d)
	return m
}

func (m mixture) String() string {
	return fmt.Sprintf("%d rows, %d of %d experts [%d %d]", m.rows, m.k, m.experts, m.n, m.width)
}

// smallMixtures are one row and one expert, tails of panels, more experts than pairs and fewer, experts that all rows choose; largeMixtures
// are those of Qwen3-30B-A3B and gpt-oss-20b, for a token, a few, and a chunk of a prompt.
var (
	smallMixtures = []mixture{{1, 1, 1, 16, 32}, {1, 8, 2, 48, 64}, {3, 4, 4, 33, 100}, {2, 128, 8, 16, 32}, {17, 5, 2, 80, 256}, {40, 3, 1, 16, 64}, {150, 2, 2, 32, 64}}
	largeMixtures = []mixture{{1, 32, 8, 768, 2048}, {4, 32, 4, 2880, 2880}, {100, 16, 4, 256, 512}}
)

// oneMixture is the shape that unusual values get.
var oneMixture = mixture{5, 6, 3, 48, 256}

// choose returns the experts of each row, all different, in a random order.
func (m mixture) choose(g generator) []int32 {
	var chosen []int32
	for range m.rows {
		for _, e := range g.Perm(m.experts)[:m.k] {
			chosen = append(chosen, int32(e))
		}
	}
	return chosen
}

// i32 describes an operand of whole numbers.
func i32(name string, r role, x []int32, dims ...int) operand {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint32(data, uint32(v))
	}
	return operand{name: name, role: r, dtype: tensor.I32, dims: dims, data: data}
}

// expertChecks checks the operations of mixtures of experts.
func expertChecks(quick bool) []Check {
	return slices.Concat(routeChecks(), matMulExpertsChecks(quick), expertBiasChecks(), sumExpertsChecks(), clampedChecks(quick), feedExpertsChecks(quick))
}

// routings are rules of all kinds.
var routings = []struct {
	name           string
	rule           backend.Routing
	biased, scaled bool
}{
	{"softmax of all", backend.Routing{}, false, false},
	{"softmax of all, normalised", backend.Routing{Normalize: true}, false, false},
	{"softmax of the chosen", backend.Routing{Scores: backend.SoftmaxChosen}, false, false},
	{"sigmoid, normalised, × 2.5", backend.Routing{Scores: backend.Sigmoid, Normalize: true, Scale: 2.5}, true, false},
	{"sigmoid", backend.Routing{Scores: backend.Sigmoid}, false, false},
	{"softmax of all, normalised, scaled by expert", backend.Routing{Normalize: true}, false, true},
	{"softmax of all with a bias", backend.Routing{Scale: 0.5}, true, false},
	{"softmax of the chosen with a bias", backend.Routing{Scores: backend.SoftmaxChosen}, true, true},
	{"sigmoid with a bias, in 2 of 4 groups", backend.Routing{Scores: backend.Sigmoid, Normalize: true, Groups: 4, ChosenGroups: 2}, true, false},
	{"softmax of all, in 1 of 4 groups", backend.Routing{Scale: 16, Groups: 4, ChosenGroups: 1}, false, false},
}

// routeChecks routes rows by all rules, also with many equal logits.
func routeChecks() (checks []Check) {
	ties := input{name: "ties", value: normal}
	for i, r := range routings {
		for _, m := range []mixture{{rows: 1, experts: 8, k: 2}, {rows: 3, experts: 1, k: 1}, {rows: 7, experts: 128, k: 8}, {rows: 300, experts: 32, k: 4}, {rows: 2, experts: 5, k: 5}} {
			if g := r.rule.Groups; g > 1 && (m.experts%g != 0 || m.k > m.experts/g*r.rule.ChosenGroups) {
				continue
			}
			for _, in := range []input{random, ties, zeros, large, tiny} {
				checks = append(checks, Check{
					Operation: "Route", Type: "f32", Shape: fmt.Sprintf("%d of %d for %d rows, %s", m.k, m.experts, m.rows, r.name), Input: in.name,
					build: func(g generator) *trial {
						logits := g.floats(in, m.rows*m.experts)
						if in.name == ties.name {
							for i := range logits {
								logits[i] = float32(g.IntN(3))
							}
						}
						return m.route(g, logits, routings[i].rule, r.biased, r.scaled)
					},
				})
			}
		}
	}
	return checks
}

// route makes a trial of Route. Logits that random numbers make are so far apart that no device mistakes their order.
func (m mixture) route(g generator, logits []float32, rule backend.Routing, biased, scaled bool) *trial {
	bias, scales := make([]float32, m.experts), make([]float32, m.experts)
	for i := range bias {
		bias[i], scales[i] = float32(g.IntN(5))/4, float32(g.NormFloat64())
	}
	magnitude := func(want []float32) []float64 {
		result := make([]float64, len(want))
		for i, v := range want {
			result[i] = math.Abs(float64(v)) + 0x1p-80
		}
		return result
	}
	return &trial{
		operands: []operand{
			f32("logits", reading, logits, m.rows, m.experts), f32("bias", reading, bias, m.experts), f32("scales", reading, scales, m.experts),
			{name: "chosen", role: output, dtype: tensor.I32, dims: []int{m.rows, m.k}},
			blank("weights", output, m.rows, m.k).within(limit{tolerance: 10 * exponents, magnitude: magnitude}),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			r := rule
			if biased {
				r.Bias = t[1]
			}
			if scaled {
				r.ExpertScales = t[2]
			}
			return b.Run(&backend.Route{Logits: t[0], Routing: r, Chosen: t[3], Weights: t[4]})
		},
	}
}

// expertProductChecks makes checks of all weight types: all shapes with random values, and one with the others.
func expertProductChecks(operation string, shapes []mixture, build func(g generator, m mixture, d tensor.DType, f factors) *trial) (checks []Check) {
	for _, d := range weightTypes {
		add := func(m mixture, f factors) {
			m = m.of(d)
			checks = append(checks, Check{Operation: operation, Type: d.String(), Shape: m.String(), Input: f.name,
				build: func(g generator) *trial { return build(g, m, d, f) }})
		}
		for _, m := range shapes {
			add(m, usual)
		}
		for _, f := range allFactors {
			add(oneMixture, f)
		}
	}
	return both(checks)
}

func matMulExpertsChecks(quick bool) []Check {
	shapes := upTo(quick, smallMixtures, largeMixtures...)
	checks := expertProductChecks("MatMulExperts", shapes, func(g generator, m mixture, d tensor.DType, f factors) *trial {
		return m.matMul(g, d, f, m.rows)
	})
	for _, c := range expertProductChecks("MatMulExperts", smallMixtures, func(g generator, m mixture, d tensor.DType, f factors) *trial {
		return m.matMul(g, d, f, m.rows*m.k)
	}) {
		c.Shape += ", a row for each choice"
		checks = append(checks, c)
	}
	return checks
}

// matMul makes a trial of MatMulExperts with some rows of x.
func (m mixture) matMul(g generator, d tensor.DType, f factors, rows int) *trial {
	x, w, chosen := g.floats(f.x, rows*m.width), g.weights(d, f.weights, m.experts*m.n*m.width), m.choose(g)
	return &trial{
		operands: []operand{
			f32("x", reading, x, rows, m.width),
			{name: "w", role: weight, dtype: d, dims: []int{m.experts, m.n, m.width}, data: w},
			i32("chosen", reading, chosen, m.rows, m.k),
			blank("out", output, m.rows*m.k, m.n).within(limit{
				tolerance: productTolerance(d), magnitude: func([]float32) []float64 { return m.magnitude(d, x, w, chosen) },
			}),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			return b.Run(&backend.MatMulExperts{X: t[0], W: t[1], Chosen: t[2], Out: t[3]})
		},
	}
}

// magnitude returns what the errors of pairs' products are relative to.
func (m mixture) magnitude(d tensor.DType, x []float32, w []byte, chosen []int32) (result []float64) {
	one, share, size := product{1, m.n, m.width}, len(chosen)*m.width/len(x), quantBytes(d, m.n*m.width)
	for pair, e := range chosen {
		result = append(result, one.magnitude(d, x[pair/share*m.width:][:m.width], w[int(e)*size:][:size])(nil)...)
	}
	return result
}

func expertBiasChecks() (checks []Check) {
	for _, m := range smallMixtures {
		checks = append(checks, Check{Operation: "AddExpertBias", Type: "f32", Shape: m.String(), Input: random.name, build: func(g generator) *trial {
			x, bias := g.floats(random, m.rows*m.k*m.n), g.floats(random, m.experts*m.n)
			return &trial{
				operands: []operand{
					f32("out", update, x, m.rows*m.k, m.n).within(limit{tolerance: single, magnitude: func([]float32) []float64 { return slices.Repeat([]float64{5}, len(x)) }}),
					f32("bias", reading, bias, m.experts, m.n), i32("chosen", reading, m.choose(g), m.rows, m.k),
				},
				do: func(b backend.Backend, t []*tensor.Tensor) error {
					return b.Run(&backend.AddExpertBias{Out: t[0], Bias: t[1], Chosen: t[2]})
				},
			}
		}})
	}
	return checks
}

func sumExpertsChecks() (checks []Check) {
	for _, m := range append(slices.Clip(smallMixtures), mixture{9, 8, 4, 700, 0}) {
		checks = append(checks, Check{Operation: "SumExperts", Type: "f32", Shape: m.String(), Input: random.name, build: func(g generator) *trial {
			y, weights, x := g.floats(random, m.rows*m.k*m.n), g.floats(random, m.rows*m.k), g.floats(random, m.rows*m.n)
			magnitude := func([]float32) []float64 { return slices.Repeat([]float64{float64(5 * (m.k + 1))}, len(x)) }
			return &trial{
				operands: []operand{
					f32("y", reading, y, m.rows*m.k, m.n), f32("weights", reading, weights, m.rows, m.k),
					f32("out", update, x, m.rows, m.n).within(limit{tolerance: single, magnitude: magnitude}),
				},
				do: func(b backend.Backend, t []*tensor.Tensor) error {
					return b.Run(&backend.SumExperts{Y: t[0], Weights: t[1], Out: t[2]})
				},
			}
		}})
	}
	return checks
}

// clampedChecks checks SwiGLUClamped, within the limit and beyond.
func clampedChecks(quick bool) []Check {
	return rowChecks("SwiGLUClamped", rowShapes(quick), oneRow, func(g generator, dims []int, in input) *trial {
		t := gated(g, dims, in, func(a, b *tensor.Tensor) backend.Op {
			return &backend.SwiGLUClamped{A: a, B: b, Limit: 1.25}
		})
		magnitude := t.operands[0].limit.magnitude
		t.operands[0].limit.magnitude = func(want []float32) []float64 {
			result := magnitude(want)
			for i := range result {
				result[i] += 1e-3 // u+1 may be anything near 0
			}
			return result
		}
		return t
	})
}

func feedExpertsChecks(quick bool) []Check {
	shapes := upTo(quick, []mixture{{1, 8, 2, 32, 64}, {3, 4, 4, 48, 256}, {40, 7, 3, 32, 64}}, largeMixtures[0])
	return expertProductChecks("FeedExperts", shapes, func(g generator, m mixture, d tensor.DType, f factors) *trial {
		return m.feed(g, d, f)
	})
}

// feed makes a trial of FeedExperts, with one of the activations, and with biases if it is gpt-oss's.
func (m mixture) feed(g generator, d tensor.DType, f factors) *trial {
	m.n = whole(m.n, d)
	x, chosen, weights, out := g.floats(f.x, m.rows*m.width), m.choose(g), g.floats(negative, m.rows*m.k), g.floats(random, m.rows*m.width)
	gate, up, down := g.weights(d, f.weights, m.experts*m.n*m.width), g.weights(d, f.weights, m.experts*m.n*m.width), g.weights(d, f.weights, m.experts*m.n*m.width)
	biases, biasesDown := g.floats(random, m.experts*m.n), g.floats(random, m.experts*m.width)
	act := backend.Activation(g.IntN(3))
	pairs := m.rows * m.k
	magnitude := func(want []float32) []float64 { // of the largest outputs: errors of gates and ups go to all
		largest := 0.0
		for _, v := range want {
			largest = max(largest, math.Abs(float64(v)))
		}
		return slices.Repeat([]float64{8 * largest}, len(want))
	}
	return &trial{
		operands: []operand{
			f32("x", reading, x, m.rows, m.width),
			{name: "gate", role: weight, dtype: d, dims: []int{m.experts, m.n, m.width}, data: gate},
			{name: "up", role: weight, dtype: d, dims: []int{m.experts, m.n, m.width}, data: up},
			{name: "down", role: weight, dtype: d, dims: []int{m.experts, m.width, m.n}, data: down},
			f32("biases", reading, biases, m.experts, m.n), f32("biases of down", reading, biasesDown, m.experts, m.width),
			i32("chosen", reading, chosen, m.rows, m.k), f32("weights", reading, weights, m.rows, m.k),
			blank("gates", scratch, pairs, m.n), blank("ups", scratch, pairs, m.n), blank("downs", scratch, pairs, m.width),
			f32("out", update, out, m.rows, m.width).within(limit{tolerance: max(productTolerance(d), exponents), magnitude: magnitude}),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			n := &backend.ExpertNetwork{Gate: t[1], Up: t[2], Down: t[3], Activation: act}
			if act == backend.ActivateClamped {
				n.Limit = 7
				n.GateBias, n.UpBias, n.DownBias = t[4], t[4], t[5]
			}
			return runFused(b, &backend.FeedExperts{X: t[0], Network: *n, Chosen: t[6], Weights: t[7], Gate: t[8], Up: t[9], Down: t[10], Out: t[11]})
		},
	}
}
