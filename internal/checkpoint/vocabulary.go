package checkpoint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/gguf"
)

// VocabularyOf reads the vocabulary in a GGUF file; a file without a vocabulary gives nil. More tokens
// than the embedding table has rows are refused before they are read, since they take many times the memory of their few bytes
// in the file. A file of nothing but a vocabulary has no table.
func VocabularyOf(f *gguf.File) (v *bpe.Vocab, err error) {
	k := newKeyReader(f)
	tokens, there := k.Value(TokensKey)
	n, _ := tokens.Len()
	if rows, ok := embeddingRows(f); ok && n > rows {
		return nil, fmt.Errorf("the tokenizer has %d entries, the embedding table only %d", n, rows)
	}
	if !there {
		return nil, nil
	}
	v = &bpe.Vocab{
		Tokens: listOf(k, TokensKey, gguf.Value.Strings, "a list of texts"), Scores: listOf(k, ScoresKey, gguf.Value.Float32s, "a list of numbers"),
		Types: listOf(k, TokenTypesKey, gguf.Value.Int32s, "a list of whole numbers"), Merges: listOf(k, MergesKey, gguf.Value.Strings, "a list of texts"),
		BOS: k.token(BOSKey), EOS: k.token(EOSKey), SEP: k.token(SEPKey), Unknown: k.token(UnknownKey),
		Suppressed: listOf(k, SuppressKey, gguf.Value.Int32s, "a list of whole numbers"),
	}
	for _, id := range v.Suppressed {
		if id < 0 || int(id) >= len(v.Tokens) {
			return nil, fmt.Errorf("%s: there is no token %d", SuppressKey, id)
		}
	}
	v.Model, _ = k.text(TokenizerModelKey)
	v.Pre, _ = k.text(SplitRuleKey)
	truth := func(key string, otherwise bool) bool {
		if b, ok := k.truth(key); ok {
			return b
		}
		return otherwise
	}
	sentencePiece, wordPiece, unigram := v.Model == bpe.SentencePieceModel, v.Model == bpe.WordPieceModel, v.Model == bpe.UnigramModel
	v.AddBOS = truth(AddBOSKey, bpe.AddsBOS(v.Model, v.Pre))
	v.AddEOS = truth(AddEOSKey, unigram)
	v.AddSEP = truth(AddSEPKey, unigram || bpe.AddsSEP(v.Pre))
	v.AddSpacePrefix = truth(AddSpacePrefixKey, sentencePiece)
	v.MergeSpaces = truth(MergeSpacesKey, false)
	v.Lower = truth(LowerKey, wordPiece)
	v.StripAccents = truth(StripAccentsKey, v.Lower)
	v.Charsmap, _ = valueOf(k, CharsmapKey, func(v gguf.Value) ([]byte, bool) { b := v.Bytes(); return b, b != nil }, "a list of bytes")
	if wordPiece || unigram {
		nameSpecials(v, k)
	}
	v.RStrip = sentencePiece && architectureOf(f) == strippingArchitecture
	k.text(WholeTokenizerKey) // its text is read elsewhere
	for _, key := range []string{EndsKey, EndOfTurnKey, EndOfMessageKey, CLSKey} {
		k.Value(key) // ConfigOf and nameSpecials read them
	}
	if _, err := k.rest(tokenizerPrefix, nil, idleTokenizerKeys); err != nil || k.err != nil {
		return nil, cmp.Or(k.err, err)
	}
	return v, nil
}

// specialTexts are the special tokens of encoders by their texts, for files that do not name them by keys.
var specialTexts = map[string]struct{ bos, eos, sep, unknown string }{
	bpe.WordPieceModel: {"[CLS]", "", "[SEP]", "[UNK]"},
	bpe.UnigramModel:   {"<s>", "</s>", "</s>", "<unk>"},
}

// nameSpecials sets the special tokens that a file does not name.
func nameSpecials(v *bpe.Vocab, k *keyReader) {
	texts := specialTexts[v.Model]
	for _, s := range []struct {
		id   *int32
		key  string // another one that names the token
		text string
	}{{&v.BOS, CLSKey, texts.bos}, {&v.EOS, "", texts.eos}, {&v.SEP, "", texts.sep}, {&v.Unknown, "", texts.unknown}} {
		if *s.id < 0 && s.key != "" {
			*s.id = k.token(s.key)
		}
		if *s.id < 0 && s.text != "" {
			*s.id = int32(slices.Index(v.Tokens, s.text))
		}
	}
}
