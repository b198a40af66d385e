package engine

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
)

// layer is one block of the transformer (arXiv 2302.13971): a mixer, which lets tokens see each other, and a feed-forward network. Each reads the
// normed stream x, and its result is added to the stream:
//
//	x += post(mixer(norm(x)));  x += post(feedForward(norm(x)))
type layer struct {
	mixer, feedForward             sublayer
	aroundMixer, aroundFeedForward residual
}

// sublayer is a mixer or a feed-forward network.
type sublayer interface {
	// forward computes the rows of a pass, f of x += post(f(norm(x))): it reads norm(x) by around.project, and ends with around.add.
	forward(p *pass, around *residual) error
}

// forward computes the rows of a pass: p.x [rows, hidden] in place.
func (l *layer) forward(p *pass) error {
	if err := l.mixer.forward(p, &l.aroundMixer); err != nil {
		return err
	}
	return l.feedForward.forward(p, &l.aroundFeedForward)
}

// build makes the n-th layer of a model as its configuration says, without its tensors.
func (l *layer) build(w *Weights, n int, is *checkpoint.Layer, rotary int) (err error) {
	if c := w.Config; is.LayerSizes != (checkpoint.LayerSizes{IntermediateSize: c.IntermediateSize, KVHeads: c.KVHeads, HeadDim: c.HeadDim}) {
		return fmt.Errorf("layer %d: sizes of its own, %+v: %w", n, is.LayerSizes, fault.ErrUnsupported)
	}
	before := place{part: checkpoint.EmbeddingNorm}
	if n > 0 {
		before = place{part: checkpoint.FeedForwardSumNorm, layer: n - 1}
	}
	if err := l.aroundMixer.build(w, n, checkpoint.AttentionNorm, checkpoint.AttentionPostNorm, before); err != nil {
		return err
	}
	before = place{part: checkpoint.AttentionSumNorm, layer: n}
	if err := l.aroundFeedForward.build(w, n, checkpoint.FeedForwardNorm, checkpoint.FeedForwardPostNorm, before); err != nil {
		return err
	}
	switch is.Mixer {
	case checkpoint.Attention, checkpoint.GatedAttention:
		a := &attention{gated: is.Mixer == checkpoint.GatedAttention}
		a.build(w, n, rotary)
		l.mixer = a
	case checkpoint.DeltaRule:
		l.mixer = newDeltaRule(w, n)
	case checkpoint.SelectiveScan:
		l.mixer = newSelectiveScan(w, n)
	case checkpoint.ShortConvolution:
		l.mixer = newShortConvolution(w, n)
	case checkpoint.TextAttention:
		a := &textAttention{reach: is.Reach}
		a.build(w, n, rotary)
		l.mixer = a
	default:
		return fmt.Errorf("layer %d: a mixer of kind %d: %w", n, is.Mixer, fault.ErrUnsupported)
	}
	switch is.FeedForward {
	case checkpoint.Gated:
		l.feedForward, err = newDense(w, n)
		return err
	case checkpoint.Ungated:
		l.feedForward, err = newUngated(w, n)
		return err
	}
	return fmt.Errorf("layer %d: a feed-forward network of kind %d: %w", n, is.FeedForward, fault.ErrUnsupported)
}
