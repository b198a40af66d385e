package engine

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// heads are the layers that make of a text's vector, which was pooled, another one, or a score: each is
// activation(x·weightᵀ + bias), or norm(gelu(x·weightᵀ + bias)).
type heads struct {
	pooled []head // of vectors
	scores []head // of scores
}

// head is one of them.
type head struct {
	weight, bias *tensor.Tensor
	activation   func(x float32) float32 // nil: the identity
	norm         norm                    // without a weight there is neither this norm nor GELU before it
}

// tanh is the hyperbolic tangent, with the same bits everywhere.
func tanh(x float32) float32 { return 1 - 2/(1+exact.Exp(2*x)) }

// headActivations are the activations by model.Dense's Activation.
var headActivations = map[string]func(float32) float32{"": nil, "tanh": tanh}

// build makes the heads of a model without their tensors.
func (h *heads) build(w *Weights) error {
	h.pooled = make([]head, len(w.Config.Dense))
	for i, d := range w.Config.Dense {
		activation, ok := headActivations[d.Activation]
		if !ok {
			return fmt.Errorf("a layer that follows pooling has the activation %.100q: %w", d.Activation, fault.ErrUnsupported)
		}
		h.pooled[i].build(w, model.PooledDense, i, activation)
	}
	if w.Config.Scores {
		h.scores = make([]head, 1, 2)
		if w.Config.ScoreDense {
			h.scores = h.scores[:2]
			h.scores[0].build(w, model.ScoreDense, 0, tanh)
			if w.Config.ScoreNorm {
				h.scores[0].activation = nil
				h.scores[0].norm.build(w, place{part: model.ScoreNorm})
			}
		}
		h.scores[len(h.scores)-1].build(w, model.ScoreOutput, 0, nil)
	}
	return nil
}

func (h *head) build(w *Weights, p model.Part, n int, activation func(float32) float32) {
	w.place(p, n, &h.weight)
	w.places[place{p, n, true}] = &h.bias
	h.activation = activation
}

// Pooled passes n vectors x through the layers after pooling. It returns x itself if there are no such layers.
func (w *Weights) Pooled(x []float32, n int) ([]float32, error) {
	return through(w.device, w.heads.pooled, x, n)
}

// Scored returns the scores that the head gives to n states x of first tokens.
func (w *Weights) Scored(x []float32, n int) ([]float32, error) {
	return through(w.device, w.heads.scores, x, n)
}

// through computes layers one after the other.
func through(d backend.Backend, list []head, x []float32, n int) (_ []float32, err error) {
	for i := range list {
		if x, err = list[i].of(d, x, n); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// of computes one layer of n vectors x.
func (h *head) of(d backend.Backend, x []float32, n int) (_ []float32, err error) {
	in, err := tensor.FromFloats(x, n, len(x)/n)
	if err != nil {
		return nil, err
	}
	defer in.Free()
	moved, err := in.ToDevice(d)
	if err != nil {
		return nil, err
	}
	if moved != in {
		defer moved.Free()
	}
	out, err := tensor.New(d, tensor.F32, tensor.ShapeOf(n, h.weight.Shape().Dim(0)))
	if err != nil {
		return nil, err
	}
	defer out.Free()
	if err := d.Run(&backend.MatMulTransposed{X: moved, W: h.weight, Out: out}); err != nil {
		return nil, err
	}
	if h.bias != nil {
		if err := d.Run(&backend.AddAssign{A: out, B: h.bias}); err != nil {
			return nil, err
		}
	}
	if h.norm.weight != nil {
		if err := d.Run(&backend.GELUErf{A: out}); err != nil {
			return nil, err
		}
		if err := h.norm.apply(d, out); err != nil {
			return nil, err
		}
	}
	result := make([]float32, out.Shape().NumElements())
	if err := backend.ReadFloats(d, out, result); err != nil {
		return nil, err
	}
	if h.activation != nil {
		for i, v := range result {
			result[i] = h.activation(v)
		}
	}
	return result, nil
}
