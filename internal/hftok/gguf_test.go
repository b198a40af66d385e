package hftok

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/bpe"
)

// wordVocab returns GGUF's vocabulary for the words of wordPieceFile.
func wordVocab() bpe.Vocab {
	return bpe.Vocab{
		Model:  bpe.WordPieceModel,
		Tokens: []string{"[UNK]", "[CLS]", "[SEP]", "▁un", "aff", "able", "▁hello", "▁,", "▁[", "▁]", "▁cls", "[PAD11]"},
		Types: []int32{bpe.TypeUnknown, bpe.TypeControl, bpe.TypeControl, bpe.TypeNormal, bpe.TypeNormal, bpe.TypeNormal, bpe.TypeNormal, bpe.TypeNormal,
			bpe.TypeNormal, bpe.TypeNormal, bpe.TypeNormal, bpe.TypeUnused},
		BOS: 1, EOS: -1, SEP: 2, Unknown: 0, AddBOS: true, Lower: true, StripAccents: true,
	}
}

// pieceVocab returns GGUF's vocabulary in the manner of XLM-RoBERTa, and the tokenizer.json that says the same.
func pieceVocab() (bpe.Vocab, document, document) {
	charsmap := charsmapOf(map[string]string{"ﬁ": "fi", "\n": " ", "\t": " ", "é": "e"})
	v := bpe.Vocab{Model: bpe.UnigramModel, BOS: 0, EOS: 2, SEP: -1, Unknown: 3, AddBOS: true, AddEOS: true, AddSEP: true, AddSpacePrefix: true, MergeSpaces: true}
	v.Charsmap, _ = base64.StdEncoding.DecodeString(charsmap)
	var pairs [][]any
	for i, text := range []string{"<s>", "<pad>", "</s>", "<unk>", "▁", "a", "b", "ab", "▁ab", "c", "bc", "▁ca", "f", "fi", "e", "▁e"} {
		kind, score := int32(bpe.TypeNormal), -float64(i)/2
		switch {
		case text == "<unk>":
			kind, score = bpe.TypeUnknown, 0
		case i < 4:
			kind, score = bpe.TypeControl, 0
		}
		v.Tokens, v.Types, v.Scores = append(v.Tokens, text), append(v.Types, kind), append(v.Scores, float32(score))
		pairs = append(pairs, []any{text, score})
	}
	var tokens []document
	for i, text := range v.Tokens[:4] {
		tokens = append(tokens, document{"id": i, "content": text, "special": true})
	}
	// What GGUF says of a token that no text has.
	v.Tokens, v.Types, v.Scores = append(v.Tokens, "[PAD16]"), append(v.Types, bpe.TypeUnused), append(v.Scores, -10000)
	return v, document{"type": "Unigram", "unk_id": 3, "vocab": pairs}, document{
		"added_tokens": tokens,
		"normalizer":   document{"type": "Precompiled", "precompiled_charsmap": charsmap},
		"pre_tokenizer": document{"type": "Sequence", "pretokenizers": []document{{"type": "WhitespaceSplit"},
			{"type": "Metaspace", "replacement": "▁", "add_prefix_space": true}}},
		"decoder":        document{"type": "Metaspace", "replacement": "▁", "add_prefix_space": true},
		"post_processor": document{"type": "RobertaProcessing", "cls": []any{"<s>", 0}, "sep": []any{"</s>", 2}},
	}
}

// A vocabulary of a GGUF file gives the tokens of the tokenizer.json that it was made of.
func TestFromVocab(t *testing.T) {
	words, err := ParseJSON([]byte(wordPieceFile))
	if err != nil {
		t.Fatal(err)
	}
	pieces, model, parts := pieceVocab()
	for name, c := range map[string]struct {
		vocab bpe.Vocab
		like  *Tokenizer
		parts []string // of texts
	}{
		"WordPiece": {wordVocab(), words, []string{"un", "aff", "able", "Hello", "héllo", ",", "[CLS]", "##able", "▁un", "x", " ", "\n", "[PAD11]", "中"}},
		"Unigram":   {pieces, parseModel(t, model, parts), []string{"a", "b", "c", "ab", "ca", "ﬁ", "é", "e", "x", "中", "<s>", "</s>", " ", "  ", "\n", "▁", "[PAD16]", "f"}},
	} {
		got, err := FromVocab(c.vocab)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 3000 {
			var text strings.Builder
			for range 1 + rng.IntN(8) {
				text.WriteString(c.parts[rng.IntN(len(c.parts))])
			}
			s := text.String()
			if a, b := got.Encode(nil, s), c.like.Encode(nil, s); !slices.Equal(a, b) {
				t.Fatalf("%s: %q: got %v, want %v", name, s, a, b)
			}
			a, b := got.EncodeSpecial(nil, s, true), c.like.EncodeSpecial(nil, s, true)
			if !slices.Equal(a, b) {
				t.Fatalf("%s: %q with special tokens: got %v, want %v", name, s, a, b)
			}
			if a, b := got.Decode(a), c.like.Decode(b); a != b {
				t.Fatalf("%s: %q: decoded to %q, want %q", name, s, a, b)
			}
		}
		one, other := []int32{5}, []int32{6}
		ids, _ := got.Template().Join(one, other)
		want := []int32{1, 5, 2, 6, 2} // wordPieceFile says nothing of two texts
		if name == "Unigram" {
			want, _ = c.like.Template().Join(one, other)
		}
		if !slices.Equal(ids, want) || !slices.Equal(got.Template().After(), c.like.Template().After()) {
			t.Errorf("%s: two texts are %v, want %v", name, ids, want)
		}
	}
}

// In older files all types are normal, and special tokens known by their ids alone.
func TestVocabWithoutTypes(t *testing.T) {
	v := wordVocab()
	v.Types = nil
	tok, err := FromVocab(v)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.EncodeSpecial(nil, "[CLS] unaff[SEP] x", false), []int32{1, 3, 4, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if ids, _ := tok.Template().Join([]int32{3}, []int32{6}); !slices.Equal(ids, []int32{1, 3, 2, 6, 2}) {
		t.Errorf("two texts are %v", ids)
	}
}

// Tokens of bytes stand for the bytes of characters that are no tokens, and not for their own texts.
func TestVocabWithBytes(t *testing.T) {
	v, _, _ := pieceVocab()
	first := int32(len(v.Tokens))
	for _, b := range []string{"<0xC3>", "<0x9F>"} {
		v.Tokens, v.Types, v.Scores = append(v.Tokens, b), append(v.Types, bpe.TypeByte), append(v.Scores, 0)
	}
	tok, err := FromVocab(v)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Encode(nil, "aß"), []int32{4, 5, first, first + 1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if text := tok.Decode([]int32{4, 5, first, first + 1}); text != "aß" {
		t.Errorf("decoded to %q", text)
	}
	if got := tok.Encode(nil, "<0xC3>"); slices.Contains(got, first) {
		t.Errorf("the text <0xC3> becomes %v", got)
	}
}

func TestVocabErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*bpe.Vocab)
		says   string
	}{
		"another model":      {func(v *bpe.Vocab) { v.Model = "gpt2" }, "unsupported"},
		"no tokens":          {func(v *bpe.Vocab) { *v = bpe.Vocab{Model: bpe.UnigramModel, BOS: -1, EOS: -1, Unknown: -1} }, "empty"},
		"too few scores":     {func(v *bpe.Vocab) { v.Scores = v.Scores[1:] }, "scores"},
		"too few types":      {func(v *bpe.Vocab) { v.Types = v.Types[1:] }, "types"},
		"an unknown type":    {func(v *bpe.Vocab) { v.Types[5] = 77 }, "type 77"},
		"no such SEP":        {func(v *bpe.Vocab) { v.SEP = 99 }, "special token 99"},
		"a text twice":       {func(v *bpe.Vocab) { v.Tokens[5] = "b" }, `"b" is token`},
		"a charsmap of junk": {func(v *bpe.Vocab) { v.Charsmap = []byte{1, 2} }, "precompiled_charsmap"},
		"a long token":       {func(v *bpe.Vocab) { v.Tokens[5] = strings.Repeat("a", maxPieceLen+1) }, "bytes"},
	} {
		v, _, _ := pieceVocab()
		c.change(&v)
		_, err := FromVocab(v)
		if err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, ErrUnsupported) != (c.says == "unsupported") {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.says)
		}
	}
}

// FuzzVocab looks for vocabularies and texts that make reading or using a tokenizer panic. Tokens are separated by line feeds.
func FuzzVocab(f *testing.F) {
	f.Add(true, "[UNK]\n[CLS]\n[SEP]\n▁a\nb", []byte{2, 3, 3, 1, 1}, []byte(nil), "ab [CLS] a")
	pieces, _, _ := pieceVocab()
	f.Add(false, strings.Join(pieces.Tokens, "\n"), []byte{3, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 6, 1, 5}, pieces.Charsmap[:4096], "abc ﬁ")
	f.Fuzz(func(t *testing.T, words bool, tokens string, types, charsmap []byte, text string) {
		v := bpe.Vocab{Model: bpe.UnigramModel, Tokens: strings.Split(tokens, "\n"), Charsmap: charsmap, BOS: 1, EOS: -1, SEP: 0, Unknown: 0, AddBOS: true,
			AddSEP: true, MergeSpaces: len(types)%2 == 0, Lower: true}
		if words {
			v.Model = bpe.WordPieceModel
		}
		for i := range v.Tokens {
			kind := int32(bpe.TypeNormal)
			if i < len(types) {
				kind = int32(types[i])
			}
			v.Types, v.Scores = append(v.Types, kind), append(v.Scores, -float32(i%7))
		}
		tok, err := FromVocab(v)
		if err != nil {
			return
		}
		for _, id := range slices.Concat(tok.Encode(nil, text), tok.EncodeSpecial(nil, text, true)) {
			if tok.entry(id) == nil {
				t.Fatalf("token %d is not in use", id)
			}
		}
		tok.Decode(tok.Encode(nil, text))
	})
}
