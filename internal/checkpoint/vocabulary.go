package checkpoint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/gguf"
)

// VocabularyOf reads the vocabulary in a GGUF file; a file without a vocabulary gives nil. More tokens
// than the embedding table has rows are refused before they are read, since they take many times the memory of their few bytes
// in the file. A file of nothing but a vocabulary has no table.
func VocabularyOf(f *gguf.File) (v *bpe.Vocab, err error) {
	k := keys.ReadFile(f, "")
	tokens, there := k.Value(TokensKey)
	n, _ := tokens.Len()
	if rows, ok := embeddingRows(f); ok && n > rows {
		return nil, fmt.Errorf("the tokenizer has %d entries, the embedding table only %d", n, rows)
	}
	if !there {
		return nil, nil
	}
	v = &bpe.Vocab{
		Tokens: k.Texts(TokensKey), Scores: k.Floats(ScoresKey),
		Types: k.Ints(TokenTypesKey, "a list of whole numbers"), Merges: k.Texts(MergesKey),
		BOS: k.Token(BOSKey), EOS: k.Token(EOSKey), SEP: k.Token(SEPKey), Unknown: k.Token(UnknownKey),
		Suppressed: k.Ints(SuppressKey, "a list of whole numbers"),
	}
	for _, id := range v.Suppressed {
		if id < 0 || int(id) >= len(v.Tokens) {
			return nil, fmt.Errorf("%s: there is no token %d", SuppressKey, id)
		}
	}
	k.Text("", TokenizerModelKey, &v.Model, "")
	k.Text("", SplitRuleKey, &v.Pre, "")
	sentencePiece, wordPiece, unigram := v.Model == bpe.SentencePieceModel, v.Model == bpe.WordPieceModel, v.Model == bpe.UnigramModel
	k.Bool("", AddBOSKey, &v.AddBOS, bpe.AddsBOS(v.Model, v.Pre))
	k.Bool("", AddEOSKey, &v.AddEOS, unigram)
	k.Bool("", AddSEPKey, &v.AddSEP, unigram || bpe.AddsSEP(v.Pre))
	k.Bool("", AddSpacePrefixKey, &v.AddSpacePrefix, sentencePiece)
	k.Bool("", MergeSpacesKey, &v.MergeSpaces, false)
	k.Bool("", LowerKey, &v.Lower, wordPiece)
	k.Bool("", StripAccentsKey, &v.StripAccents, v.Lower)
	v.Charsmap = k.Bytes(CharsmapKey)
	if wordPiece || unigram {
		nameSpecials(v, k)
	}
	if family, err := ggufFamily(f); err == nil { // a file of nothing but a vocabulary may be of any architecture
		v.RStrip = sentencePiece && family.Strips()
	}
	var whole string
	k.Text("", WholeTokenizerKey, &whole, "") // it is read elsewhere
	for _, key := range []string{EndsKey, EndOfTurnKey, EndOfMessageKey, CLSKey} {
		k.Value(key) // ConfigOf and nameSpecials read them
	}
	if _, err := rest(k, tokenizerPrefix, f, nil, idleTokenizerKeys); err != nil || k.Err() != nil {
		return nil, cmp.Or(k.Err(), err)
	}
	return v, nil
}

// specialTexts are the special tokens of encoders by their texts, for files that do not name them by keys.
var specialTexts = map[string]struct{ bos, eos, sep, unknown string }{
	bpe.WordPieceModel: {"[CLS]", "", "[SEP]", "[UNK]"},
	bpe.UnigramModel:   {"<s>", "</s>", "</s>", "<unk>"},
}

// nameSpecials sets the special tokens that a file does not name.
func nameSpecials(v *bpe.Vocab, k *keys.Walk) {
	texts := specialTexts[v.Model]
	for _, s := range []struct {
		id   *int32
		key  string // another one that names the token
		text string
	}{{&v.BOS, CLSKey, texts.bos}, {&v.EOS, "", texts.eos}, {&v.SEP, "", texts.sep}, {&v.Unknown, "", texts.unknown}} {
		if *s.id < 0 && s.key != "" {
			*s.id = k.Token(s.key)
		}
		if *s.id < 0 && s.text != "" {
			*s.id = int32(slices.Index(v.Tokens, s.text))
		}
	}
}
