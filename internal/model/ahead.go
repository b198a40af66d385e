package model

// A head that predicts further tokens continues a model: of the model's final state h after token i, and of token i+1, it computes the logits
// of token i+2. With e the embedding of token i+1, the model's own table and output head, and one layer with a cache of its own,
//
//	x = W·[norm(e); norm(h)];  logits = head(norm(layer(x)))
//
// (DeepSeek-V3, arXiv 2412.19437.) It can go on from its own states in place of the model's. As a Config, the head is a model of that one
// layer, which lacks the table and the output head.

// AheadConfig returns the head that predicts further tokens, if its layer is like the model's last one with attention of its own; nil if the
// model has no such layer. After the head's layer comes OutputNorm, the head's own.
func (c *Config) AheadConfig() *Config {
	last := -1
	for i := range c.Layers {
		if m := c.Layer(i).Mixer; m.Attends() && !m.Recurrent() && m != SharedAttention {
			last = i
		}
	}
	if last < 0 {
		return nil
	}
	h := *c
	h.After, h.Layers, h.Ahead = c.Layers, 1, nil
	h.TiedEmbeddings, h.Deepstack, h.Together, h.Head, h.Encoder = true, 0, Never, Head{}, Encoder{}
	parts := c.Parts
	if parts == (PartSet{}) {
		parts = Usual()
	}
	h.Parts = parts.With(AheadTokenNorm, AheadStateNorm, AheadProjection).Without(Embedding, OutputHead)
	h.FirstWithout = PartSet{}
	h.Curves, h.Windowed, h.NoRoPE, h.Mixers = only(c.Curves, last), only(c.Windowed, last), only(c.NoRoPE, last), only(c.Mixers, last)
	h.FeedForwards, h.Sizes, h.Sparsity = only(c.FeedForwards, last), only(c.Sizes, last), only(c.Sparsity, last)
	h.Recurrent = Recurrent{}
	if h.RoutedLayers() == 0 {
		h.Experts = Experts{}
	}
	h.PerLayerWidth, h.PerLayerVocab, h.Streams, h.LaurelRank = 0, 0, 0, 0
	h.Biases, h.Scales, h.ExpertScaled = nil, nil, nil // which files say of the head's own tensors
	return &h
}

// only returns the element of a list for one layer, as a list; nil if there is no list.
func only[T any](list []T, layer int) []T {
	if list == nil {
		return nil
	}
	return list[layer : layer+1 : layer+1]
}
