package engine

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// dense is the feed-forward network down(activate(gate(x))·up(x)) (arXiv 2002.05202).
type dense struct {
	gate, up, down projection
	subNorm        *tensor.Tensor // [intermediate]: of what down reads; nil: no norm
	eps            float32
	activate       activation
	width          int     // which of the model's
	sparsity       float32 // how many standard deviations above their mean the gate's numbers count at all; 0: all count
}

// activation returns the operations gate = act(gate)·up.
type activation func(gate, up *tensor.Tensor) []backend.Op

// activations are the activations by model.Variant's Activation.
var activations = map[string]activation{
	"":          func(gate, up *tensor.Tensor) []backend.Op { return []backend.Op{&backend.SiLUMul{A: gate, B: up}} },
	"gelu_tanh": func(gate, up *tensor.Tensor) []backend.Op { return []backend.Op{&backend.GELUMul{A: gate, B: up}} },
	"gelu":      func(gate, up *tensor.Tensor) []backend.Op { return []backend.Op{&backend.GELUErf{A: gate, B: up}} },
	"relu2": func(gate, up *tensor.Tensor) []backend.Op {
		return []backend.Op{&backend.ReLUSquared{A: gate}, &backend.MulAssign{A: gate, B: up}}
	},
}

func newDense(w *Weights, layer int, is *model.Layer) (*dense, error) {
	name := w.Config.Activation
	activate, known := activations[name]
	f := &dense{width: w.widthOf(is), activate: activate, eps: w.Config.RMSNormEps}
	if !known {
		return nil, fmt.Errorf("the activation is %.100q: %w", name, fault.ErrUnsupported)
	}
	if w.Config.Sparsity != nil {
		f.sparsity = w.Config.Sparsity[layer]
	}
	w.placeProjection(model.Gate, layer, &f.gate)
	w.placeProjection(model.Up, layer, &f.up)
	w.place(model.FeedForwardSubNorm, layer, &f.subNorm)
	w.placeProjection(model.Down, layer, &f.down)
	return f, nil
}

func (f *dense) write(p *program, around *residual) {
	gate := &p.dense[f.width].gate
	f.activated(p, around)
	p.rmsNorm(gate, f.subNorm, f.eps)
	around.add(p, gate, &f.down)
}

// activated computes activate(gate(x))·up(x) of the normed stream into its rows' gate.
func (f *dense) activated(p *program, around *residual) {
	s := &p.dense[f.width]
	around.project(p, s.projected[:], &f.gate, &f.up)
	if f.sparsity != 0 {
		p.do(&backend.CutOff{A: &s.gate, Deviations: f.sparsity})
	}
	p.do(f.activate(&s.gate, &s.up)...)
}

// denseRows is the memory of a pass's rows in dense feed-forward networks. projected are gate and up.
type denseRows struct {
	gate, up  tensor.Tensor // [rows, intermediate]
	projected [2]*tensor.Tensor
}

// widthOf returns the number of a layer's width among the model's, a new one if no layer before had it.
func (w *Weights) widthOf(is *model.Layer) int {
	if i := slices.Index(w.widths, is.IntermediateSize); i >= 0 {
		return i
	}
	w.widths = append(w.widths, is.IntermediateSize)
	return len(w.widths) - 1
}

// reserveDense allocates the memory of dense networks of all widths, which share it.
func (p *pass) reserveDense(w *Weights) error {
	p.dense = make([]denseRows, len(w.widths))
	var memory [2]*tensor.Tensor
	for i := range memory {
		t, err := p.allocate(p.most, slices.Max(append(w.widths, 1)))
		if err != nil {
			return err
		}
		memory[i] = t
	}
	for i, width := range w.widths {
		s := &p.dense[i]
		s.projected = [...]*tensor.Tensor{&s.gate, &s.up}
		for n, view := range s.projected {
			if err := p.share(memory[n], view, width); err != nil {
				return err
			}
		}
	}
	return nil
}
