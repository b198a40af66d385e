package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/hftok"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// sameTokens checks that a folder's tokenizer and that of the file made of it cut texts alike.
func sameTokens(t *testing.T, folder, file string) {
	t.Helper()
	a, err := llama.LoadTokenizer(folder)
	if err != nil {
		t.Fatal(err)
	}
	b, err := llama.LoadTokenizer(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "ab", " ab ba  abba", "Hello, world! It's 1234567 o'clock.", "ünïcödé 你好 🙂\n\n\tend  ", "aaaabbbb"} {
		x, y := a.EncodeSpecial(text, true), b.EncodeSpecial(text, true)
		if !slices.Equal(x, y) {
			t.Errorf("%q is %v in the folder, %v in the file", text, x, y)
		}
		if a.Decode(x...) != b.Decode(y...) {
			t.Errorf("%v is %q in the folder, %q in the file", x, a.Decode(x...), b.Decode(y...))
		}
	}
}

// TestOtherSplitRules converts a tokenizer at byte level that does not ignore merges, which GGUF has another name for.
func TestOtherSplitRules(t *testing.T) {
	folder := withoutScaling(t, fixture.Path(t, "pebble/hf"))
	path := filepath.Join(folder, "tokenizer.json")
	data := bytes.Replace(readFile(t, path), []byte(`"ignore_merges": true`), []byte(`"ignore_merges": false`), 1)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	file := quantized(t, folder)
	if pre, _ := parseGGUF(t, readFile(t, file)).String("tokenizer.ggml.pre"); pre != "dbrx" {
		t.Errorf("the split rule is %q", pre)
	}
	sameTokens(t, folder, file)
}

// TestSentencePiece converts a tokenizer of Llama 2's kind.
func TestSentencePiece(t *testing.T) {
	vocab := map[string]int{"<unk>": 0, "<s>": 1, "</s>": 2}
	add := func(texts ...string) {
		for _, text := range texts {
			vocab[text] = len(vocab)
		}
	}
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b))
	}
	add("▁a", "bb", "ab", "▁ab", "▁", "a", "b", "e")
	special := func(id int, text string) map[string]any {
		return map[string]any{"id": id, "content": text, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}
	}
	tokenizer := map[string]any{
		"version":      "1.0",
		"added_tokens": []any{special(0, "<unk>"), special(1, "<s>"), special(2, "</s>")},
		"normalizer": map[string]any{"type": "Sequence", "normalizers": []any{
			map[string]any{"type": "Prepend", "prepend": "▁"},
			map[string]any{"type": "Replace", "pattern": map[string]any{"String": " "}, "content": "▁"},
		}},
		"post_processor": map[string]any{
			"type":           "TemplateProcessing",
			"single":         []any{map[string]any{"SpecialToken": map[string]any{"id": "<s>", "type_id": 0}}, map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}},
			"pair":           []any{map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}, map[string]any{"Sequence": map[string]any{"id": "B", "type_id": 0}}},
			"special_tokens": map[string]any{"<s>": map[string]any{"id": "<s>", "ids": []int{1}, "tokens": []string{"<s>"}}},
		},
		"decoder": map[string]any{"type": "Sequence", "decoders": []any{
			map[string]any{"type": "Replace", "pattern": map[string]any{"String": "▁"}, "content": " "},
			map[string]any{"type": "ByteFallback"}, map[string]any{"type": "Fuse"},
			map[string]any{"type": "Strip", "content": " ", "start": 1, "stop": 0},
		}},
		"model": map[string]any{
			"type": "BPE", "dropout": nil, "unk_token": "<unk>", "continuing_subword_prefix": nil, "end_of_word_suffix": nil, "fuse_unk": true,
			"byte_fallback": true, "vocab": vocab, "merges": []string{"▁ a", "b b", "a b", "▁ ab", "▁a b"},
		},
	}
	folder := t.TempDir()
	writeModel(t, folder, len(vocab), 2)
	writeJSON(t, filepath.Join(folder, "tokenizer.json"), tokenizer)
	file := quantized(t, folder, "-type", "f16")
	if model, _ := parseGGUF(t, readFile(t, file)).String("tokenizer.ggml.model"); model != "llama" {
		t.Errorf("the tokenizer's model is %q", model)
	}
	sameTokens(t, folder, file)
}

// TestEncoderVocabularies converts the tokenizers of encoders, and finds the tokens of the folders': by the tokenizer.json that the file has, and by the keys
// alone, as other programs read them, where those can say what the tokenizer does.
func TestEncoderVocabularies(t *testing.T) {
	for name, keys := range map[string]bool{"enc-bert": true, "rank-bert": true, "enc-xlmr": false, "rank-xlmr": false} {
		folder := fixture.Path(t, "families/"+name)
		data := readFile(t, filepath.Join(folder, checkpoint.TokenizerFile))
		s := &source{}
		if err := s.addVocabulary(folderOf(folder), namesIn(folder), &model.Config{VocabSize: 512}, &checkpoint.Pipeline{}); err != nil {
			t.Fatal(err)
		}
		like, err := hftok.ParseJSON(data)
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		w, err := gguf.NewWriter(&buf, s.metadata, nil)
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		f := parseGGUF(t, buf.Bytes())
		if whole, _ := f.String(checkpoint.WholeTokenizerKey); whole != string(data) {
			t.Errorf("%s: the tokenizer.json is another one", name)
		}
		v, err := checkpoint.VocabularyOf(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := hftok.FromVocab(*v)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"", "The quick brown fox, ÄÖÜ!", "how much wood would a woodchuck chuck", "東京は x  y", "[CLS] ##s <s>"} {
			if a, b := got.Encode(nil, text), like.Encode(nil, text); !slices.Equal(a, b) && (keys || text == "how much wood would a woodchuck chuck") {
				t.Errorf("%s: %q is %v by the keys, %v in the folder", name, text, a, b)
			}
		}
		a, types := got.Template().Join([]int32{7}, []int32{8})
		b, wanted := like.Template().Join([]int32{7}, []int32{8})
		if !slices.Equal(a, b) || !slices.Equal(types, wanted) || !slices.Equal(got.Template().Single, like.Template().Single) {
			t.Errorf("%s: two texts are %v of %v by the keys, %v of %v in the folder", name, a, types, b, wanted)
		}
	}
}

// TestEncoders converts encoders and rerankers: tokens, vectors and scores are the folder's.
func TestEncoders(t *testing.T) {
	texts := []string{"The quick brown fox jumps over the lazy dog.", "Größe und Länge", "a"}
	for _, name := range []string{"enc-bert", "enc-nomic", "enc-nomic-moe", "enc-modernbert", "enc-xlmr", "enc-gemma", "enc-gemma2", "enc-qwen3", "rank-bert", "rank-xlmr"} {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "families/"+name)
			var results [2][]float32
			for i, path := range []string{dir, quantized(t, dir, "-type", "f32")} {
				m, err := llama.Load(path, &llama.LoadOptions{Weights: tensor.F32})
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				if m.Kind() == llama.Reranker {
					if results[i], err = m.Rerank(t.Context(), texts[0], texts...); err != nil {
						t.Fatal(err)
					}
					continue
				}
				vectors, err := m.Embed(t.Context(), texts...)
				if err != nil {
					t.Fatal(err)
				}
				results[i] = slices.Concat(vectors...)
			}
			if len(results[0]) != len(results[1]) {
				t.Fatalf("%d numbers, want %d", len(results[1]), len(results[0]))
			}
			for i, want := range results[0] {
				if math.Abs(float64(results[1][i]-want)) > 1e-5 {
					t.Fatalf("number %d is %g, and the folder's %g", i, results[1][i], want)
				}
			}
		})
	}
}
