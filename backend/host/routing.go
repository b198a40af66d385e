package host

import (
	"math"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/tensor"
)

// route chooses experts for the rows of logits, and weighs them.
func (b *experts) route(o *backend.Route) (err error) {
	rows, n, k := o.Dims()
	if rows == 0 {
		return nil
	}
	r := &o.Routing
	var maps mapped
	defer maps.unmap()
	if err := maps.add("Route", o.Logits, o.Chosen, o.Weights); err != nil {
		return err
	}
	t := b.routes.get()
	defer b.routes.put(t)
	t.kernels, t.rule, t.experts, t.k = b.kernels, *r, n, k
	t.logits, t.chosen, t.weights = floats(o.Logits), integers(o.Chosen), floats(o.Weights)
	if t.bias, err = maps.optional("Route", r.Bias); err != nil {
		return err
	}
	if t.scales, err = maps.optional("Route", r.ExpertScales); err != nil {
		return err
	}
	t.scratch.reserve(b.runner.Size())
	t.rows, t.pieces = rows, max(min(rows, b.runner.Size(), rows*n/expertsPerPiece), 1)
	return b.runner.Run(t, t.pieces)
}

// expertsPerPiece is the fewest scores worth handing to another thread: choosing the largest takes some nanoseconds a score.
const expertsPerPiece = 1 << 9

// routing is a Route as a task. A piece is some rows.
type routing struct {
	kernels      *asm.Kernels
	rule         backend.Routing
	bias, scales []float32 // [experts]; nil: no bias, no scales
	logits       []float32 // [rows, experts]
	chosen       []int32   // [rows, k]
	weights      []float32 // [rows, k]
	rows, pieces int
	experts, k   int
	scratch      workerMemory[float32]
}

// reset forgets the operation, and keeps the scratch.
func (t *routing) reset() { *t = routing{scratch: t.scratch} }

// Phase says what the operation is.
func (t *routing) Phase() timing.Phase {
	return timing.Phase{Operation: "Route", Cols: t.experts, DType: tensor.F32}
}

// Do routes the rows of a piece.
func (t *routing) Do(worker, piece int) {
	scratch := t.scratch.of(worker, 2*t.experts+t.k+t.rule.Groups)
	for row := piece * t.rows / t.pieces; row < (piece+1)*t.rows/t.pieces; row++ {
		t.route(t.logits[row*t.experts:][:t.experts], t.chosen[row*t.k:][:t.k], t.weights[row*t.k:][:t.k], scratch)
	}
}

// route routes a row; the scratch has two numbers for each expert, and one for each choice and each group.
func (t *routing) route(logits []float32, chosen []int32, weights, scratch []float32) {
	scores, order := logits, logits
	if t.rule.Scores == backend.SoftmaxAll {
		scores, scratch = scratch[:len(logits)], scratch[len(logits):]
		copy(scores, logits)
		t.kernels.Softmax(scores)
	}
	if t.bias != nil {
		order, scratch = scratch[:len(logits)], scratch[len(logits):]
		for i, v := range scores {
			order[i] = t.score(v) + t.bias[i]
		}
	}
	if t.rule.Groups > 1 {
		if t.bias == nil {
			order, scratch = scratch[:len(logits)], scratch[len(logits):]
			copy(order, logits)
		}
		t.leaveGroups(order, scratch[:t.rule.Groups])
	}
	selection.Largest(order, chosen, scratch[:len(chosen)])
	for i, e := range chosen {
		weights[i] = t.score(scores[e])
	}
	if t.rule.Scores == backend.SoftmaxChosen {
		t.kernels.Softmax(weights)
	}
	if t.rule.Normalize {
		sum := float32(0)
		for _, w := range weights {
			sum += w
		}
		sum += 1e-20
		for i := range weights {
			weights[i] /= sum
		}
	}
	if t.rule.Scale != 0 {
		for i := range weights {
			weights[i] *= t.rule.Scale
		}
	}
	if t.scales != nil {
		for i, e := range chosen {
			weights[i] *= t.scales[e]
		}
	}
}

// leaveGroups makes experts in groups that are not chosen the last ones in the order. worth is memory for a number of each group.
func (t *routing) leaveGroups(order, worth []float32) {
	n, least := len(order)/len(worth), float32(math.Inf(-1))
	for group := range worth {
		first, second := least, least
		for _, v := range order[group*n:][:n] {
			if before(v, first) {
				first, second = v, first
			} else if before(v, second) {
				second = v
			}
		}
		if worth[group] = first; t.bias != nil {
			worth[group] += second
		}
	}
	for group, w := range worth {
		rank := 0
		for other, v := range worth {
			if before(v, w) || other < group && !before(w, v) {
				rank++
			}
		}
		if rank >= t.rule.ChosenGroups {
			for i := range n {
				order[group*n+i] = least
			}
		}
	}
}

// before reports whether a is larger than b; NaN counts as larger than everything.
func before(a, b float32) bool { return a > b || a != a && b == b }

// score returns the sigmoid of v if scores are sigmoids, and v if they have been computed.
func (t *routing) score(v float32) float32 {
	if t.rule.Scores == backend.Sigmoid {
		return 1 / (1 + exact.Exp(-v))
	}
	return v
}
