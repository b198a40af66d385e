package checkpoint

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/gguf"
)

// VocabularyOf reads the vocabulary in a GGUF file; a file without a vocabulary gives nil. More tokens
// than the embedding table has rows are refused before they are read, since they take many times the memory of their few bytes
// in the file. A file of nothing but a vocabulary has no table.
func VocabularyOf(f *gguf.File) (v *bpe.Vocab, err error) {
	tokens, _ := f.Value(TokensKey)
	n, _ := tokens.Len()
	if rows, ok := embeddingRows(f); ok && n > rows {
		return nil, fmt.Errorf("the tokenizer has %d entries, the embedding table only %d", n, rows)
	}
	v = &bpe.Vocab{
		Tokens: tokens.Strings(), Scores: f.Float32s(ScoresKey), Types: f.Int32s(TokenTypesKey), Merges: f.Strings(MergesKey),
		BOS: tokenID(f, BOSKey), EOS: tokenID(f, EOSKey), SEP: tokenID(f, SEPKey), Unknown: tokenID(f, UnknownKey),
	}
	if v.Tokens == nil {
		return nil, nil
	}
	v.Model, _ = f.String(TokenizerModelKey)
	v.Pre, _ = f.String(SplitRuleKey)
	truth := func(key string, otherwise bool) bool {
		if b, ok := f.Bool(key); ok {
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
	if charsmap, ok := f.Value(CharsmapKey); ok {
		v.Charsmap = charsmap.Bytes()
	}
	if wordPiece || unigram {
		nameSpecials(v, f)
	}
	v.RStrip = sentencePiece && architectureOf(f) == strippingArchitecture
	return v, nil
}

// specialTexts are the special tokens of encoders by their texts, for files that do not name them by keys.
var specialTexts = map[string]struct{ bos, eos, sep, unknown string }{
	bpe.WordPieceModel: {"[CLS]", "", "[SEP]", "[UNK]"},
	bpe.UnigramModel:   {"<s>", "</s>", "</s>", "<unk>"},
}

// nameSpecials sets the special tokens that a file does not name.
func nameSpecials(v *bpe.Vocab, f *gguf.File) {
	texts := specialTexts[v.Model]
	for _, s := range []struct {
		id   *int32
		key  string // another one that names the token
		text string
	}{{&v.BOS, CLSKey, texts.bos}, {&v.EOS, "", texts.eos}, {&v.SEP, "", texts.sep}, {&v.Unknown, "", texts.unknown}} {
		if *s.id < 0 {
			*s.id = tokenID(f, s.key)
		}
		if *s.id < 0 && s.text != "" {
			*s.id = int32(slices.Index(v.Tokens, s.text))
		}
	}
}
