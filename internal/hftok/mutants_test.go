package hftok

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/mutate"
)

var mutants = flag.Int("mutants", 1500, "how many mutants of tokenizer.json TestMutants reads")

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

// checkMutant makes the mutant of a seed, reads it and uses it. It returns whether it was read, and fails the test where that
// panics, takes more memory than a file of its length may, or gives tokens that do not exist.
func checkMutant(t *testing.T, documents []string, seed uint64) (read bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	file := mutate.JSON(rng, documents[rng.IntN(len(documents))])
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("seed %d: panic %v\n%s", seed, r, file)
		}
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tok, err := ParseJSON([]byte(file))
	if err == nil {
		read = true
		useMutant(t, tok, seed)
	}
	runtime.ReadMemStats(&after)
	if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(8*len(file)+64<<20); got > limit {
		t.Errorf("seed %d: %d bytes of file took %d bytes of memory; at most %d would be right\n%s", seed, len(file), got, limit, file)
	}
	return read
}

// useMutant encodes and decodes with a tokenizer.
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

// TestMutants reads as many mutants as -mutants says, each of the seeds from 0 on. It logs what took longest.
func TestMutants(t *testing.T) {
	documents := mutable(t)
	read, longest, slowest := 0, time.Duration(0), uint64(0)
	for seed := range uint64(*mutants) {
		start := time.Now()
		if checkMutant(t, documents, seed) {
			read++
		}
		if took := time.Since(start); took > longest {
			longest, slowest = took, seed
		}
	}
	t.Logf("%d of %d mutants are read; the slowest, %d, took %v", read, *mutants, slowest, longest)
	if read < *mutants/100 {
		t.Error("too few for the test to mean much")
	}
}

// FuzzMutants is TestMutants for seeds that the fuzzer chooses.
func FuzzMutants(f *testing.F) {
	documents := mutable(f)
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { checkMutant(t, documents, seed) })
}
