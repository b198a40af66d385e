package bpe

import (
	cmdline "flag"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/mutate"
)

var mutants = cmdline.Int("mutants", effort.Of(600, 1500, 20000), "how many mutants of tokenizer.json TestMutants reads")

// mutable returns small documents of every kind that this package reads, which mutants are made of.
func mutable(t testing.TB) []string {
	d := document{
		"version": "1.0",
		"added_tokens": []document{
			{"id": 9, "content": "<s>", "special": true, "normalized": false, "lstrip": true, "rstrip": false, "single_word": false},
			{"id": 3, "content": "ab", "special": true},
			{"id": 10, "content": "<|eot_id|>", "special": true, "rstrip": true},
			{"id": 11, "content": "<think>", "special": false, "normalized": true, "single_word": true},
		},
		"normalizer": nil,
		"pre_tokenizer": document{"type": "Sequence", "pretokenizers": []document{
			{"type": "Split", "pattern": document{"Regex": Llama3Pattern}, "behavior": "Isolated", "invert": false},
			{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
		}},
		"post_processor": document{
			"type":           "TemplateProcessing",
			"single":         []document{{"SpecialToken": document{"id": "<s>", "type_id": 0}}, {"Sequence": document{"id": "A", "type_id": 0}}},
			"special_tokens": document{"<s>": document{"id": "<s>", "ids": []int{9}, "tokens": []string{"<s>"}}},
		},
		"decoder": document{"type": "ByteLevel"},
		"model": document{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": "", "ignore_merges": false, "fuse_unk": true, "byte_fallback": false,
			"vocab": map[string]int{"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "<": 5, "<0x41>": 6, "▁": 7, "▁a": 8}, "merges": []any{"a b", []string{"Ġ", "ab"}}},
	}
	spm := d.with("pre_tokenizer", nil).with("decoder", llama2Decoder).with("model.byte_fallback", true).with("model.unk_token", "b").
		with("model.merges", []any{"a b", "▁ a"}).
		with("normalizer", document{"type": "Sequence", "normalizers": []document{{"type": "Prepend", "prepend": "▁"}, replaceSpaces}})
	modern := spm.with("normalizer", nil).with("pre_tokenizer", metaspaceOf("first", true)).
		with("decoder", document{"type": "Sequence", "decoders": []document{metaspaceOf("first", true), {"type": "ByteFallback"}, {"type": "Fuse"}}})
	steps := d.with("normalizer", document{"type": "NFC"}).with("pre_tokenizer", document{"type": "Sequence", "pretokenizers": []document{
		{"type": "Digits", "individual_digits": true}, {"type": "Punctuation", "behavior": "Contiguous"},
		{"type": "Split", "pattern": document{"String": "a"}, "behavior": "MergedWithNext", "invert": true},
		{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}}})
	var texts []string
	for _, d := range []document{d, spm, modern, steps} {
		d.parse(t) // each is read as it is
		texts = append(texts, string(d.text(t)))
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
	text := "ab A▁ <s> ab<|eot_id|>\n a\xff <think>" + tok.Text(0)
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
			if !tok.vocab.has(id, inUse) {
				t.Errorf("seed %d: token %d is not in use", seed, id)
			}
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

// randomVocab returns a GGUF vocabulary that is more or less right.
func randomVocab(rng *rand.Rand) Vocab {
	one := func(n int) bool { return rng.IntN(n) == 0 }
	texts := []string{"a", "b", "ab", "▁", "▁a", "Ġ", "Ġa", "<s>", "<think>", "<0x41>", "<0x61>", "<unk>", "\xff", "\xe2\x96", "", " ", "aa", "aaaa", "é", "Ġ▁", "<0xzz>"}
	rng.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	v := Vocab{Model: []string{"llama", "gpt2", "gpt2", "t5"}[rng.IntN(4)], Pre: []string{"llama-bpe", "gpt-2", "refact", "x"}[rng.IntN(4)],
		BOS: int32(rng.IntN(23) - 1), EOS: int32(rng.IntN(23) - 1), Unknown: int32(rng.IntN(23) - 1), AddBOS: one(2), AddSpacePrefix: one(2)}
	v.Tokens = texts[:len(texts)-rng.IntN(3)]
	if one(20) {
		v.Tokens = append(v.Tokens, v.Tokens[rng.IntN(len(v.Tokens))])
	}
	for range v.Tokens {
		kind := int32(1 + rng.IntN(6))
		if one(500) {
			kind = int32(rng.Uint32())
		}
		v.Types = append(v.Types, kind)
		v.Scores = append(v.Scores, []float32{0, 1, -1, float32(math.NaN()), float32(math.Inf(1)), 1e38}[rng.IntN(6)])
	}
	switch rng.IntN(30) {
	case 0:
		v.Types = nil
	case 1:
		v.Scores = v.Scores[1:]
	case 2:
		v.Types = append(v.Types, 1)
	case 3:
		v.BOS = math.MinInt32
	}
	for range rng.IntN(6) {
		merge := [][]string{{"a", "b"}, {"Ġ", "a"}, {"a", "a"}, {"aa", "aa"}, {"▁", "a"}, {"", "a"}, {"a", ""}}[rng.IntN(7)]
		if one(3) {
			merge = merge[:1]
		}
		v.Merges = append(v.Merges, strings.Join(merge, " "))
	}
	return v
}

// TestVocabMutants is TestMutants for the vocabularies of GGUF files.
func TestVocabMutants(t *testing.T) {
	effort.Turn(t, 8)
	read := 0
	for seed := range uint64(*mutants) {
		v := randomVocab(rand.New(rand.NewPCG(seed, 1)))
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Fatalf("seed %d: panic %v\n%+v", seed, r, v)
				}
			}()
			if tok, err := FromVocab(v); err == nil {
				read++
				useMutant(t, tok, seed)
			}
		}()
	}
	t.Logf("%d of %d vocabularies are read", read, *mutants)
	if read < *mutants/100 {
		t.Error("too few for the test to mean much")
	}
}
