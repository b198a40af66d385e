package machine

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/quant"
	"github.com/antigravity-go/antigravity/tensor"
)

// Work is what an operation has to do at least, by its definition: what an implementation does besides, such as filling
// scratch tensors, is not counted.
type Work struct {
	Memory  int64 // bytes of weights, embeddings and cached keys and values
	Cache   int64 // bytes of activations, read and written
	Integer int64 // multiply-accumulates of 8-bit activations
	Float   int64 // multiply-accumulates of f32 activations
	// Experts counts the experts with weights that are read, and Routed the rows that chose them: 0 of operations without experts.
	Experts, Routed int64
}

// Plus returns the sum of two works.
func (w Work) Plus(v Work) Work {
	return Work{w.Memory + v.Memory, w.Cache + v.Cache, w.Integer + v.Integer, w.Float + v.Float, w.Experts + v.Experts, w.Routed + v.Routed}
}

// TensorWork is the work of reading or writing activations, each tensor once; list a tensor twice when it is read and written.
func TensorWork(ts ...*tensor.Tensor) (w Work) {
	for _, t := range ts {
		w.Cache += int64(t.Size())
	}
	return w
}

// MatMulWork is the work of multiplying the rows of an activation with weights [N, K], without moving the activation.
func MatMulWork(rows int, weights ...*tensor.Tensor) (work Work) {
	for _, w := range weights {
		macs := int64(rows) * int64(w.Shape().NumElements())
		if f := w.DType().Format(); f.Valid() && f.ActivationForm() != quant.Float {
			work.Integer += macs
		} else {
			work.Float += macs
		}
		work.Memory += int64(w.Size())
	}
	return work
}

// ExpertWork is the work of multiplying pairs of a row and an expert with weights [experts, N, K], of some experts only, without moving the
// activation.
func ExpertWork(pairs, experts int, weights ...*tensor.Tensor) Work {
	work := MatMulWork(pairs, weights...)
	if all := int64(weights[0].Shape().Dim(0)); all > 0 {
		work.Integer, work.Float = work.Integer/all, work.Float/all
		work.Memory = work.Memory / all * int64(experts)
	}
	return work
}

// AttentionWork is the work of attention for q [rows, heads, headDim], the rows of some runs. Products with quantised keys, and with quantised
// values, are of integers.
func AttentionWork(q *tensor.Tensor, runs ...backend.Run) Work {
	work := TensorWork(q, q)
	for _, r := range runs {
		scores := scoreWork(q, r)
		work = work.Plus(scores).Plus(scores) // as much with values
	}
	return work
}

// ScoreWork is the part of AttentionWork that multiplies the queries of a run with keys.
func ScoreWork(q *tensor.Tensor, r backend.Run) Work { return TensorWork(q).Plus(scoreWork(q, r)) }

// scoreWork is ScoreWork without what it takes to read the queries.
func scoreWork(q *tensor.Tensor, r backend.Run) (work Work) {
	group := q.Shape().Dim(-2) / max(len(r.Slots.Heads), 1) // query heads that share a KV head
	for _, h := range r.Slots.Heads {
		t, slots := int64(r.Tokens), int64(h.Len)
		seen := t*slots - t*(t-1)/2 // slots that the tokens see together: the last sees all, and each one slot more than the token before it
		macs := seen * int64(group*r.Slots.HeadDim)
		work.Memory += slots * int64(r.Slots.SlotBytes())
		if r.Slots.DType.Quantized() {
			work.Integer += macs
		} else {
			work.Float += macs
		}
	}
	return work
}

// StatesWork is the work of reading and writing the states of stretches, once each.
func StatesWork(of []backend.Stretch) (w Work) {
	for _, s := range of {
		w.Memory += 2 * int64(s.State.Size())
	}
	return w
}

// RecurWork is the work of passing rows through states: the state, once read and written for each stretch, and for each row q and k [rows,
// keyHeads, dk], v and out [rows, heads, dv]. A row multiplies each element of the state by the decay, by k twice if delta, else once, and
// by q.
func RecurWork(q, v *tensor.Tensor, delta bool, of []backend.Stretch) Work {
	work := TensorWork(q, q, v, v).Plus(StatesWork(of))
	work.Float = 3 * int64(v.Shape().NumElements()) * int64(q.Shape().Dim(-1))
	if delta {
		work.Float += work.Float / 3
	}
	return work
}
