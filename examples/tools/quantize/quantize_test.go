package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// quantized runs the program and returns the path of what it wrote.
func quantized(t *testing.T, in string, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.gguf")
	if err := run(t.Context(), append([]string{"-in", in, "-out", out}, args...), nil, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	return out
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parseGGUF(t *testing.T, data []byte) *gguf.File {
	t.Helper()
	f, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAsLlamaCpp compares Pebble's folder, converted here, with the file that llama.cpp's tools made of it.
func TestAsLlamaCpp(t *testing.T) {
	data, err := pebble.FS.ReadFile(pebble.Name)
	if err != nil {
		t.Fatal(err)
	}
	want := parseGGUF(t, data)
	got := parseGGUF(t, readFile(t, quantized(t, fixture.Path(t, "pebble/hf"), "-type", "q4_0", "-name", "Pebble")))
	for _, kv := range want.Metadata() {
		if kv.Key == "general.sampling.temp" {
			continue // the embedded file recommends how to draw, and the folder does not
		}
		if v, ok := got.Value(kv.Key); !ok || v != kv.Value {
			t.Errorf("the key %s has another value than llama.cpp's, or none", kv.Key)
		}
	}
	same := 0
	for _, w := range want.Tensors() {
		g, ok := got.Tensor(w.Name)
		switch {
		case !ok || !slices.Equal(g.Shape, w.Shape):
			t.Errorf("tensor %s is %v, want %v", w.Name, g.Shape, w.Shape)
		case w.Type.DType() == tensor.Q6_K: // the embedding
		case g.Type != w.Type || !bytes.Equal(g.Data, w.Data):
			t.Errorf("tensor %s of type %v differs from llama.cpp's of type %v", w.Name, g.Type, w.Type)
		default:
			same++
		}
	}
	if n := len(got.Tensors()); n != len(want.Tensors()) || same != n-1 {
		t.Errorf("%d of %d tensors are llama.cpp's; all %d but the embedding should be", same, n, len(want.Tensors()))
	}
}

// logits returns a model's logits after some tokens.
func logits(t *testing.T, path string, o *llama.LoadOptions) []float32 {
	t.Helper()
	m, err := llama.Load(path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(&llama.SessionOptions{KV: tensor.F32})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Prefill(t.Context(), []llama.Token{1, 20, 200, 4, 50, 60, 7, 8, 90, 100}); err != nil {
		t.Fatal(err)
	}
	l, err := s.Logits()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(l)
}

// withoutScaling copies a folder, with RoPE as it was before it was stretched: GGUF has divisors of 32 bits for that, which
// cannot give the same angles to the last bit.
func withoutScaling(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(readFile(t, filepath.Join(to, "config.json")), &config); err != nil {
		t.Fatal(err)
	}
	delete(config, "rope_scaling")
	delete(config, "rope_parameters")
	writeJSON(t, filepath.Join(to, "config.json"), config)
	return to
}

func writeJSON(t *testing.T, path string, content any) {
	t.Helper()
	data, err := json.Marshal(content)
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLogits holds the logits of the file and of the folder, rounded while it is loaded, equal.
func TestLogits(t *testing.T) {
	tests := []struct {
		folder string
		types  []tensor.DType // with which nothing is lost, or as much as by LoadOptions.Weights
	}{
		{"pebble/hf", []tensor.DType{tensor.F32, tensor.BF16, tensor.F16, tensor.Q8_0, tensor.Q4_1, tensor.Q4_0}},
		{"hf/llama32-tied-bf16", []tensor.DType{tensor.F32, tensor.BF16}},
		{"hf/llama32-sharded-f16", []tensor.DType{tensor.F32, tensor.F16}},
		{"hf/llama2-mha-f32", []tensor.DType{tensor.F32}},
	}
	for _, tt := range tests {
		folder := fixture.Path(t, tt.folder)
		plain := withoutScaling(t, folder)
		for _, d := range tt.types {
			t.Run(tt.folder+" "+d.String(), func(t *testing.T) {
				o := &llama.LoadOptions{Weights: d}
				args := []string{"-type", d.String()}
				if d.Quantized() { // loading gives the head eight bits
					args = append(args, "-head-type", "q8_0")
				}
				got, want := logits(t, quantized(t, plain, args...), nil), logits(t, plain, o)
				if !slices.Equal(got, want) {
					t.Errorf("the logits differ by up to %g", difference(got, want))
				}
				got, want = logits(t, quantized(t, folder, args...), nil), logits(t, folder, o)
				if e := difference(got, want); !(e < 1e-3) && !d.Quantized() {
					t.Errorf("with stretched RoPE the logits differ by up to %g", e)
				}
			})
		}
	}
}

// difference returns the largest difference between two lists, NaN if their lengths differ.
func difference(a, b []float32) (worst float64) {
	if len(a) != len(b) {
		return math.NaN()
	}
	for i := range a {
		worst = max(worst, math.Abs(float64(a[i])-float64(b[i])))
	}
	return worst
}

// TestTokenizer converts a folder with Llama 3's vocabulary, and encodes what Hugging Face's library has encoded.
func TestTokenizer(t *testing.T) {
	dir := t.TempDir()
	vocabulary := readGzip(t, fixture.Path(t, "tokenizer/llama3-tokenizer.json.gz"))
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), vocabulary, 0o666); err != nil {
		t.Fatal(err)
	}
	writeModel(t, dir, 128256, 128001, 128008, 128009)
	path := quantized(t, dir, "-type", "q8_0")
	k, err := llama.LoadTokenizer(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(bytes.NewReader(readGzip(t, fixture.Path(t, "tokenizer/encodings.jsonl.gz"))))
	n := 0
	for ; ; n++ {
		var want struct {
			Text    string
			IDs     []llama.Token
			Decoded string
		}
		if err := lines.Decode(&want); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if got := k.EncodeSpecial(want.Text, true); !slices.Equal(got, want.IDs) {
			t.Errorf("%q encodes as %v, want %v", want.Text, got, want.IDs)
		}
		if got := k.Decode(want.IDs...); got != want.Decoded {
			t.Errorf("%v decodes as %q, want %q", want.IDs, got, want.Decoded)
		}
	}
	if n < 1000 {
		t.Errorf("only %d texts", n)
	}
}

func readGzip(t *testing.T, path string) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(readFile(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// writeModel writes the configuration and the weights, all zero, of a folder: one layer, 32 wide, and the tokens that end a
// text.
func writeModel(t *testing.T, dir string, vocab int, ends ...int) {
	t.Helper()
	writeZeros(t, dir, map[string]any{
		"model_type": "llama", "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
		"vocab_size": vocab, "max_position_embeddings": 64, "tie_word_embeddings": true, "attention_bias": true,
		"bos_token_id": 1, "eos_token_id": ends, "rope_scaling": map[string]any{"type": "linear", "factor": 2},
	})
}

// writeZeros writes a configuration and weights for it, all zero.
func writeZeros(t *testing.T, dir string, config map[string]any) {
	t.Helper()
	writeJSON(t, filepath.Join(dir, "config.json"), config)
	c, err := folderOf(dir).Config()
	if err != nil {
		t.Fatal(err)
	}
	var infos []safetensors.TensorInfo
	size := map[string]int{}
	add := func(name string, shape []int) {
		infos = append(infos, safetensors.TensorInfo{Name: name, DType: "BF16", Shape: shape})
		size[name] = 2
		for _, d := range shape {
			size[name] *= d
		}
	}
	for _, e := range checkpoint.Tensors(c) {
		if e.HuggingFace.Forms == nil {
			add(e.HuggingFace.Name, e.Shape)
			continue
		}
		for expert := range e.Shape[0] {
			add(e.HuggingFace.Forms[0].Of(expert), e.Shape[1:])
		}
	}
	var file bytes.Buffer
	w, err := safetensors.NewWriter(&file, nil, infos)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if err := w.WriteTensor(info.Name, make([]byte, size[info.Name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), os.WriteFile(filepath.Join(dir, "model.safetensors"), file.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// TestWithoutTokenizer converts what the fixtures of Hugging Face lack: biases, linear scaling; and no tokenizer.
func TestWithoutTokenizer(t *testing.T) {
	dir := t.TempDir()
	writeModel(t, dir, 8, 2, 3)
	m, err := llama.Load(quantized(t, dir, "-type", "f16"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c := m.Config()
	if !c.AttentionBias || !c.TiedEmbeddings || c.RoPE.Scaling != "linear" || c.RoPE.Factor != 2 || c.BOS != 1 || !slices.Equal(c.EOS, []llama.Token{2}) {
		t.Errorf("the configuration became %+v", c)
	}
}

func TestChatTemplateStays(t *testing.T) {
	folder := fixture.Path(t, "pebble/hf")
	var config map[string]any
	if err := json.Unmarshal(readFile(t, filepath.Join(folder, "tokenizer_config.json")), &config); err != nil {
		t.Fatal(err)
	}
	original := config["chat_template"].(string)
	tests := []struct {
		name, want string
		change     func(dir string)
	}{
		{"plain", original, func(string) {}},
		{"named default among several", "{{ 'b' }}", func(dir string) {
			config["chat_template"] = []map[string]string{{"name": "tool_use", "template": "{{ 'a' }}"}, {"name": "default", "template": "{{ 'b' }}"}}
			writeJSON(t, filepath.Join(dir, "tokenizer_config.json"), config)
		}},
		{"file of its own", "{{ 'c' }}", func(dir string) {
			if err := os.WriteFile(filepath.Join(dir, "chat_template.jinja"), []byte("{{ 'c' }}"), 0o666); err != nil {
				t.Fatal(err)
			}
		}},
		{"none", "", func(dir string) {
			if err := os.Remove(filepath.Join(dir, "tokenizer_config.json")); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := withoutScaling(t, folder)
			tt.change(dir)
			f := parseGGUF(t, readFile(t, quantized(t, dir)))
			if got, _ := f.String("tokenizer.chat_template"); got != tt.want {
				t.Errorf("the template became %q, want %q", got, tt.want)
			}
			tools, several := f.String("tokenizer.chat_template.tool_use")
			if want := strings.HasPrefix(tt.name, "named"); several != want || want && tools != "{{ 'a' }}" {
				t.Errorf("the template for functions became %q, %v", tools, several)
			}
		})
	}
}

// TestSameFile converts in one step and in two, with one thread and with several: the bytes are the same.
func TestSameFile(t *testing.T) {
	folder := fixture.Path(t, "pebble/hf")
	want := readFile(t, quantized(t, folder, "-type", "q4_1"))
	for name, path := range map[string]string{
		"one thread":  quantized(t, folder, "-type", "q4_1", "-threads", "1"),
		"through f32": quantized(t, quantized(t, folder, "-type", "f32"), "-type", "q4_1"),
		"no change":   quantized(t, quantized(t, folder, "-type", "q4_1"), "-type", "q4_1"),
	} {
		if !bytes.Equal(readFile(t, path), want) {
			t.Errorf("%s: other bytes", name)
		}
	}
}

func TestHead(t *testing.T) {
	folder := fixture.Path(t, "hf/llama32-sharded-f16")
	tests := []struct {
		name            string
		args            []string
		head, embedding tensor.DType
	}{
		{"usual", nil, tensor.Q8_0, tensor.Q4_0},
		{"f16", []string{"-type", "f16"}, tensor.F16, tensor.F16},
		{"chosen", []string{"-type", "q8_0", "-head-type", "f32"}, tensor.F32, tensor.Q8_0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := parseGGUF(t, readFile(t, quantized(t, folder, tt.args...)))
			head, _ := f.Tensor("output.weight")
			embedding, _ := f.Tensor("token_embd.weight")
			if head.DType != tt.head || embedding.DType != tt.embedding {
				t.Errorf("the head is %v, the embedding %v; want %v, %v", head.Type, embedding.Type, tt.head, tt.embedding)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	folder := fixture.Path(t, "pebble/hf")
	dir := t.TempDir()
	file := filepath.Join(dir, "in.gguf")
	if err := os.Rename(quantized(t, folder), file); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.gguf")
	changed := func(name, old, new string) string {
		copied := withoutScaling(t, folder)
		path := filepath.Join(copied, name)
		if err := os.WriteFile(path, bytes.Replace(readFile(t, path), []byte(old), []byte(new), 1), 0o666); err != nil {
			t.Fatal(err)
		}
		return copied
	}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no input", []string{"-out", out}, "-in is missing"},
		{"no output", []string{"-in", file}, "-out is missing"},
		{"another ending", []string{"-in", file, "-out", "model.bin"}, "must end in .gguf"},
		{"unknown type", []string{"-in", file, "-out", out, "-type", "q9"}, "must be one of"},
		{"absent input", []string{"-in", file + "x", "-out", out}, file + "x"},
		{"neither folder nor GGUF", []string{"-in", filepath.Join(folder, "config.json"), "-out", out}, "neither"},
		{"no model in the folder", []string{"-in", dir, "-out", out}, "config.json"},
		{"the input", []string{"-in", file, "-out", dir + "/./in.gguf"}, "is the file that is read"},
		{"a folder in the way", []string{"-in", file, "-out", filepath.Join(dir, "folder.gguf")}, "no regular file"},
		{"no such folder", []string{"-in", file, "-out", filepath.Join(dir, "absent", "out.gguf")}, filepath.Join(dir, "absent")},
		{"other sizes", []string{"-in", changed("config.json", `"hidden_size":256`, `"hidden_size":512`), "-out", out}, "has the shape"},
		{"a tensor missing", []string{"-in", changed("config.json", `"num_hidden_layers":8`, `"num_hidden_layers":9`), "-out", out}, "missing"},
		{"another kind of tokenizer", []string{"-in", changed("tokenizer.json", `\\p{N}{1,3}`, `\\p{N}{1,7}`), "-out", out}, "another kind"},
		{"a broken merge", []string{"-in", changed("tokenizer.json", `"merges": [`, `"merges": [1,`), "-out", out}, "merge"},
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.gguf"), 0o777); err != nil {
		t.Fatal(err)
	}
	before := readFile(t, file)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := run(t.Context(), tt.args, nil, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 || !bytes.Equal(readFile(t, file), before) {
		t.Errorf("left behind: %v, %v; want the input, as it was, and a folder", left, err)
	}
}

// TestInterrupted ends the work before it is complete: neither the file nor a part of it stays.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	err := run(ctx, []string{"-in", fixture.Path(t, "pebble/hf"), "-out", filepath.Join(dir, "out.gguf")}, nil, io.Discard, io.Discard)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestHelpNamesTypes(t *testing.T) {
	var help strings.Builder
	if err := run(t.Context(), []string{"-h"}, nil, &help, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	for _, want := range []string{"q4_0", "f16", "-head-type"} {
		if !strings.Contains(help.String(), want) {
			t.Errorf("the help lacks %q:\n%s", want, help.String())
		}
	}
}

// FuzzVocabulary reads arbitrary JSON as a tokenizer.json.
func FuzzVocabulary(f *testing.F) {
	f.Add([]byte(`{"added_tokens":[{"id":1,"special":true}],"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split"}]},"model":{"merges":["a b",["a","b"]]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v vocabularyJSON
		if json.Unmarshal(data, &v) == nil {
			v.merges()
		}
	})
}

// TestFamilies converts models of other families than Llama, and finds the logits that the folders give, bit by bit but for longrope.
func TestFamilies(t *testing.T) {
	for _, name := range []string{"mistral", "qwen2", "qwen3", "smollm3", "granite", "phi3", "phi3-longrope", "olmo2", "gemma3", "gemma", "gemma2", "olmo3", "qwen3-yarn", "llama-yarn", "gemma3-wrapper", "mistral3-wrapper", "qwen3vl-wrapper", "phi4mini", "ministral3", "granite4-micro", "qwen35", "qwen35-wrapper", "lfm2", "granite4h", "qwen35moe", "qwen3moe", "mixtral", "granite-moe", "glm4moe", "gptoss", "gemma4-e", "gemma4-dense", "gemma4-moe", "seed-oss", "glm4", "ernie45", "exaone4", "nemotron-h", "nemotron-h-moe", "nemotron-h-latent", "deepseek-v2-lite", "glm4moelite", "lfm2moe", "starcoder2", "hunyuan-dense", "cohere2", "mtp-deepseek-v3", "mtp-qwen35", "mtp-glm4moe", "apertus", "falcon-h1", "gemma3n", "cohere2-moe", "phi2", "gpt-bigcode", "stablelm", "ernie45-moe", "bitnet", "muse-glimmer"} {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "families/"+name)
			want := logits(t, dir, &llama.LoadOptions{Weights: tensor.F32})
			file := quantized(t, dir, "-type", "f32")
			got := logits(t, file, nil)
			if r, err := llama.Inspect(file); err != nil || r.DraftsItself != strings.HasPrefix(name, "mtp-") {
				t.Errorf("a head that predicts further tokens: %v, %v", r.DraftsItself, err)
			}
			largest, tolerance := difference(want, make([]float32, len(want))), 0.0
			if name == "phi3-longrope" || name == "phi4mini" || name == "gptoss" {
				tolerance = 5e-6 // GGUF has the factor of attention in 32 bits
			}
			if name == "falcon-h1" {
				tolerance = 5e-6 // GGUF has multipliers in the matrices
			}
			if strings.Contains(name, "qwen35") {
				tolerance = 1e-5 // GGUF has the heads in another order, and a product's columns with them
			}
			if e := difference(got, want); !(e <= tolerance*largest) {
				t.Errorf("the logits differ by %g from the folder's, of which the largest is %g", e, largest)
			}
		})
	}
}

// TestEmbeddingsStay converts a model that embeds texts by the state of a token that the tokenizer puts after them: the vectors are the
// folder's.
func TestEmbeddingsStay(t *testing.T) {
	dir := withoutScaling(t, fixture.Path(t, "pebble/hf"))
	var tokenizer map[string]any
	if err := json.Unmarshal(readFile(t, filepath.Join(dir, "tokenizer.json")), &tokenizer); err != nil {
		t.Fatal(err)
	}
	tokenizer["post_processor"] = map[string]any{
		"type":           "TemplateProcessing",
		"single":         []any{map[string]any{"Sequence": map[string]any{"id": "A"}}, map[string]any{"SpecialToken": map[string]any{"id": "<|end_of_text|>"}}},
		"special_tokens": map[string]any{"<|end_of_text|>": map[string]any{"ids": []int{4081}}},
	}
	writeJSON(t, filepath.Join(dir, "tokenizer.json"), tokenizer)
	const models = "sentence_transformers.models."
	modules := []map[string]string{{"path": "", "type": models + "Transformer"}, {"path": "1_Pooling", "type": models + "Pooling"}, {"path": "2_Normalize", "type": models + "Normalize"}}
	writeJSON(t, filepath.Join(dir, "modules.json"), modules)
	if err := os.Mkdir(filepath.Join(dir, "1_Pooling"), 0o777); err != nil {
		t.Fatal(err)
	}
	writeJSON(t, filepath.Join(dir, "1_Pooling", "config.json"), map[string]bool{"pooling_mode_lasttoken": true})
	file := quantized(t, dir, "-type", "f32")
	texts := []string{"Tell me a story.", "What is 2 + 3?"}
	var vectors [2][][]float32
	for i, path := range []string{dir, file} {
		m, err := llama.Load(path, &llama.LoadOptions{Weights: tensor.F32})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if tokens := m.Tokenizer().EncodeWhole(texts[0]); tokens[len(tokens)-1] != 4081 {
			t.Errorf("%s: a text's tokens are %v", path, tokens)
		}
		if vectors[i], err = m.Embed(t.Context(), texts...); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range vectors[0] {
		for j, got := range vectors[1][i] {
			if math.Abs(float64(got-want[j])) > 1e-5 {
				t.Fatalf("text %d: element %d is %g, and the folder's %g", i, j, got, want[j])
			}
		}
	}
	writeJSON(t, filepath.Join(dir, "modules.json"), modules[:2])
	if err := run(t.Context(), []string{"-in", dir, "-out", filepath.Join(t.TempDir(), "x.gguf")}, nil, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "unit length") {
		t.Errorf("vectors that are not scaled: %v", err)
	}
}

// TestDamage rounds weights that are not numbers, or too large: the error names the tensor and the row.
func TestDamage(t *testing.T) {
	for _, value := range []uint16{0x7fc0, 0x7f80, 0x7f00} { // upper halves of float32: NaN, infinity and 1.7e38
		dir := writtenModel(t)
		path := filepath.Join(dir, "model.safetensors")
		data := readFile(t, path)
		f, err := safetensors.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		w, _ := f.Tensor("model.layers.0.mlp.down_proj.weight")
		binary.LittleEndian.PutUint16(w.Data[2*(9*32+3):], value)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, m := range mixes {
			if m.base == tensor.F32 || m.base == tensor.BF16 && value == 0x7f00 || m.base.BlockLen() > 32 {
				continue // it holds the number, or the rows are no whole blocks
			}
			kind := m.name
			err := run(t.Context(), []string{"-in", dir, "-out", filepath.Join(dir, "out.gguf"), "-type", kind}, nil, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), "blk.0.ffn_down.weight: row 9 ") {
				t.Errorf("%#x as %s: %v", value, kind, err)
			}
		}
	}
}
