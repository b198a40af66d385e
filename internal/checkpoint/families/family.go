package families

import (
	"cmp"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Family is what an architecture has that Llama has not, and the other way round. The zero value, but for its names, is Llama. For example, the entry of
// qwen2 says
//
//	biased, bare: AttentionOutput           queries, keys and values have biases, the output of attention has no bias
//	unpaired                                GGUF has the rows of queries and keys in Hugging Face's order
//	window: {rule: fromLayer, …}            with use_sliding_window, layers from max_window_layers on have a window
//
// and of gemma3, with the rule exceptEvery and 6 for every, layers 0 to 4 have a window, layer 5 sees all positions, and so on.
type Family struct {
	Name  string // GGUF's name of the architecture, with which its keys begin
	Type  string // config.json's model_type
	Class string // what config.json calls the program

	textTypes []string // other values of it, of models of text within wrappers and of wrappers that have the keys of text among their own

	gguf      string   // GGUF's name of the architecture if it is another one; "": it is Name
	alsoGGUF  []string // other names there that differ in nothing that counts for text
	ggufPlain string   // that if all layers have attention and no layer has experts; "": the usual one
	ggufMoE   string   // that if all layers have attention, and some have experts
	adapts    string   // another architecture, if its adapters fit

	// Parts.
	with        []model.Part               // that Llama has not
	without     []model.Part               // that Llama has
	huggingFace map[model.Part]string      // names other than those of the table of names
	ggufNames   map[model.Part]string      // the same for GGUF
	fused       map[model.Part]fusedPart   // parts that are some of the rows of a tensor
	fusedGGUF   map[model.Part]fusedPart   // the same for GGUF alone
	layers      string                     // with what the names of the parts of layers begin in folders; "": as Llama's
	bare        bool                       // the output of attention has no bias, though queries, keys and values may have
	biased      bool                       // queries, keys and values always have biases
	unpaired    bool                       // GGUF has the rows of queries and keys in Hugging Face's order
	plusOne     bool                       // Hugging Face stores the weights of norms less one
	jointNorms  bool                       // a norm of queries or keys is of all heads together, not of each head
	valueNorm   bool                       // see model.Layer.ValueNorm
	tiled       bool                       // GGUF has value heads in another order: see model.Tiling
	strips      bool                       // added tokens of SentencePiece vocabularies take the white space after them, which GGUF does not say
	judges      bool                       // its reranker scores texts by the tokens yes and no, also if its files do not say so
	activation  string                     // of the feed-forward layer, as Hugging Face names it; "": silu
	rootScaled  bool                       // embeddings are multiplied by the square root of the width, rounded to BF16
	scoreScale  float64                    // what scores of attention are always multiplied by; 0: a file says it, or nothing does
	encoding                               // of a family that reads a text as a whole
	window      windows                    // which layers have a sliding window
	rope        ropes                      // what distinguishes RoPE
	experts     *expertRule                // nil: the family has no layers with experts
	keys        func(*walking, *keys.Walk) // its own keys; nil: there are no such keys

	defaults defaults
}

// defaults are what config.json need not say.
type defaults struct {
	tied                           bool
	eps                            float32
	headDim                        int
	heads, kvHeads, vocab, context int // of families with wrappers that leave out usual values
}

// The families, in the order in which errors and lists have them.
var all = slices.Concat(llamas, mistrals, qwens, smollms, granites, glms, gptosses, qwensWithStates, lfm2s, phis, olmos, gemmas, gemma4s, berts)

// All returns the families.
func All() []*Family { return all }

// Of returns the family of a configuration; Llama's if the name is unknown.
func Of(c *model.Config) *Family {
	for _, f := range all {
		if f.Name == c.Family {
			return f
		}
	}
	return all[0]
}

// ByType returns the family of config.json's model_type, and an error that lists all of them if there is no such family. bidirectional is what config.json
// says of use_bidirectional_attention: some families differ in nothing else.
func ByType(name string, bidirectional any) (*Family, error) {
	f, err := by("model_type", name, func(f *Family) []string { return append([]string{f.Type}, f.textTypes...) })
	if err != nil || bidirectional == nil || bidirectional == false || f.whole || bidirectional == "vision" { // which is of tokens that stand for images
		return f, err
	}
	for _, other := range all {
		if bidirectional == true && other.whole && other.Type == f.Type {
			return other, nil
		}
	}
	return nil, unsupported.Errorf("use_bidirectional_attention is %.100v, which is not implemented for the architecture %s", bidirectional, f.Name)
}

// ByArchitecture returns the family of a GGUF file, by general.architecture, which has the key `key`, and by whether the model has experts.
func ByArchitecture(key, name string, experts bool) (*Family, error) {
	f, err := by(key, name, func(f *Family) []string { return append([]string{f.architecture()}, f.alsoGGUF...) })
	if err != nil || !experts || f.experts != nil {
		return f, err
	}
	for _, other := range all {
		if other.experts != nil && other.architecture() == name {
			return other, nil
		}
	}
	return f, nil
}

// by returns the first family with a name.
func by(key, name string, names func(f *Family) []string) (*Family, error) {
	var known []string
	for _, f := range all {
		if slices.Contains(names(f), name) {
			return f, nil
		}
		known = append(known, names(f)[0])
	}
	slices.Sort(known)
	return nil, unsupported.Errorf("%s is %.100q; known are %s", key, name, strings.Join(slices.Compact(known), ", "))
}

// Adapts returns the architecture for which adapters are made that fit a GGUF file's architecture.
func Adapts(architecture string) string {
	for _, f := range all {
		if f.architecture() == architecture || slices.Contains(f.alsoGGUF, architecture) {
			return cmp.Or(f.adapts, f.architecture())
		}
	}
	return architecture
}

// Classes returns the classes of the families, as config.json calls them under architectures.
func Classes() (list []string) {
	for _, f := range all {
		list = append(list, f.Class)
	}
	return list
}

// architecture returns GGUF's name.
func (f *Family) architecture() string { return cmp.Or(f.gguf, f.Name) }

// Architecture returns GGUF's name of a model's architecture.
func Architecture(c *model.Config) string {
	f := Of(c)
	switch {
	case c.Mixers == nil && c.Experts.Count > 0:
		return cmp.Or(f.ggufMoE, f.architecture())
	case c.Mixers == nil:
		return cmp.Or(f.ggufPlain, f.architecture())
	}
	return f.architecture()
}

// Describe notes in a configuration what all models of its family have, for those who do not read it from files.
func Describe(c *model.Config) { Of(c).describe(c) }

// describe notes in a configuration what all models of the family have.
func (f *Family) describe(c *model.Config) {
	c.Parts = model.Usual().With(f.with...).Without(f.without...)
	c.FirstWithout = model.PartSet{}.With(f.firstWithout...)
	c.BareOutput, c.JointNorms, c.ValueNorm, c.Ungated = f.bare, f.jointNorms, f.valueNorm, f.plain
}

// Biased reports whether the projections of the family's layers always have their biases.
func (f *Family) Biased() bool { return f.biased }

// Strips reports whether added tokens of the family's SentencePiece vocabularies take the white space after them, which GGUF does not say.
func (f *Family) Strips() bool { return f.strips }

// Judges reports whether the family's reranker scores texts by the tokens yes and no, also if its files do not say so.
func (f *Family) Judges() bool { return f.judges }

// Whole reports whether the family's models read a text as a whole.
func (f *Family) Whole() bool { return f.whole }
