package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// A mix has a base type and rules, tried in their order, that give parts of the model another type. If a row is not made of whole blocks of
// a type, a fallback takes its place: see fitting. For example, q4_k_m and a dense model of 32 layers:
//
//	values, down projections    Q6_K in the layers 0 to 3, in 6, 9, … 27, and in 28 to 31 (moreBits); Q4_K in the others
//	queries, keys, gate, up     Q4_K, the base
//	output head                 Q6_K
//	rows of 896 elements        Q5_0 in place of Q4_K: 896 is 3.5 blocks of 256, and 28 of 32

// mix says which type each tensor of a file gets. The mixes are llama.cpp's (llama-quant.cpp), with its names and numbers.
type mix struct {
	name     string
	fileType uint32       // llama.cpp's number of the mix; 0: that of files of the base
	base     tensor.DType // of what no rule is about
	experts  tensor.DType // of the matrices of experts; 0: as of others
	rules    []rule       // the first rule about a part counts that has its condition fulfilled
}

// rule gives a part of the model another type than the mix's base.
type rule struct {
	part    model.Part
	when    condition // nil: always
	becomes tensor.DType
}

// place is what conditions look at.
type place struct {
	layer, layers int  // of those that have such a part
	queries       int  // heads that share a KV head; 0 if the first layer has no attention and the file says so by its number of KV heads
	importance    bool // there is an importance matrix
	eight         bool // layers have eight experts, much larger than the rest: llama.cpp's rules for Mixtral
}

// condition is when a rule holds.
type condition func(p place) bool

// The conditions.
func firstTwo(p place) bool       { return p.layer < 2 }
func firstFour(p place) bool      { return p.layer < 4 }
func firstSixteenth(p place) bool { return p.layer < p.layers/16 }
func firstEighth(p place) bool    { return p.layer < p.layers/8 }
func manyQueries(p place) bool    { return p.queries >= 4 } // values are small then, and matter to many heads
func blindEighth(p place) bool    { return firstEighth(p) && !p.importance }
func guidedEighth(p place) bool   { return firstEighth(p) && p.importance }

// moreBits holds in the first and the last eighth of the layers, and in every third between them.
func moreBits(p place) bool {
	eighth := p.layers / 8
	return p.layer < eighth || p.layer >= 7*p.layers/8 || (p.layer-eighth)%3 == 2
}

// placeOf returns the part of the model that decides about a tensor's type, and its place. As for llama.cpp, the tensor of queries, keys
// and values of a layer with a state counts as the values of a layer with attention, if it is called attn_qkv.
func (s *source) placeOf(w *weight, importance bool) (model.Part, place) {
	c, part := s.config, w.model.Part
	p := place{layer: w.model.Layer, layers: c.Layers, queries: c.Heads / c.KVHeads, importance: importance, eight: c.Experts.Count == 8}
	delta := slices.Contains(c.Mixers, model.DeltaRule)
	switch {
	case part == model.RecurrentValue && delta:
		part = model.Value
	case part == model.Value && c.Mixers != nil && !delta:
		p.layers = 0
		for i, m := range c.Mixers {
			if m.Attends() && m != model.SharedAttention && m != model.TiedAttention { // which have no values of their own
				p.layers++
			}
			if i == w.model.Layer {
				p.layer = p.layers - 1
			}
		}
	}
	if c.Mixers != nil && !delta && !c.Mixers[0].Attends() {
		p.queries = 0
	}
	return part, p
}

// mixes lists them, with the smallest types last.
var mixes = []mix{
	{name: "f32", base: tensor.F32},
	{name: "f16", base: tensor.F16},
	{name: "bf16", base: tensor.BF16},
	{name: "q8_0", base: tensor.Q8_0},
	{name: "q6_k", base: tensor.Q6_K},
	{name: "mxfp4_moe", fileType: 38, base: tensor.Q8_0, experts: tensor.MXFP4},
	{name: "q5_k_m", fileType: 17, base: tensor.Q5_K, rules: []rule{
		{model.Value, moreBits, tensor.Q6_K}, {model.Down, moreBits, tensor.Q6_K}}},
	{name: "q5_k_s", base: tensor.Q5_K},
	{name: "q5_1", base: tensor.Q5_1},
	{name: "q5_0", base: tensor.Q5_0, rules: []rule{{model.Down, guidedEighth, tensor.Q5_1}}},
	{name: "q4_k_m", fileType: 15, base: tensor.Q4_K, rules: []rule{
		{model.Value, moreBits, tensor.Q6_K}, {model.Down, moreBits, tensor.Q6_K}}},
	{name: "q4_k_s", base: tensor.Q4_K, rules: []rule{
		{model.Value, firstFour, tensor.Q5_K}, {model.Down, firstEighth, tensor.Q5_K}}},
	{name: "q4_1", base: tensor.Q4_1},
	{name: "q4_0", base: tensor.Q4_0, rules: []rule{{model.Down, guidedEighth, tensor.Q4_1}}},
	{name: "iq4_nl", base: tensor.IQ4_NL, rules: []rule{
		{model.Value, manyQueries, tensor.Q5_K}, {model.Down, blindEighth, tensor.Q5_K}}},
	{name: "iq4_xs", base: tensor.IQ4_XS, rules: []rule{
		{model.Value, manyQueries, tensor.Q5_K}, {model.Down, blindEighth, tensor.Q5_K}}},
	{name: "q3_k_l", fileType: 13, base: tensor.Q3_K, rules: []rule{
		{model.Value, nil, tensor.Q5_K}, {model.Down, nil, tensor.Q5_K}, {model.AttentionOutput, nil, tensor.Q5_K}}},
	{name: "q3_k_m", fileType: 12, base: tensor.Q3_K, rules: []rule{
		{model.Value, firstTwo, tensor.Q5_K}, {model.Value, nil, tensor.Q4_K},
		{model.Down, firstSixteenth, tensor.Q5_K}, {model.Down, nil, tensor.Q4_K},
		{model.AttentionOutput, nil, tensor.Q4_K}}},
	{name: "q3_k_s", base: tensor.Q3_K},
	{name: "q2_k", base: tensor.Q2_K, rules: []rule{
		{model.Value, manyQueries, tensor.Q4_K}, {model.Value, nil, tensor.Q3_K},
		{model.Down, nil, tensor.Q3_K}, {model.AttentionOutput, nil, tensor.Q3_K}}},
	{name: "q2_k_s", fileType: 21, base: tensor.Q2_K, rules: []rule{
		{model.Value, manyQueries, tensor.Q4_K}, {model.Down, firstEighth, tensor.Q4_K}}},
}

// fewBits are the mixes that have a better output projection of attention if there are eight experts.
var fewBits = []string{"q2_k", "q3_k_s", "q3_k_m", "q4_k_s", "q4_k_m", "iq4_nl", "iq4_xs"}

// synonyms are short names of mixes, which llama.cpp has too.
var synonyms = map[string]string{"q3_k": "q3_k_m", "q4_k": "q4_k_m", "q5_k": "q5_k_m"}

// manyLayers is a depth, that of Llama 70B. From it on, the values of models with shared KV heads get more bits in every mix.
const manyLayers = 80

// raised is what the types of values become there.
var raised = map[tensor.DType]tensor.DType{tensor.Q3_K: tensor.Q5_K, tensor.Q4_K: tensor.Q5_K}

// fallbacks have for each type with long blocks the one that takes its place if rows are no whole blocks.
var fallbacks = map[tensor.DType]tensor.DType{
	tensor.Q2_K: tensor.Q4_0, tensor.Q3_K: tensor.Q4_0, tensor.Q4_K: tensor.Q5_0, tensor.Q5_K: tensor.Q5_1, tensor.Q6_K: tensor.Q8_0,
	tensor.IQ4_XS: tensor.IQ4_NL,
}

// fitting returns a type with blocks that fill rows of columns elements: d or a fallback, at last f16.
func fitting(d tensor.DType, columns int) tensor.DType {
	for columns%d.BlockLen() != 0 {
		next, ok := fallbacks[d]
		if !ok {
			return tensor.F16
		}
		d = next
	}
	return d
}

// number returns the value of checkpoint.FileTypeKey.
func (m *mix) number() uint32 { return cmp.Or(m.fileType, m.base.Format().FileType()) }

// of returns the type of a part that is no output head.
func (m *mix) of(part model.Part, p place) tensor.DType {
	d := m.base
	if part.Down() {
		part = model.Down
	}
	switch attends := part == model.Value || part == model.Key; {
	case p.eight && attends && d.Quantized():
		return tensor.Q8_0
	case p.eight && part == model.AttentionOutput && slices.Contains(fewBits, m.name):
		return tensor.Q5_K
	case p.eight && part == model.AttentionOutput:
		return d
	}
	for _, r := range m.rules {
		if r.part == part && (r.when == nil || r.when(p)) {
			d = r.becomes
			break
		}
	}
	if up, ok := raised[d]; ok && part == model.Value && p.layers == manyLayers && p.queries > 1 {
		d = up
	}
	return d
}

// head returns the type of the output head, and of the embedding that serves as one. It decides between neighbouring tokens, and so has
// at least six bits.
func (m *mix) head(columns int) tensor.DType {
	switch {
	case !m.base.Quantized() || m.base == tensor.Q8_0:
		return m.base
	case columns%m.base.BlockLen() != 0:
		return tensor.Q8_0
	}
	return tensor.Q6_K
}

// mixNames lists the names of the mixes.
func mixNames() string {
	names := make([]string, len(mixes))
	for i := range mixes {
		names[i] = mixes[i].name
	}
	return strings.Join(names, ", ")
}

// findMix finds a mix by its name, in upper or lower case. It returns nil if there is no such mix.
func findMix(name string) *mix {
	name = strings.ToLower(name)
	if full, ok := synonyms[name]; ok {
		name = full
	}
	for i := range mixes {
		if mixes[i].name == name {
			return &mixes[i]
		}
	}
	return nil
}

// mixValue is a mix as a flag.
type mixValue struct{ mix **mix }

func (v mixValue) String() string {
	if v.mix == nil || *v.mix == nil {
		return ""
	}
	return (*v.mix).name
}

func (v mixValue) Set(s string) error {
	if *v.mix = findMix(s); *v.mix == nil {
		return errUnknownMix
	}
	return nil
}
