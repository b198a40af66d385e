package engine

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// layer is one block of the transformer (arXiv 2302.13971): a mixer, which lets tokens see each other, and a feed-forward network. Each reads the
// normed stream x, and its result is added to the stream:
//
//	x += post(mixer(norm(x)));  x += post(feedForward(norm(x)))
//
// In some models a layer is one of the two alone, or both read one norm of x. Gemma 4 then adds what an input of the layer's own gives, and scales the result.
// If there are several streams, these lines compute with the first: see alternating.
type layer struct {
	number                         int
	embedded                       norm     // of the embeddings, before the first layer of a model with RMSNorm
	mixer, feedForward             sublayer // nil: the layer is the other one alone
	aroundMixer, aroundFeedForward residual
	streams                        *alternating   // nil: there is one residual stream
	input                          *layerInput    // nil: the layer has no input
	scale                          *tensor.Tensor // [1]: what the result is multiplied by; nil: nothing
}

// sublayer is a mixer or a feed-forward network.
type sublayer interface {
	// write adds f of x += post(f(norm(x))) to a program: it reads norm(x) by around.project, and ends with around.add.
	write(p *program, around *residual)
}

// forward computes the rows of a pass: p.x [rows, hidden] in place.
func (l *layer) forward(p *pass) error {
	return p.program(l.number, programsOf(len(p.scales)), l.write).run()
}

// write adds the layer to a program.
func (l *layer) write(p *program) {
	if l.streams != nil {
		l.streams.mix(p)
	}
	l.embedded.in(p, &p.x)
	if l.mixer != nil {
		l.mixer.write(p, &l.aroundMixer)
	}
	if l.feedForward != nil {
		l.feedForward.write(p, &l.aroundFeedForward)
	}
	switch {
	case l.streams != nil:
		l.streams.follow(p)
		l.streams.give(p, l.input, l.number)
	case l.input != nil:
		l.input.write(p, l.number)
	}
	p.scale(&p.x, p.scales[l.number])
}

// build makes the n-th layer of a model as its configuration says, without its tensors.
func (l *layer) build(w *Weights, n int, is *model.Layer, rotary int) (err error) {
	l.number = n
	w.place(model.LayerScale, n, &l.scale)
	if w.Config.PerLayerWidth != 0 {
		l.input = &layerInput{}
		l.input.build(w, n)
	}
	if w.Config.Streams > 1 {
		if l.streams = newAlternating(w, n); l.input == nil {
			return fmt.Errorf("layer %d: several streams, and no input of the layer: %w", n, fault.ErrUnsupported)
		}
	}
	before := place{part: model.EmbeddingNorm}
	if n == 0 && w.has(before) && !w.Config.LayerNorm {
		l.embedded.build(w, before)
		before = place{part: model.NumParts}
	}
	if n > 0 {
		before = place{part: model.FeedForwardSumNorm, layer: n - 1}
	}
	if err := l.aroundMixer.build(w, n, model.AttentionNorm, model.AttentionPostNorm, before); err != nil {
		return err
	}
	before = place{part: model.AttentionSumNorm, layer: n}
	if err := l.aroundFeedForward.build(w, n, model.FeedForwardNorm, model.FeedForwardPostNorm, before); err != nil {
		return err
	}
	l.aroundFeedForward.norm.again = w.Config.Parallel
	switch is.Mixer {
	case model.Attention, model.TiedAttention, model.GatedAttention:
		a := &attention{gated: is.Mixer == model.GatedAttention, tied: is.Mixer == model.TiedAttention}
		a.build(w, n, is, rotary)
		l.mixer = a
	case model.SharedAttention:
		a := &sharedAttention{}
		a.build(w, n, is, rotary)
		l.mixer = a
	case model.DeltaRule:
		l.mixer = newDeltaRule(w, n)
	case model.SelectiveScan:
		l.mixer = newSelectiveScan(w, n)
	case model.AttentionAndScan:
		l.mixer = newAttentionAndScan(w, n, is, rotary)
	case model.ShortConvolution:
		l.mixer = newShortConvolution(w, n)
	case model.TextAttention:
		a := &textAttention{reach: is.Reach}
		a.build(w, n, is, rotary)
		a.distances = newDistances(w, &a.attention)
		l.mixer = a
	case model.LatentAttention:
		l.mixer = newLatentAttention(w, n, is, rotary)
	case model.NoMixer:
	default:
		return fmt.Errorf("layer %d: a mixer of kind %d: %w", n, is.Mixer, fault.ErrUnsupported)
	}
	if w.Config.LaurelRank > 0 && l.mixer != nil {
		l.mixer = newBypass(w, n, l.mixer)
	}
	switch is.FeedForward {
	case model.Gated:
		l.feedForward, err = newDense(w, n, is)
		return err
	case model.Ungated:
		l.feedForward, err = newUngated(w, n, is)
		return err
	case model.NoFeedForward:
		return nil
	case model.Routed:
		l.feedForward, err = newExperts(w, n)
		return err
	case model.GatedAndRouted:
		l.feedForward, err = newSideBySide(w, n, is)
		return err
	}
	return fmt.Errorf("layer %d: a feed-forward network of kind %d: %w", n, is.FeedForward, fault.ErrUnsupported)
}
