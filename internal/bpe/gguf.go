package bpe

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/added"
	"github.com/antigravity-go/antigravity/internal/bytefallback"
	"github.com/antigravity-go/antigravity/internal/postprocess"
)

// GGUF has a list of tokens with types, and merges or scores. Byte-level vocabularies have merges. SentencePiece's have scores instead:
// each way to put a token together from two others is a merge, and the merges come in the order of their tokens' scores (scoredMerges). For
// example, the tokens "a", "b", "c", "ab" of the score -1, "bc" of the score -2 and "abc" of the score -2 give
//
//	rank   merge
//	0      "a" "b"  → "ab"
//	1      "b" "c"  → "bc"
//	1      "a" "bc" → "abc"
//	1      "ab" "c" → "abc"
//
// so that the text "abcc" becomes "ab" "c" "c", then "abc" "c".

// Vocab is a GGUF file's vocabulary: the values of its tokenizer.ggml keys. Package hftok reads those of WordPieceModel and UnigramModel.
type Vocab struct {
	Model string // ByteLevelModel, SentencePieceModel, MarkedModel, WordPieceModel or UnigramModel
	Pre   string // the split rule of ByteLevelModel: one of RuleNames

	Tokens []string
	Scores []float32 // for "llama": of two merges, the one that makes the token of the higher score comes first; for "t5": logarithms of probabilities
	Types  []int32   // TypeNormal, …; empty: all normal
	Merges []string  // for "gpt2" and "gemma4": "left right", the first merge first

	BOS, EOS, SEP, Unknown int32 // -1: no such token; BOS and EOS are special whatever their types

	Suppressed []int32 // no answer has them; encoding may give them

	AddBOS         bool // EncodeSpecial puts BOS first when asked to
	AddEOS         bool // EOS follows a text that is embedded: see Around
	AddSEP         bool // SEP stands between two texts
	AddSpacePrefix bool // for "llama" and "t5": a space is put before text
	RStrip         bool // added tokens take the white space after them, but for BOS, Unknown and the end of a text

	MergeSpaces  bool   // for "t5": several spaces count as one, and spaces at the ends of a text do not count
	Charsmap     []byte // for "t5": SentencePiece's normalizer; may be empty
	Lower        bool   // for "bert": letters become small ones
	StripAccents bool   // for "bert": accents are dropped
}

// What GGUF calls the kinds of tokenizers.
const (
	ByteLevelModel     = "gpt2"
	SentencePieceModel = "llama"
	MarkedModel        = "gemma4" // pieces with marks for spaces, as SentencePiece's, and merges in an order of their own
	WordPieceModel     = "bert"
	UnigramModel       = "t5"
)

// modernBERT is the split rule of models that have one SEP between two texts, although their files say add_eos_token and add_sep_token.
const modernBERT = "modern-bert"

// Around returns the tokens around texts. Between two texts llama.cpp puts EOS and SEP, whichever the file asks for. BERT's models have one
// SEP after each text, and know by types which text a token belongs to.
func (v *Vocab) Around() postprocess.Template {
	before, after, between := int32(-1), int32(-1), int32(-1)
	if v.AddBOS {
		before = v.BOS
	}
	if v.Model == WordPieceModel {
		return postprocess.Around(before, v.SEP, -1, 1)
	}
	if v.AddEOS {
		after = v.EOS
	}
	if v.AddSEP && v.Pre != modernBERT {
		if between = v.SEP; between < 0 {
			between = v.EOS
		}
	}
	return postprocess.Around(before, after, between, 0)
}

// The types of tokens, numbered as in tokenizer.ggml.token_type.
const (
	TypeNormal      = iota + 1
	TypeUnknown     // stands for what the vocabulary lacks
	TypeControl     // special: no text gives it unless asked to
	TypeUserDefined // found in a text before it is split
	TypeUnused
	TypeByte // stands for a byte: <0x0A>
)

// endOfText takes no white space, unlike other added tokens: see Vocab.RStrip.
const endOfText = "<|endoftext|>"

// maxPieceLen bounds the tokens of a SentencePiece vocabulary, in bytes: the merges come from cutting each token in every
// way, which takes time quadratic in its length. SentencePiece's own default bound is 16 characters.
const maxPieceLen = 512

// FromVocab makes a tokenizer of a GGUF file's vocabulary. The error wraps ErrUnsupported for a Model or Pre that this
// package does not implement. Nothing of v is retained.
func FromVocab(v Vocab) (*Tokenizer, error) {
	t, err := v.tokenizer()
	if err != nil {
		return nil, fmt.Errorf("bpe: reading a GGUF vocabulary: %w", err)
	}
	return t, nil
}

// Check returns an error if the lists' lengths or the special tokens are wrong.
func (v *Vocab) Check() error {
	if len(v.Tokens) > maxID {
		return fmt.Errorf("%d tokens; at most %d would be right", len(v.Tokens), maxID)
	}
	if len(v.Types) != 0 && len(v.Types) != len(v.Tokens) {
		return fmt.Errorf("%d token types for %d tokens; as many or none would be right", len(v.Types), len(v.Tokens))
	}
	if n := len(v.Scores); (v.Model == SentencePieceModel || v.Model == UnigramModel) && n != len(v.Tokens) {
		return fmt.Errorf("%d scores for %d tokens; as many would be right", n, len(v.Tokens))
	}
	ids := []int32{v.BOS, v.EOS, v.Unknown}
	if v.AddSEP || v.Model == WordPieceModel {
		ids = append(ids, v.SEP)
	}
	for _, id := range ids {
		if id < -1 || int(id) >= len(v.Tokens) {
			return fmt.Errorf("special token %d in a vocabulary of %d tokens", id, len(v.Tokens))
		}
	}
	return nil
}

func (v *Vocab) tokenizer() (*Tokenizer, error) {
	if err := v.Check(); err != nil {
		return nil, err
	}
	var t *Tokenizer
	var err error
	switch v.Model {
	case ByteLevelModel:
		t, err = v.byteLevel()
	case SentencePieceModel:
		t, err = v.sentencePiece()
	case MarkedModel:
		t, err = v.marked()
	default:
		err = fmt.Errorf("%w: tokenizer.ggml.model %q; \"gpt2\", \"llama\" and \"gemma4\" are implemented", ErrUnsupported, v.Model)
	}
	if err != nil {
		return nil, err
	}
	t.bos = v.BOS
	t.setTemplate(v.Around())
	return t, t.finish(v.added())
}

// byteLevel makes a tokenizer of the model "gpt2".
func (v *Vocab) byteLevel() (*Tokenizer, error) {
	rule := ruleOf(v.Pre)
	if rule == nil {
		return nil, fmt.Errorf("%w: tokenizer.ggml.pre %.40q; implemented are %s", ErrUnsupported, v.Pre, RuleNames())
	}
	split, err := splitterOf(rule.steps...)
	if err != nil {
		return nil, err
	}
	vocab, err := v.index(byteLevel)
	if err != nil {
		return nil, err
	}
	list, err := v.merges(vocab)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{
		vocab:        vocab,
		pairs:        mergeTable(vocab, list),
		split:        split,
		rule:         rule.names[0],
		ignoreMerges: rule.ignoreMerges,
		unknown:      -1,
	}, nil
}

// merges reads the list of merges.
func (v *Vocab) merges(vocab *vocabulary) ([]merge, error) {
	list := make([]merge, len(v.Merges))
	var buf []byte
	for i, text := range v.Merges {
		buf = append(buf[:0], text...)
		left, right, err := vocab.cutMerge(buf)
		if err == nil {
			list[i], err = vocab.merge(left, right, i)
		}
		if err != nil {
			return nil, fmt.Errorf("merge %d: %w", i, err)
		}
	}
	return list, nil
}

// marked makes a tokenizer of the model "gemma4".
func (v *Vocab) marked() (*Tokenizer, error) {
	vocab, err := v.index(metaspace)
	if err != nil {
		return nil, err
	}
	list, err := v.merges(vocab)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{vocab: vocab, pairs: mergeTable(vocab, list), byteFallback: true, unknown: v.Unknown, fuseUnknown: true}, nil
}

// sentencePiece makes a tokenizer of the model "llama".
func (v *Vocab) sentencePiece() (*Tokenizer, error) {
	vocab, err := v.index(metaspace)
	if err != nil {
		return nil, err
	}
	list, err := scoredMerges(vocab, v.Scores)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{
		vocab:        vocab,
		pairs:        mergeTable(vocab, list),
		byteFallback: true,
		unknown:      v.Unknown,
		fuseUnknown:  true,
	}
	if v.AddSpacePrefix {
		t.space = alwaysPrefix
		t.decoder.strip = 1
	}
	return t, nil
}

// TypeOf returns the type of a token.
func (v *Vocab) TypeOf(id int) int32 {
	switch {
	case id == int(v.BOS), id == int(v.EOS):
		return TypeControl
	case len(v.Types) == 0:
		return TypeNormal
	}
	return v.Types[id]
}

// index builds the vocabulary from texts that codec c reads.
func (v *Vocab) index(c codec) (*vocabulary, error) {
	b := newBuilder(c)
	spm := c == metaspace
	var buf []byte
	for id, text := range v.Tokens {
		buf = append(buf[:0], text...)
		var f flag
		switch kind := v.TypeOf(id); kind {
		case TypeUnknown, TypeControl:
			f = special | literal
		case TypeUserDefined, TypeUnused:
			f = literal
		case TypeByte, TypeNormal:
			if _, ok := bytefallback.Byte(buf); ok && spm && (kind == TypeByte || len(v.Types) == 0) {
				f = byteOnly
			}
		default:
			return nil, fmt.Errorf("token %d, %.40q, has type %d; 1 to %d would be right", id, text, kind, TypeByte)
		}
		if err := b.add(int32(id), buf, f); err != nil {
			return nil, err
		}
	}
	return b.index()
}

// added returns the tokens that are looked for in text before it is split.
func (v *Vocab) added() []added.Token {
	var tokens []added.Token
	for id, text := range v.Tokens {
		switch kind := v.TypeOf(id); kind {
		case TypeUnknown, TypeControl, TypeUserDefined:
			if text != "" {
				strips := v.RStrip && int32(id) != v.BOS && int32(id) != v.Unknown && text != endOfText
				tokens = append(tokens, added.Token{ID: int32(id), Content: text, Special: kind != TypeUserDefined, RStrip: strips})
			}
		}
	}
	return tokens
}

// scoredMerges returns the merges of a SentencePiece vocabulary: for each token all ways to make it of two others. Their
// ranks are in the descending order of the scores of the tokens that they make, and equal for equal scores.
func scoredMerges(v *vocabulary, scores []float32) ([]merge, error) {
	var list []merge
	maxMerges := 4*v.tokens + 1<<19 // Llama 2 has 2 for each token
	for id := range int32(len(v.flags)) {
		if v.has(id, special|literal) {
			continue
		}
		text := string(v.bytesOf(id))
		if len(text) > maxPieceLen {
			return nil, fmt.Errorf("token %d, %.40q…, has %d bytes; at most %d would be right", id, text, len(text), maxPieceLen)
		}
		for i := 1; i < len(text); i++ {
			if !utf8.RuneStart(text[i]) {
				continue
			}
			left, ok := v.lookup(text[:i])
			if !ok {
				continue
			}
			if right, ok := v.lookup(text[i:]); ok {
				if len(list) == maxMerges {
					return nil, fmt.Errorf("the %d tokens can be made in more than %d ways; at most as many would be right", v.tokens, maxMerges)
				}
				list = append(list, merge{left: left, right: right, id: id})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b merge) int { return cmp.Compare(scores[b.id], scores[a.id]) })
	for i := 1; i < len(list); i++ {
		list[i].rank = list[i-1].rank
		if cmp.Compare(scores[list[i].id], scores[list[i-1].id]) != 0 {
			list[i].rank++
		}
	}
	return list, nil
}
