package engine

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
)

// ungated is the feed-forward network down(gelu(up(x))) (arXiv 1706.03762, 1606.08415).
type ungated struct {
	up, down projection
	width    int // which of the model's
}

func newUngated(w *Weights, layer int, is *model.Layer) (*ungated, error) {
	if name := w.Config.Activation; name != "gelu" {
		return nil, fmt.Errorf("the activation of a network without a gate is %.100q: %w", name, fault.ErrUnsupported)
	}
	f := &ungated{width: w.widthOf(is)}
	w.placeProjection(model.Up, layer, &f.up)
	w.placeProjection(model.Down, layer, &f.down)
	return f, nil
}

func (f *ungated) write(p *program, around *residual) {
	s := &p.dense[f.width]
	around.activated(p, s.projected[1:], &f.up)
	around.add(p, &s.up, &f.down)
}
