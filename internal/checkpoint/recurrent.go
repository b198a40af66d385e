package checkpoint

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/gguf"
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

// Recurrent is the sizes of layers with a state. The zero value is of models without.
type Recurrent struct {
	Taps int // of the convolutions: how many inputs an output depends on
	// Heads of values, and of queries and keys, and their elements. Heads/KeyHeads value heads share a key head. Short convolutions have no heads.
	Heads, KeyHeads, KeyDim, ValueDim int
	FilterBias                        bool // convolutions have biases
	// Tiled says that the columns of RecurrentOutput are in GGUF's order of heads: see Tiling.
	Tiled bool
}

// Change is an operation on elements when they are read.
type Change uint8

// The changes.
const (
	Unchanged  Change = iota
	Decayed           // Hugging Face has logarithms x, and −eˣ is wanted, which GGUF has
	Transposed        // files have [channels, taps], or [channels, 1, taps], and [taps, channels] is wanted
	Repeated          // each element several times
)

// Tiling is the order of value heads in files of models in which Repeats value heads share a head of queries and keys. Hugging Face
// has the heads that share one after the other, GGUF has the first of each KeyHeads, then the second of each. The zero value stands for the
// same order in both.
type Tiling struct {
	KeyHeads, Repeats int
	Length            int  // of a head
	Columns           bool // the order is that of columns, not of rows
}

// Grouped returns where Hugging Face has a row (or column) that GGUF has at i. For 2 key heads, 2 repeats and a length of 1 the order is
// 0 2 1 3.
func (t Tiling) Grouped(i int) int {
	head, in := i/t.Length, i%t.Length
	return (head%t.KeyHeads*t.Repeats+head/t.KeyHeads)*t.Length + in
}

// Tiled is the inverse of Grouped.
func (t Tiling) Tiled(i int) int {
	head, in := i/t.Length, i%t.Length
	return (head%t.Repeats*t.KeyHeads+head/t.Repeats)*t.Length + in
}

// The sizes of parts of layers with a state.
func recurrentKeys(c *Config, _ *Layer) int   { return c.Recurrent.KeyHeads * c.Recurrent.KeyDim }
func recurrentValues(c *Config, _ *Layer) int { return c.Recurrent.Heads * c.Recurrent.ValueDim }
func recurrentHeads(c *Config, _ *Layer) int  { return c.Recurrent.Heads }
func taps(c *Config, _ *Layer) int            { return c.Recurrent.Taps }
func keyHeads(c *Config, _ *Layer) int        { return c.Recurrent.KeyHeads }
func queryHeads(c *Config, _ *Layer) int      { return c.Heads }
func filterBias(c *Config) bool               { return c.Recurrent.FilterBias }

// recurrentNorm is the length of RecurrentNorm: the gated delta rule norms each head, Mamba all together.
func recurrentNorm(c *Config, l *Layer) int {
	if l.Mixer == SelectiveScan {
		return recurrentValues(c, l)
	}
	return c.Recurrent.ValueDim
}

// bare reports whether the names of a part's tensors end with the part's own name.
func (p Part) bare() bool { return slices.Contains(bareParts, p) }

// bareParts are the parts without a suffix in both formats.
var bareParts = []Part{StepBias, Decay, Skip, RouterCorrection, RouterNorm, ExpertScales, ExpertGateScales, ExpertUpScales}

// owns reports whether a part is one of a mixer with a state, and of no other.
func (m Mixer) owns(p Part) bool { return m.Recurrent() && slices.Contains(m.parts(), p) }

// setRecurrentTensor completes a tensor of a layer with a state.
func (c *Config) setRecurrentTensor(f *family, t *Tensor) {
	r, scan := &c.Recurrent, f.recurrent == SelectiveScan
	switch t.Part {
	case QueryFilter, KeyFilter, ValueFilter, ConvolutionFilter:
		if !t.Bias {
			t.Change = Transposed
		}
	case Decay:
		t.Change = Decayed
	case Skip:
		t.Change, t.Times = Repeated, r.ValueDim
	}
	switch {
	case scan && (t.Part == Decay || t.Part == Skip):
		t.GGUFShape = []int{r.Heads, 1}
	case scan && t.Part == RecurrentNorm:
		t.GGUFShape = []int{1, r.Heads * r.ValueDim}
	}
	if f.tiled && r.KeyHeads > 0 && r.Heads > r.KeyHeads {
		tiling := Tiling{KeyHeads: r.KeyHeads, Repeats: r.Heads / r.KeyHeads, Length: 1}
		switch t.Part {
		case RecurrentValue, RecurrentGate, ValueFilter:
			tiling.Length = r.ValueDim
		case RecurrentOutput:
			tiling.Length, tiling.Columns = r.ValueDim, true
		case RecurrentBeta, RecurrentStep, StepBias, Decay:
		default:
			return
		}
		t.Tiled = tiling
	}
}

// maxTaps is a limit that no model comes near.
const maxTaps = 16

// validate checks that the sizes fit together.
func (r *Recurrent) validate(c *Config) error {
	recurrent, attends := false, c.Mixers == nil
	for i, m := range c.Mixers {
		if int(m) >= len(mixerParts) {
			return fmt.Errorf("the mixer of layer %d is of kind %d", i, m)
		}
		recurrent, attends = recurrent || m.Recurrent(), attends || !m.Recurrent()
	}
	if !recurrent {
		return nil
	}
	if !attends {
		return unsupported("no layer has attention, which is not implemented")
	}
	if r.Taps < 2 || r.Taps > maxTaps {
		return fmt.Errorf("the convolutions have %d taps, not between 2 and %d", r.Taps, maxTaps)
	}
	if !slices.ContainsFunc(c.Mixers, func(m Mixer) bool { return m == DeltaRule || m == SelectiveScan }) {
		return nil
	}
	for _, f := range []struct {
		name       string
		value, max int
	}{{"key heads", r.KeyHeads, maxHeads}, {"value heads", r.Heads, maxHeads}, {"elements of a key head", r.KeyDim, maxHeadDim}, {"elements of a value head", r.ValueDim, maxHeadDim}} {
		if f.value < 1 || f.value > f.max {
			return fmt.Errorf("layers with a state have %d %s, not between 1 and %d", f.value, f.name, f.max)
		}
	}
	widest := max(r.Heads*r.ValueDim, r.KeyHeads*r.KeyDim)
	switch {
	case r.Heads%r.KeyHeads != 0:
		return fmt.Errorf("%d value heads cannot share %d key heads evenly", r.Heads, r.KeyHeads)
	case widest > maxWidth || widest > maxSpread*c.HiddenSize:
		return fmt.Errorf("%d heads of %d and %d heads of %d elements are too wide for hidden_size, which is %d", r.Heads, r.ValueDim, r.KeyHeads, r.KeyDim, c.HiddenSize)
	}
	return nil
}

// StateElements returns how many elements the states of a conversation have in a layer's mixer.
func (c *Config) StateElements(m Mixer) int64 {
	r := &c.Recurrent
	past := int64(r.Taps - 1)
	switch m {
	case ShortConvolution:
		return past * int64(c.HiddenSize)
	case DeltaRule, SelectiveScan:
		const block = 16 // columns lie in blocks: see backend.StateShape
		wide := int64(r.Heads) * int64(r.ValueDim)
		return past*(wide+2*int64(r.KeyHeads)*int64(r.KeyDim)) + int64(r.Heads)*int64((r.ValueDim+block-1)/block*block)*int64(r.KeyDim)
	}
	return 0
}

// recurrentJSON is what config.json says of layers with a state.
type recurrentJSON struct {
	Taps            *int     `json:"linear_conv_kernel_dim,omitempty" whole:"4.0"`
	KeyDim          *int     `json:"linear_key_head_dim,omitempty" whole:"4.0"`
	ValueDim        *int     `json:"linear_value_head_dim,omitempty" whole:"4.0"`
	KeyHeads        *int     `json:"linear_num_key_heads,omitempty" whole:"4.0"`
	ValueHeads      *int     `json:"linear_num_value_heads,omitempty" whole:"4.0"`
	FullEvery       *int     `json:"full_attention_interval,omitempty" whole:"4.0"`
	OutputGate      *bool    `json:"attn_output_gate,omitempty"`
	ShortTaps       *int     `json:"conv_L_cache,omitempty" whole:"4.0"`
	ShortBias       *bool    `json:"conv_bias,omitempty"`
	FullLayers      []int    `json:"full_attn_idxs,omitempty"`
	ShortWidth      *int     `json:"conv_dim,omitempty" whole:"4.0"`
	FeedWidth       *int     `json:"block_ff_dim,omitempty" whole:"4.0"`
	FeedAdjusts     *bool    `json:"block_auto_adjust_ff_dim,omitempty"`
	FeedTimes       *float64 `json:"block_ffn_dim_multiplier,omitempty"`
	FeedMultiple    *int     `json:"block_multiple_of,omitempty" whole:"4.0"`
	Tied            *bool    `json:"tie_embedding,omitempty"`
	Theta           *float64 `json:"theta,omitempty"`
	MambaHeads      *int     `json:"mamba_n_heads,omitempty" whole:"4.0"`
	MambaGroups     *int     `json:"mamba_n_groups,omitempty" whole:"4.0"`
	MambaState      *int     `json:"mamba_d_state,omitempty" whole:"4.0"`
	MambaHeadDim    any      `json:"mamba_d_head,omitempty"` // a number, or "auto"
	MambaTaps       *int     `json:"mamba_d_conv,omitempty" whole:"4.0"`
	MambaExpand     *int     `json:"mamba_expand,omitempty" whole:"4.0"`
	MambaFilterBias *bool    `json:"mamba_conv_bias,omitempty"`
	MambaBias       *bool    `json:"mamba_proj_bias,omitempty"`
	MambaSteps      []any    `json:"time_step_limit,omitempty"`
}

// The types of layers with a state.
const (
	linearLayer = "linear_attention" // as transformers 5 calls them
	shortLayer  = "conv"
	mambaLayer  = "mamba"
)

// setRecurrent reads which layers have a state, and of what sizes.
func (j *configJSON) setRecurrent(c *Config, f *family) error {
	if f.recurrent == Attention {
		return nil
	}
	if err := j.setRecurrentLayers(c, f); err != nil {
		return err
	}
	r := &c.Recurrent
	switch f.recurrent {
	case DeltaRule:
		if !or(j.OutputGate, true) {
			return unsupported("attn_output_gate is false; attention without a gate is not implemented for the architecture %s", f.name)
		}
		*r = Recurrent{Taps: or(j.Taps, 4), KeyHeads: or(j.KeyHeads, 16), Heads: or(j.ValueHeads, 32), KeyDim: or(j.KeyDim, 128), ValueDim: or(j.ValueDim, 128)}
	case ShortConvolution:
		if or(j.ShortBias, false) || or(j.ShortWidth, c.HiddenSize) != c.HiddenSize {
			return unsupported("conv_bias is %v and conv_dim %d; only convolutions without biases that are as wide as hidden_size, %d, are implemented",
				or(j.ShortBias, false), or(j.ShortWidth, c.HiddenSize), c.HiddenSize)
		}
		r.Taps, c.RMSNormEps = or(j.ShortTaps, 3), or(j.NormEps, f.defaults.eps)
		c.TiedEmbeddings, c.RoPE.Theta = or(j.TiedEmbeddings, or(j.Tied, true)), or(j.RoPETheta, or(j.Theta, f.defaults.theta))
		c.IntermediateSize = j.shortFeedForward()
	case SelectiveScan:
		return j.setScan(c)
	}
	return nil
}

// setRecurrentLayers reads which layers have a state.
func (j *configJSON) setRecurrentLayers(c *Config, f *family) error {
	n := min(max(c.Layers, 0), maxLayers)
	kinds := j.LayerTypes
	switch {
	case kinds != nil:
	case f.recurrent == DeltaRule:
		every := max(or(j.FullEvery, f.defaults.every), 1)
		for i := range n {
			kinds = append(kinds, map[bool]string{false: linearLayer, true: wholeLayer}[(i+1)%every == 0])
		}
	case f.recurrent == ShortConvolution:
		for i := range n {
			kinds = append(kinds, map[bool]string{false: shortLayer, true: wholeLayer}[j.FullLayers == nil || slices.Contains(j.FullLayers, i)])
		}
	default:
		kinds = slices.Repeat([]string{mambaLayer}, n)
	}
	if len(kinds) != c.Layers {
		return fmt.Errorf("layer_types has %d entries, the model %d layers", len(kinds), c.Layers)
	}
	for _, kind := range kinds {
		switch kind {
		case wholeLayer, attentionLayer:
			c.Mixers = append(c.Mixers, f.attention)
		case linearLayer, shortLayer, mambaLayer:
			c.Mixers = append(c.Mixers, f.recurrent)
		default:
			return unsupported("layer_types has %.100q; known are %s, %s, %s, %s and %s", kind, wholeLayer, attentionLayer, linearLayer, shortLayer, mambaLayer)
		}
	}
	c.settleMixers()
	return nil
}

// shortFeedForward returns the width of LFM2's feed-forward networks, which files give before it is made two thirds of itself and a multiple of
// a number.
func (j *configJSON) shortFeedForward() int {
	width := or(j.FeedWidth, j.IntermediateSize)
	if !or(j.FeedAdjusts, true) || width > 2*maxWidth {
		return width
	}
	width = int(or(j.FeedTimes, 1) * float64(2*width/3))
	multiple := max(or(j.FeedMultiple, 256), 1)
	return (min(width, 2*maxWidth) + multiple - 1) / multiple * multiple
}

// setScan reads the sizes of Mamba's layers.
func (j *configJSON) setScan(c *Config) error {
	r := &c.Recurrent
	*r = Recurrent{Taps: or(j.MambaTaps, 4), KeyHeads: or(j.MambaGroups, 1), Heads: or(j.MambaHeads, 128), KeyDim: or(j.MambaState, 256), FilterBias: or(j.MambaFilterBias, true)}
	wide := min(or(j.MambaExpand, 2), maxSpread+1) * c.HiddenSize
	if r.Heads > 0 {
		r.ValueDim = wide / r.Heads
	}
	if n, ok := j.MambaHeadDim.(float64); ok && n >= 0 && n <= maxHeadDim+1 {
		r.ValueDim = int(n)
	}
	switch limits := j.MambaSteps; {
	case c.Mixers == nil:
		*r = Recurrent{} // the keys have defaults
	case r.KeyHeads != 1:
		return unsupported("mamba_n_groups is %d; only 1 is implemented", r.KeyHeads)
	case or(j.MambaBias, false):
		return unsupported("mamba_proj_bias is true; only projections without biases are implemented")
	case r.Heads*r.ValueDim != wide:
		return fmt.Errorf("%d heads of %d elements (mamba_n_heads, mamba_d_head) are not mamba_expand times hidden_size, which is %d", r.Heads, r.ValueDim, wide)
	case len(limits) == 2 && (limits[0] != 0.0 || !infinite(limits[1])):
		return unsupported("time_step_limit is %v; only steps without limits are implemented", limits)
	}
	return nil
}

// infinite reports whether a value of a configuration is infinity, as Python and transformers write it.
func infinite(v any) bool {
	if object, ok := v.(map[string]any); ok {
		v = object["__float__"]
	}
	return v == "Infinity"
}

// The keys of GGUF's metadata for layers with a state, after the architecture's name and a dot.
const (
	stateTapsKey     = "ssm.conv_kernel"
	stateInnerKey    = "ssm.inner_size"     // all value heads together
	stateSizeKey     = "ssm.state_size"     // of a key head
	stateRankKey     = "ssm.time_step_rank" // value heads
	stateGroupsKey   = "ssm.group_count"    // key heads
	shortTapsKey     = "shortconv.l_cache"
	fullEveryKey     = "full_attention_interval"
	recurrentListKey = "attention.recurrent_layers" // a truth for each layer
	sectionsKey      = "rope.dimension_sections"
	aheadKey         = "nextn_predict_layers" // layers that predict several tokens at once, which block_count counts
	keyHeadsKey      = "attention.head_count_kv"
)

// readRecurrent is setRecurrent for a GGUF file.
func (k metadata) readRecurrent(c *Config, f *family) error {
	if f.recurrent == Attention {
		return nil
	}
	const most = maxWidth + 1 // validate refuses it
	n := min(max(c.Layers, 0), maxLayers)
	attends := make([]bool, n)
	if f.recurrent == DeltaRule {
		every := max(first(k.number(fullEveryKey, 0, most), f.defaults.every), 1)
		attends = everyNth(n, every)
		if _, ok := k.Value(k.prefix + recurrentListKey); ok {
			list := listOf(k.keyReader, k.prefix+recurrentListKey, gguf.Value.Bools, "a truth for each layer")
			if len(list) < n {
				return fmt.Errorf("%s has %d entries, the model %d layers", k.prefix+recurrentListKey, len(list), n)
			}
			for i := range attends {
				attends[i] = !list[i]
			}
		}
	} else {
		for i := range attends {
			attends[i] = c.Sizes == nil || i < len(c.Sizes) && c.Sizes[i].KVHeads > 0
		}
	}
	for i := range c.Sizes { // the others' sizes
		if c.Sizes[i].KVHeads == 0 {
			c.Sizes[i].KVHeads = c.KVHeads
		}
	}
	usual := LayerSizes{c.IntermediateSize, c.KVHeads, c.HeadDim}
	if !slices.ContainsFunc(c.Sizes, func(s LayerSizes) bool { return s != usual }) {
		c.Sizes = nil
	}
	for _, full := range attends {
		c.Mixers = append(c.Mixers, map[bool]Mixer{false: f.recurrent, true: f.attention}[full])
	}
	if c.settleMixers(); c.Mixers == nil {
		c.Family = first(f.allGGUF, c.Family)
		return nil
	}
	r := &c.Recurrent
	if f.recurrent == ShortConvolution {
		r.Taps = k.number(shortTapsKey, 0, most)
		return nil
	}
	*r = Recurrent{
		Taps: k.number(stateTapsKey, 0, most), KeyHeads: k.number(stateGroupsKey, 0, most), Heads: k.number(stateRankKey, 0, most), KeyDim: k.number(stateSizeKey, 0, most),
		Tiled: f.tiled,
	}
	if inner := k.number(stateInnerKey, 0, most); r.Heads > 0 && inner%r.Heads == 0 {
		r.ValueDim = inner / r.Heads
	}
	if f.recurrent == SelectiveScan {
		for i, m := range c.Mixers {
			if _, ok := k.Tensor(layersGGUF + fmt.Sprint(i) + ".ssm_conv1d.bias"); ok && m.Recurrent() {
				r.FilterBias = true
			}
		}
		if r.KeyHeads != 1 {
			return unsupported("%s is %d; only 1 is implemented", k.prefix+stateGroupsKey, r.KeyHeads)
		}
	}
	return nil
}

// recurrentMetadata describes layers with a state in GGUF's keys.
func (c *Config) recurrentMetadata(f *family, prefix string) (list []gguf.KeyValue) {
	if !slices.ContainsFunc(c.Mixers, Mixer.Recurrent) {
		return nil
	}
	add := func(key string, v gguf.Value) { list = append(list, gguf.KeyValue{Key: prefix + key, Value: v}) }
	number := func(key string, n int) { add(key, gguf.ValueOf(uint32(n))) }
	r := &c.Recurrent
	if f.recurrent == ShortConvolution {
		number(shortTapsKey, r.Taps)
		return list
	}
	number(stateTapsKey, r.Taps)
	number(stateSizeKey, r.KeyDim)
	number(stateGroupsKey, r.KeyHeads)
	number(stateRankKey, r.Heads)
	number(stateInnerKey, r.Heads*r.ValueDim)
	if f.recurrent != DeltaRule {
		return list
	}
	every := slices.IndexFunc(c.Mixers, func(m Mixer) bool { return !m.Recurrent() }) + 1
	attends, states, uneven := everyNth(c.Layers, every), make([]bool, c.Layers), false
	for i, m := range c.Mixers {
		states[i] = m.Recurrent()
		uneven = uneven || states[i] == attends[i]
	}
	number(fullEveryKey, every)
	if uneven {
		add(recurrentListKey, gguf.ArrayOf(states))
	}
	// llama.cpp asks for the parts of positions of images, which in a text are the same number: a third of the pairs each.
	pairs := int32(c.RoPE.pairs(c.HeadDim))
	add(sectionsKey, gguf.ArrayOf([]int32{(pairs + 2) / 3, (pairs + 1) / 3, pairs / 3, 0}))
	return list
}

// keyHeadList returns each layer's number of key and value heads for GGUF, 0 for layers without attention; nil if the format has another
// key for these layers.
func (c *Config) keyHeadList(f *family) (list []int32) {
	if f.recurrent != ShortConvolution && f.recurrent != SelectiveScan || !slices.ContainsFunc(c.Mixers, Mixer.Recurrent) {
		return nil
	}
	for i, m := range c.Mixers {
		heads := int32(c.layerSizes(i).KVHeads)
		if m.Recurrent() {
			heads = 0
		}
		list = append(list, heads)
	}
	return list
}

// settleMixers leaves the list of mixers out if all layers have the usual one.
func (c *Config) settleMixers() {
	if !slices.ContainsFunc(c.Mixers, func(m Mixer) bool { return m != Attention }) {
		c.Mixers = nil
	}
}
