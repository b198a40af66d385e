package checkpoint

import "github.com/antigravity-go/antigravity/internal/gguf"

// The keys of GGUF's metadata about a model as a whole.
const (
	ArchitectureKey        = "general.architecture"
	TypeKey                = "general.type"
	NameKey                = "general.name"
	DescriptionKey         = "general.description"
	FileTypeKey            = "general.file_type"            // see FileType
	QuantizationVersionKey = "general.quantization_version" // of ggml's block layouts: QuantizationVersion
)

// QuantizationVersion is the version of ggml's block layouts that this module reads and writes.
const QuantizationVersion uint32 = 2

// The keys of GGUF's metadata about the tokenizer.
const (
	TokenizerModelKey = "tokenizer.ggml.model" // what package bpe calls …Model, or NoTokenizer
	SplitRuleKey      = "tokenizer.ggml.pre"
	TokensKey         = "tokenizer.ggml.tokens"
	ScoresKey         = "tokenizer.ggml.scores"
	TokenTypesKey     = "tokenizer.ggml.token_type"
	TypeCountKey      = "tokenizer.ggml.token_type_count" // of two texts in one: see Part.Type of package postprocess
	MergesKey         = "tokenizer.ggml.merges"
	CharsmapKey       = "tokenizer.ggml.precompiled_charsmap"
	BOSKey            = "tokenizer.ggml.bos_token_id"
	EOSKey            = "tokenizer.ggml.eos_token_id"
	SEPKey            = "tokenizer.ggml.seperator_token_id" // as llama.cpp spells it
	CLSKey            = "tokenizer.ggml.cls_token_id"
	EndsKey           = "tokenizer.ggml.eos_token_ids" // a list, as Ollama writes it
	EndOfTurnKey      = "tokenizer.ggml.eot_token_id"
	EndOfMessageKey   = "tokenizer.ggml.eom_token_id"
	UnknownKey        = "tokenizer.ggml.unknown_token_id"
	PaddingKey        = "tokenizer.ggml.padding_token_id"
	MaskKey           = "tokenizer.ggml.mask_token_id"
	AddBOSKey         = "tokenizer.ggml.add_bos_token"
	AddEOSKey         = "tokenizer.ggml.add_eos_token"
	SuppressKey       = "tokenizer.ggml.suppress_tokens" // tokens that no answer has
	AddSEPKey         = "tokenizer.ggml.add_sep_token"
	AddSpacePrefixKey = "tokenizer.ggml.add_space_prefix"
	MergeSpacesKey    = "tokenizer.ggml.remove_extra_whitespaces"
	LowerKey          = "tokenizer.ggml.normalizer.lowercase"
	StripAccentsKey   = "tokenizer.ggml.normalizer.strip_accents"
	WholeTokenizerKey = "tokenizer.huggingface.json" // the tokenizer.json, as text
)

// NoTokenizer is the value of TokenizerModelKey in a file without a vocabulary.
const NoTokenizer = "none"

// architectureOf returns the architecture that a file names.
func architectureOf(f *gguf.File) string {
	name, _ := f.String(ArchitectureKey)
	return name
}
