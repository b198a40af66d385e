package checkpoint

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// The tokens that end a turn and a message in Llama 3's chat format.
const (
	EndOfTurn    = "<|eot_id|>"
	EndOfMessage = "<|eom_id|>"
)

// endTexts are the texts of tokens that end a turn or a text, in the families' chat formats: files name only one.
var endTexts = []string{
	EndOfTurn, EndOfMessage, "<|end_of_text|>", "<|im_end|>", "<|endoftext|>", "</s>", "<end_of_turn>", "<|end|>", "<eos>", "<EOT>", "[EOT]", "<turn|>", "<|tool_response>",
	"<｜end▁of▁sentence｜>", harmonyReturn, "<|call|>",
}

// Of a vocabulary that has harmonyReturn, harmonyEnd ends a message, after which others of the same turn may come.
const (
	harmonyReturn = "<|return|>"
	harmonyEnd    = "<|end|>"
)

// endTypes are the types of tokens that may end a turn by their texts. Phi-3's </s>, say, is no control token.
var endTypes = []int32{bpe.TypeControl, bpe.TypeUserDefined}

// splitFilesKey is the key for how many files a model was split into.
const splitFilesKey = "split.count"

// ConfigOf reads a GGUF file's metadata, and the divisors of RoPE's frequencies. The result is valid. idle are the keys that have no effect.
func ConfigOf(f *gguf.File) (c *model.Config, idle []Ignored, err error) {
	family, err := ggufFamily(f)
	if err != nil {
		return nil, nil, err
	}
	c = &model.Config{}
	k := keys.ReadFile(f, architectureOf(f)+".")
	if err := family.Walk(k, c); err != nil {
		return nil, nil, err
	}
	tokens := keys.ReadFile(f, "")
	if !c.Whole {
		c.BOS, c.EOS = tokens.Token(BOSKey), endTokens(tokens, f)
	}
	if tokens.Err() != nil {
		return nil, nil, tokens.Err()
	}
	if c.Sampling, err = samplingOf(f); err != nil {
		return nil, nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	k.Value(families.PoolingKey) // PipelineOf reads it
	if idle, err = rest(k, "", f, c, idleModelKeys); err != nil {
		return nil, nil, err
	}
	for _, of := range []*model.Config{c, c.Ahead} {
		if of == nil {
			continue
		}
		readBiases(of, f)
		findExpertScales(of, f)
		if err := readScales(of, f); err != nil {
			return nil, nil, err
		}
	}
	return c, idle, nil
}

// ggufFamily returns the family of a file, and an error if it is unknown.
func ggufFamily(f *gguf.File) (*families.Family, error) {
	name := architectureOf(f)
	experts, _ := f.Uint(name + "." + families.ExpertsKey)
	return families.ByArchitecture(ArchitectureKey, name, experts > 0)
}

// CheckArchitecture refuses a file of an unknown architecture.
func CheckArchitecture(f *gguf.File) error {
	_, err := ggufFamily(f)
	return err
}

// CheckWhole refuses a file that is one of the parts into which a model was split.
func CheckWhole(f *gguf.File) error {
	if n, _ := f.Uint(splitFilesKey); n > 1 {
		return unsupported.Errorf("the file is one of %d parts of a model; join them first, with llama.cpp's gguf-split", n)
	}
	return nil
}

// embeddingRows returns how many rows the embedding table has, and whether there is such a matrix.
func embeddingRows(f *gguf.File) (int, bool) {
	if table, ok := f.Tensor(GGUF(model.Embedding, 0, false)); ok && len(table.Shape) == 2 {
		return table.Shape[0], true
	}
	return 0, false
}

// endTokens returns the tokens that end a turn.
func endTokens(k *keys.Walk, f *gguf.File) (list []int32) {
	for _, key := range []string{EOSKey, EndOfTurnKey, EndOfMessageKey} {
		if id := k.Token(key); id >= 0 {
			list = append(list, id)
		}
	}
	list = append(list, k.Ints(EndsKey, "a list of tokens")...)
	types, tokens := f.Int32s(TokenTypesKey), f.Strings(TokensKey) // VocabularyOf refuses what cannot be read
	harmony := slices.Contains(tokens, harmonyReturn)
	for id, text := range tokens {
		if harmony && text == harmonyEnd {
			continue
		}
		if id < len(types) && slices.Contains(endTypes, types[id]) && slices.Contains(endTexts, text) {
			list = append(list, int32(id))
		}
	}
	return distinct(list)
}

// Metadata describes the configuration in GGUF's keys: the general ones with the model's name, then general, then those of
// the architecture. RoPE.Divisors and Long and the scaling llama3 have no keys: see GGUFDivisors.
func Metadata(c *model.Config, name string, general ...gguf.KeyValue) []gguf.KeyValue {
	architecture := families.Architecture(c)
	list := append([]gguf.KeyValue{
		{Key: ArchitectureKey, Value: gguf.ValueOf(architecture)},
		{Key: TypeKey, Value: gguf.ValueOf("model")},
		{Key: NameKey, Value: gguf.ValueOf(name)},
	}, general...)
	list = append(list, samplingMetadata(&c.Sampling)...)
	k := keys.WriteFile(architecture + ".")
	_ = families.Of(c).Walk(k, c) // nothing fails that only writes
	return append(list, k.Written()...)
}

// GGUFDivisors returns the tensors that GGUF has for RoPE's scaling besides those of Tensors. What the format has no place for is an error.
func GGUFDivisors(c *model.Config) ([]families.Divisors, error) {
	if dense := slices.Index(c.FeedForwards, model.Routed); dense >= 0 && slices.Contains(c.FeedForwards[dense:], model.Gated) {
		return nil, unsupported.Errorf("layers without experts after the first one with experts have no place in GGUF")
	}
	return families.DivisorsOf(c)
}

// distinct returns the different ones of a list of tokens, in the order in which they come first; nil for an empty list.
func distinct(list []int32) (result []int32) {
	seen := make(map[int32]bool)
	for _, t := range list {
		if !seen[t] {
			seen[t] = true
			result = append(result, t)
		}
	}
	return result
}
