package checkpoint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// Gemma 4's layers differ in their sizes: those with a window have other heads than those without. The last layers may have queries alone, and read
// the keys and values of the last layer before them that is of their kind. Of eight layers the last four share, and every fourth has no window:
//
//	layer       0  1  2  3     4  5  6  7
//	window      x  x  x        x  x  x
//	reads       0  1  2  3     2  2  2  3
//
// E2B and E4B have inputs for each layer besides, which come from tables that tokens are looked up in.

// sharedLayersName is how many of the last layers read the keys and values of earlier ones.
const sharedLayersName = "num_kv_shared_layers"

// inputWidthName is the width of the inputs that layers have of their own.
const inputWidthName = "hidden_size_per_layer_input"

// layersJSON is what config.json says of layers of several sizes.
type layersJSON struct {
	DoubleWide     bool                     `json:"use_double_wide_mlp,omitempty"` // of the layers that share
	MoEBlock       bool                     `json:"enable_moe_block,omitempty"`    // each layer has experts besides its dense network
	GlobalHeadDim  *int                     `json:"global_head_dim,omitempty" whole:"4.0"`
	GlobalKVHeads  *int                     `json:"num_global_key_value_heads,omitempty" whole:"4.0"`
	PerLayerWidth  *int                     `json:"hidden_size_per_layer_input,omitempty" whole:"4.0"`
	InputVocab     *int                     `json:"vocab_size_per_layer_input,omitempty" whole:"4.0"`
	KeysAreValues  bool                     `json:"attention_k_eq_v,omitempty"` // in layers without a window
	PerLayer       map[string]layerSizeJSON `json:"per_layer_config,omitempty"` // by the layers' numbers, instead of the global sizes
	SharedKVLayers int                      `json:"num_kv_shared_layers,omitempty"`
}

// layerSizeJSON are the sizes of a layer that has its own. A member that is nothing known is an error.
type layerSizeJSON struct{ HeadDim, KVHeads, IntermediateSize *int }

// UnmarshalJSON reads an object.
func (l *layerSizeJSON) UnmarshalJSON(b []byte) error {
	var members map[string]json.RawMessage
	if err := modeljson.Unmarshal(b, &members); err != nil {
		return err
	}
	fields := map[string]**int{"head_dim": &l.HeadDim, "num_key_value_heads": &l.KVHeads, "intermediate_size": &l.IntermediateSize}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		field := fields[key]
		if field == nil {
			return unsupported("%.100q of a layer's own configuration is not implemented; known are %v", key, slices.Sorted(maps.Keys(fields)))
		}
		if err := modeljson.Unmarshal(members[key], field); err != nil {
			return err
		}
	}
	return nil
}

// setLayers gives layers their own sizes, once c.Windowed is known.
func (j *configJSON) setLayers(c *Config, f *family) error {
	if j.MoEBlock && f.experts == nil {
		return unsupported("enable_moe_block is true: experts are not implemented for the architecture %s", f.name)
	}
	if c.Layers < 1 || c.Layers > maxLayers || len(c.Windowed) != c.Layers {
		return fmt.Errorf("layer_types has %d entries, the model %d layers", len(c.Windowed), c.Layers)
	}
	c.Windowed[c.Layers-1] = false // as transformers does, whatever layer_types says
	shared := j.SharedKVLayers
	if shared < 0 || shared >= c.Layers {
		return fmt.Errorf("%s is %d, of %d layers: the first layer has none to share with", sharedLayersName, shared, c.Layers)
	}
	c.makeSizes()
	for i := range c.Sizes {
		s := &c.Sizes[i]
		if j.PerLayer == nil && !c.Windowed[i] {
			s.HeadDim = or(j.GlobalHeadDim, 512)
			if j.KeysAreValues {
				s.KVHeads = or(j.GlobalKVHeads, s.KVHeads)
			}
		}
		if j.DoubleWide && i >= c.Layers-shared {
			s.IntermediateSize = 2 * min(s.IntermediateSize, maxWidth)
		}
	}
	for key, own := range j.PerLayer {
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= c.Layers {
			return fmt.Errorf("per_layer_config has %.100q, which is no layer of %d", key, c.Layers)
		}
		s := &c.Sizes[i]
		s.HeadDim, s.KVHeads, s.IntermediateSize = or(own.HeadDim, s.HeadDim), or(own.KVHeads, s.KVHeads), or(own.IntermediateSize, s.IntermediateSize)
	}
	c.setMixers(shared, func(layer int) bool { return j.KeysAreValues && !c.Windowed[layer] })
	if f.hasPart(PerLayerEmbedding) {
		c.PerLayerWidth = or(j.PerLayerWidth, 256)
	}
	if vocab := or(j.InputVocab, 262144); c.PerLayerWidth != 0 && vocab != c.VocabSize {
		return unsupported("vocab_size_per_layer_input is %d, vocab_size %d: only the same number is implemented", vocab, c.VocabSize)
	}
	return nil
}

// defaultWindow returns the window of layers of several sizes if nothing is said; 0 for other families: there files say it.
func (f *family) defaultWindow() int {
	if f.unscaled {
		return f.defaults.window
	}
	return 0
}

// makeSizes gives each layer sizes of its own, those of all so far.
func (c *Config) makeSizes() {
	if c.Sizes != nil {
		return
	}
	c.Sizes = make([]LayerSizes, min(max(c.Layers, 0), maxLayers))
	for i := range c.Sizes {
		c.Sizes[i] = LayerSizes{c.IntermediateSize, c.KVHeads, c.HeadDim}
	}
}

// setMixers gives each layer its kind of attention: the last `shared` ones share, and those that tied names have no values of their own. Then it
// makes the configuration's sizes the largest of the layers'.
func (c *Config) setMixers(shared int, tied func(layer int) bool) {
	c.Mixers = make([]Mixer, c.Layers)
	c.IntermediateSize, c.KVHeads, c.HeadDim = 0, 0, 0
	for i, s := range c.Sizes {
		switch {
		case i >= c.Layers-shared:
			c.Mixers[i] = SharedAttention
		case tied(i):
			c.Mixers[i] = TiedAttention
		}
		c.IntermediateSize, c.KVHeads, c.HeadDim = max(c.IntermediateSize, s.IntermediateSize), max(c.KVHeads, s.KVHeads), max(c.HeadDim, s.HeadDim)
	}
}

// ropeOf returns the RoPE of a layer, one without any turn if the layer does not rotate.
func (c *Config) ropeOf(layer int) *RoPE {
	if l := c.Layer(layer); l.RoPE != nil {
		return l.RoPE
	}
	return &RoPE{}
}

// The keys of GGUF's metadata for layers of several sizes.
const (
	sharedLayersKey     = "attention.shared_kv_layers"
	inputWidthKey       = "embedding_length_per_layer_input"
	localKeyLengthKey   = "attention.key_length_swa"
	localValueLengthKey = "attention.value_length_swa"
	localRotatedKey     = "rope.dimension_count_swa"
	stillDivisor        = 1e30 // what the frequencies of pairs are divided by that do not turn
)

// readLayers reads sizes of layers, once c.Windowed is known.
func (k metadata) readLayers(c *Config, f *family) error {
	if c.Layers < 1 || c.Layers > maxLayers || len(c.Windowed) != c.Layers {
		return fmt.Errorf("%s has %d entries, the model %d layers", k.prefix+windowPatternKey, len(c.Windowed), c.Layers)
	}
	shared := k.number(sharedLayersKey, 0, maxLayers)
	if shared >= c.Layers {
		return fmt.Errorf("%s is %d, of %d layers: the first layer has none to share with", k.prefix+sharedLayersKey, shared, c.Layers)
	}
	c.makeSizes()
	if local := k.number(localKeyLengthKey, -1, maxHeadDim+1); local >= 0 {
		for i := range c.Sizes {
			if c.Windowed[i] {
				c.Sizes[i].HeadDim = local
			}
		}
		for _, key := range []string{localRotatedKey, localValueLengthKey} {
			if n := k.number(key, local, maxHeadDim+1); n != local {
				return unsupported("%s is %d, and heads have %d elements; only the same number is implemented", k.prefix+key, n, local)
			}
		}
	}
	c.setMixers(shared, func(layer int) bool {
		_, has := k.Tensor(Value.GGUF(layer, false))
		return !has
	})
	c.PerLayerWidth = k.number(inputWidthKey, 0, maxWidth+1)
	return c.RoPE.readStill()
}

// readStill makes GGUF's divisors, by which some pairs do not turn, RotatedPairs.
func (r *RoPE) readStill() error {
	if r.Divisors == nil {
		return nil
	}
	turned := 0
	for turned < len(r.Divisors) && r.Divisors[turned] == 1 {
		turned++
	}
	for _, d := range r.Divisors[turned:] {
		if d != stillDivisor {
			return unsupported("%s has %g after %d pairs of elements that turn; only %g, which leaves a pair still, is implemented", DivisorsGGUF, d, turned, float32(stillDivisor))
		}
	}
	if turned < len(r.Divisors) {
		r.RotatedPairs = turned
		if turned == 0 {
			return unsupported("%s leaves all pairs of elements still", DivisorsGGUF)
		}
	}
	r.Divisors = nil
	return nil
}

// stillDivisors is the inverse of readStill, for heads of a length.
func (r *RoPE) stillDivisors(headDim int) []float32 {
	list := make([]float32, headDim/2)
	for i := range list {
		list[i] = 1
		if i >= r.RotatedPairs {
			list[i] = stillDivisor
		}
	}
	return list
}

// headDims returns the lengths of heads of layers without and with a window; if there are no such layers, the largest.
func (c *Config) headDims() (whole, local int) {
	for i, s := range c.Sizes {
		if c.Windowed != nil && c.Windowed[i] {
			local = s.HeadDim
		} else {
			whole = s.HeadDim
		}
	}
	return first(whole, c.HeadDim), first(local, c.HeadDim)
}

// layersMetadata describes layers of several sizes in GGUF's keys.
func (c *Config) layersMetadata(prefix string) []gguf.KeyValue {
	if !familyOf(c.Family).unscaled {
		return nil
	}
	shared := 0
	for _, m := range c.Mixers {
		if m == SharedAttention {
			shared++
		}
	}
	_, local := c.headDims()
	number := func(key string, v int) gguf.KeyValue {
		return gguf.KeyValue{Key: prefix + key, Value: gguf.ValueOf(uint32(v))}
	}
	return []gguf.KeyValue{
		number(sharedLayersKey, shared), number(inputWidthKey, c.PerLayerWidth), number(localKeyLengthKey, local), number(localValueLengthKey, local), number(localRotatedKey, local),
	}
}
