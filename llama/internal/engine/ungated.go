package engine

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// ungated is the feed-forward network down(activate(up(x))) (arXiv 1706.03762).
type ungated struct {
	up, down projection
	width    int // which of the model's
	activate func(up *tensor.Tensor) backend.Op
}

// aloneActivations are the activations of networks without a gate by model.Variant's Activation.
var aloneActivations = map[string]func(up *tensor.Tensor) backend.Op{
	"gelu":      func(up *tensor.Tensor) backend.Op { return &backend.GELUErf{A: up} },
	"gelu_tanh": func(up *tensor.Tensor) backend.Op { return &backend.GELUMul{A: up} },
	"relu2":     func(up *tensor.Tensor) backend.Op { return &backend.ReLUSquared{A: up} },
}

func newUngated(w *Weights, layer int, is *model.Layer) (*ungated, error) {
	activate, known := aloneActivations[w.Config.Activation]
	if w.Config.Activation == "xielu" && w.Config.Curves != nil {
		activate, known = curveOf(&w.Config.Curves[layer]), true
	}
	if name := w.Config.Activation; !known {
		return nil, fmt.Errorf("the activation of a network without a gate is %.100q: %w", name, fault.ErrUnsupported)
	}
	f := &ungated{width: w.widthOf(is), activate: activate}
	w.placeProjection(model.Up, layer, &f.up)
	w.placeProjection(model.Down, layer, &f.down)
	return f, nil
}

// curveOf returns the activation of a curve.
func curveOf(c *model.Curve) func(up *tensor.Tensor) backend.Op {
	positive, negative := exact.Softplus(c.AlphaP), c.Beta+exact.Softplus(c.AlphaN)
	return func(up *tensor.Tensor) backend.Op {
		return &backend.XIELU{A: up, Positive: positive, Negative: negative, Linear: c.Beta, Floor: c.Eps}
	}
}

func (f *ungated) write(p *program, around *residual) {
	s := &p.dense[f.width]
	around.project(p, s.projected[1:], &f.up)
	p.do(f.activate(&s.up))
	around.add(p, &s.up, &f.down)
}
