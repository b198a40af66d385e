package engine

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// shortConvolution is the mixer of LFM2 (arXiv 2511.23404), a convolution of the last few tokens between two gates:
//
//	b, c, x = W u;  out = W_o (c·conv(b·x))
type shortConvolution struct {
	layer      int
	shapes     []tensor.Shape
	b, c, x, o projection
	conv       filter
}

// newShortConvolution makes the mixer of a layer without its tensors.
func newShortConvolution(w *Weights, layer int) *shortConvolution {
	c := w.Config
	m := &shortConvolution{layer: layer, shapes: []tensor.Shape{tensor.ShapeOf(c.Recurrent.Taps-1, c.HiddenSize)}}
	w.placeProjection(model.InputGate, layer, &m.b)
	w.placeProjection(model.OutputGate, layer, &m.c)
	w.placeProjection(model.ConvolutionInput, layer, &m.x)
	w.placeProjection(model.ConvolutionOutput, layer, &m.o)
	m.conv.build(w, model.ConvolutionFilter, layer)
	return m
}

func (m *shortConvolution) remembers() []tensor.Shape { return m.shapes }

// write passes the rows through the jobs' states, which are the last inputs of the convolution.
func (m *shortConvolution) write(p *program, around *residual) {
	r := &p.recurrent
	s := &r.short
	around.project(p, s.projected[:], &m.b, &m.c, &m.x)
	p.do(&backend.MulAssign{A: &s.x, B: &s.b})
	p.call(func() error {
		if err := r.begin(p.jobs, m.layer); err != nil {
			return err
		}
		return r.states.Convolve(0, &s.x, m.conv.weight, m.conv.bias, &s.x)
	})
	p.do(&backend.MulAssign{A: &s.c, B: &s.x})
	around.add(p, &s.c, &m.o)
}
