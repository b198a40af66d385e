package hftok

import (
	"encoding/json"
	"flag"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/mutate"
)

var mutants = flag.Int("mutants", effort.Of(600, 1500, 20000), "how many mutants of tokenizer.json TestMutants reads")

// mutable returns small documents of every kind that this package reads, which mutants are made of.
func mutable(t testing.TB) []string {
	normalizers := []document{{"type": "Nmt"}, {"type": "NFKC"}, {"type": "Replace", "pattern": document{"Regex": " {2,}"}, "content": "▁"},
		{"type": "Replace", "pattern": document{"String": "``"}, "content": "\""}, {"type": "Strip", "strip_left": true, "strip_right": false}, {"type": "Lowercase"}}
	document := document{
		"added_tokens": []document{{"id": 1, "content": "<s>", "special": true, "lstrip": true}, {"id": 30, "content": "A▁", "normalized": true, "special": false, "single_word": true}},
		"normalizer":   document{"type": "Sequence", "normalizers": normalizers},
		"pre_tokenizer": document{"type": "Sequence", "pretokenizers": []document{{"type": "Digits", "individual_digits": true}, {"type": "Punctuation", "behavior": "MergedWithPrevious"},
			{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}}},
		"decoder": document{"type": "Sequence", "decoders": []document{{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}, {"type": "ByteFallback"}, {"type": "Fuse"},
			{"type": "Strip", "content": " ", "start": 1, "stop": 0}}},
		"post_processor": document{"type": "BertProcessing", "sep": []any{"</s>", 0}, "cls": []any{"<s>", 1}},
		"model":          document{"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": []any{[]any{"<unk>", 0}, []any{"<s>", 0}, []any{"▁a", -1.5}, []any{"ab", -2}, []any{"<0x41>", -9}}},
	}
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(data), wordPieceFile, unigramFile}
	for _, text := range texts { // each is read as it is
		if _, err := ParseJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

// readAndUse returns a function for mutate.Check: it reads a tokenizer.json and uses the tokenizer.
func readAndUse(t *testing.T) func(seed uint64, file string) error {
	return func(seed uint64, file string) error {
		tok, err := ParseJSON([]byte(file))
		if err == nil {
			useMutant(t, tok, seed)
		}
		return err
	}
}

// useMutant encodes and decodes with a tokenizer, and fails the test if that gives tokens that do not exist, or special
// tokens for inert text.
func useMutant(t *testing.T, tok *Tokenizer, seed uint64) {
	t.Helper()
	text := "[CLS] unaffable, hel``lo  A▁ <s> ab1\n a\xff é" + tok.Text(0)
	inert := tok.Encode(nil, text)
	special := tok.EncodeSpecial(nil, text, true)
	mixed := tok.EncodeSegments(nil, func(yield func(string, bool) bool) {
		for i := 0; i < len(text); i += 7 {
			if !yield(text[i:min(i+7, len(text))], i%2 == 0) {
				return
			}
		}
	})
	for _, ids := range [][]int32{inert, special, mixed} {
		for _, id := range ids {
			if tok.entry(id) == nil {
				t.Errorf("seed %d: token %d is not in use", seed, id)
			}
			tok.AppendBytes(nil, id)
		}
		tok.Decode(ids)
	}
	for _, id := range inert {
		if tok.IsSpecial(id) && id != tok.unknown {
			t.Errorf("seed %d: inert text gives the special token %d, %q", seed, id, tok.Text(id))
		}
	}
	tok.LeadingSpace()
	tok.Added()
	tok.BOS()
}

// TestMutants reads as many mutants as -mutants says, each of the seeds from 0 on.
func TestMutants(t *testing.T) {
	effort.Turn(t, 8)
	mutate.CheckAll(t, mutable(t), *mutants, readAndUse(t))
}

// FuzzMutants is TestMutants for seeds that the fuzzer chooses.
func FuzzMutants(f *testing.F) {
	documents := mutable(f)
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { mutate.Check(t, documents, seed, readAndUse(t)) })
}
