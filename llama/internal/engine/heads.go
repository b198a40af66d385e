package engine

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// heads are the layers that make of a text's vector, which was pooled, another one, or of a state a number for each label: each is
// norm(activation(x·weightᵀ + bias)).
type heads struct {
	pooled []head // of vectors
	labels []head // of labels
}

// head is one of them.
type head struct {
	weight, bias *tensor.Tensor
	activation   func(x float32) float32 // of numbers on the host; nil: the identity
	gelu         bool                    // the activation is GELU with the error function
	norm         norm
}

// tanh is the hyperbolic tangent, with the same bits everywhere.
func tanh(x float32) float32 { return 1 - 2/(1+exact.Exp(2*x)) }

// headActivations are the activations by model.Dense's Activation.
var headActivations = map[string]func(float32) float32{"": nil, "tanh": tanh, "relu": func(x float32) float32 { return max(x, 0) }}

// build makes the heads of a model without their tensors.
func (h *heads) build(w *Weights) error {
	h.pooled = make([]head, len(w.Config.Dense))
	for i, d := range w.Config.Dense {
		if err := h.pooled[i].build(w, model.PooledDense, i, &d); err != nil {
			return err
		}
	}
	h.labels = make([]head, len(w.Config.Head.Layers))
	for i, d := range w.Config.Head.Layers {
		l := &h.labels[i]
		if err := l.build(w, w.Config.Head.Part(i), 0, &d.Dense); err != nil {
			return err
		}
		if d.Norm && l.activation != nil {
			return fmt.Errorf("a layer of a head has a norm after the activation %.100q: %w", d.Activation, fault.ErrUnsupported)
		}
		if d.Norm {
			l.norm.build(w, place{part: model.ScoreNorm})
		}
	}
	return nil
}

func (h *head) build(w *Weights, p model.Part, n int, d *model.Dense) error {
	w.place(p, n, &h.weight)
	w.register(place{p, n, true}, &h.bias)
	activation, ok := headActivations[d.Activation]
	if h.gelu = d.Activation == "gelu"; !ok && !h.gelu {
		return fmt.Errorf("a layer that follows pooling has the activation %.100q: %w", d.Activation, fault.ErrUnsupported)
	}
	h.activation = activation
	return nil
}

// Pooled passes n vectors x through the layers after pooling. It returns x itself if there are no such layers.
func (w *Weights) Pooled(x []float32, n int) ([]float32, error) {
	return through(w.device, w.heads.pooled, x, n)
}

// Labelled returns the numbers that the head gives to n states x, one for each label: [n, labels].
func (w *Weights) Labelled(x []float32, n int) ([]float32, error) {
	return through(w.device, w.heads.labels, x, n)
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
	if h.gelu {
		if err := d.Run(&backend.GELUErf{A: out}); err != nil {
			return nil, err
		}
	}
	if err := h.norm.apply(d, out); err != nil {
		return nil, err
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
