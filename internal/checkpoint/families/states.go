package families

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Layers with a state remember something of fixed size of a conversation. config.json lists the layers by their types, or says every how
// many layers there is one with attention. GGUF says the latter, or has for each layer its number of key and value heads, 0 for those
// without attention. For example,
//
//	model      config.json                                           GGUF                         Mixers
//	Qwen 3.5   "full_attention_interval": 4                          full_attention_interval 4    three times DeltaRule, GatedAttention, …
//	LFM2       "layer_types": ["conv", "conv", "full_attention", …]  head_count_kv [0, 0, 8, …]   twice ShortConvolution, Attention, …
//
// The gated delta rule and Mamba 2 have the same parts, by other names: the latter's C, B and x are queries, keys and values.

// The types of layers with a state.
const (
	linearLayer    = "linear_attention" // as transformers 5 calls them
	shortLayer     = "conv"
	mambaLayer     = "mamba"
	attentionLayer = "attention" // a layer with attention; transformers 5 says wholeLayer
)

// The keys of GGUF's metadata for layers with a state, after the architecture's name and a dot.
const (
	stateTapsKey   = "ssm.conv_kernel"
	stateInnerKey  = "ssm.inner_size"     // all value heads together
	stateSizeKey   = "ssm.state_size"     // of a key head
	stateRankKey   = "ssm.time_step_rank" // value heads
	stateGroupsKey = "ssm.group_count"    // key heads
)

// mixersByType makes the mixers of layers those of their types in config.json. usual has the types if config.json does not list them.
func (c *walking) mixersByType(k *keys.Walk, attention, recurrent model.Mixer, usual func(layer int) string) {
	kinds := c.layerTypes(k)
	if kinds == nil {
		for i := range min(max(c.Layers, 0), model.MaxLayers) {
			kinds = append(kinds, usual(i))
		}
	}
	if len(kinds) != c.Layers {
		k.Fail(fmt.Errorf("layer_types has %d entries, the model %d layers", len(kinds), c.Layers))
		return
	}
	for _, kind := range kinds {
		switch kind {
		case wholeLayer, attentionLayer:
			c.Mixers = append(c.Mixers, attention)
		case linearLayer, shortLayer, mambaLayer:
			c.Mixers = append(c.Mixers, recurrent)
		default:
			k.Fail(unsupported.Errorf("layer_types has %.100q; known are %s, %s, %s, %s and %s", kind, wholeLayer, attentionLayer, linearLayer, shortLayer, mambaLayer))
			return
		}
	}
	c.settleMixers()
}

// mixersByHeads makes the mixers of layers those of a GGUF file: layers with heads of keys and values have attention.
func (c *walking) mixersByHeads(recurrent model.Mixer) {
	for i := range min(max(c.Layers, 0), model.MaxLayers) {
		mixer := model.Attention
		if c.Sizes != nil && (i >= len(c.Sizes) || c.Sizes[i].KVHeads == 0) {
			mixer = recurrent
		}
		c.Mixers = append(c.Mixers, mixer)
	}
	for i := range c.Sizes { // the others' sizes
		if c.Sizes[i].KVHeads == 0 {
			c.Sizes[i].KVHeads = c.KVHeads
		}
	}
	c.settleSizes()
	c.settleMixers()
}

// settleSizes leaves the list of sizes out if all layers have the usual ones.
func (c *walking) settleSizes() {
	usual := model.LayerSizes{IntermediateSize: c.IntermediateSize, KVHeads: c.KVHeads, HeadDim: c.HeadDim}
	if !slices.ContainsFunc(c.Sizes, func(s model.LayerSizes) bool { return s != usual }) {
		c.Sizes = nil
	}
}

// settleMixers leaves the list of mixers out if all layers have the usual one.
func (c *walking) settleMixers() {
	if !slices.ContainsFunc(c.Mixers, func(m model.Mixer) bool { return m != model.Attention }) {
		c.Mixers = nil
	}
}

// keyHeadList returns each layer's number of key and value heads for GGUF, 0 for layers without attention; nil if the format has another
// key for these layers.
func keyHeadList(c *model.Config) (list []int) {
	without := func(m model.Mixer) bool { return !m.Attends() }
	if !slices.ContainsFunc(c.Mixers, without) || slices.Contains(c.Mixers, model.DeltaRule) {
		return nil
	}
	for i, m := range c.Mixers {
		heads := c.Layer(i).KVHeads
		if without(m) {
			heads = 0
		}
		list = append(list, heads)
	}
	return list
}

// networkList returns the width of each layer's feed-forward network or experts for GGUF, 0 for layers without; nil if all have one.
func networkList(c *model.Config) (list []int) {
	if !slices.Contains(c.FeedForwards, model.NoFeedForward) {
		return nil
	}
	for i, f := range c.FeedForwards {
		switch f {
		case model.NoFeedForward:
			list = append(list, 0)
		case model.Routed:
			list = append(list, c.Experts.Width)
		default:
			list = append(list, c.Layer(i).IntermediateSize)
		}
	}
	return list
}

// stateSizes walks over GGUF's sizes of a state.
func (c *walking) stateSizes(k *keys.Walk) {
	r := &c.Recurrent
	inner := r.Heads * r.ValueDim
	k.Int("", stateTapsKey, &r.Taps, 0)
	k.Int("", stateSizeKey, &r.KeyDim, 0)
	k.Int("", stateGroupsKey, &r.KeyHeads, 0)
	k.Int("", stateRankKey, &r.Heads, 0)
	k.Int("", stateInnerKey, &inner, 0)
	if k.Reads() && r.Heads > 0 && inner%r.Heads == 0 {
		r.ValueDim = inner / r.Heads
	}
}

// ofState completes the layouts of a tensor of a layer with a state.
func (f *Family) ofState(c *model.Config, is *model.Layer, of *model.Tensor, folder, file *storage.Layout) {
	r, scan := &c.Recurrent, is.Mixer.Scans()
	both := func(s storage.Step) { folder.Steps, file.Steps = []storage.Step{s}, []storage.Step{s} }
	switch of.Part {
	case model.QueryFilter, model.KeyFilter, model.ValueFilter, model.ConvolutionFilter:
		if !of.Bias {
			both(storage.Transposed{})
		}
	case model.Decay:
		folder.Steps = []storage.Step{storage.Decayed{}}
	case model.Skip:
		both(storage.Repeated(r.ValueDim))
	}
	switch {
	case scan && (of.Part == model.Decay || of.Part == model.Skip):
		file.Shape = []int{r.Heads, 1}
	case scan && of.Part == model.RecurrentNorm:
		file.Shape = []int{r.KeyHeads, r.Heads / r.KeyHeads * r.ValueDim}
	}
	if !f.tiled || r.KeyHeads == 0 || r.Heads <= r.KeyHeads {
		return
	}
	heads := func(length int) storage.Order {
		return storage.Tiled{Tiling: model.Tiling{KeyHeads: r.KeyHeads, Repeats: r.Heads / r.KeyHeads, Length: length}}
	}
	switch of.Part {
	case model.RecurrentValue, model.RecurrentGate, model.ValueFilter:
		file.Rows = heads(r.ValueDim)
	case model.RecurrentBeta, model.RecurrentStep, model.StepBias, model.Decay:
		file.Rows = heads(1)
	case model.RecurrentOutput:
		file.Columns = heads(r.ValueDim)
	}
}
