package llama_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama"
)

// embedder writes a copy of the fixture with changed files, and returns its folder. A file that becomes empty is left out.
func embedder(t *testing.T, change map[string]string) string {
	t.Helper()
	from, to := fixture.Path(t, "families/enc-qwen3"), t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	for name, text := range change {
		path := filepath.Join(to, name)
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if text == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// embedTexts returns the fixture's texts, their tokens and vectors, as sentence-transformers has them.
func embedTexts(t *testing.T) (texts []string, tokens [][]llama.Token, vectors [][]float32) {
	t.Helper()
	if err := json.Unmarshal(readFixture(t, "texts.json"), &texts); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Parse(readFixture(t, "golden.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	words := func(name string) (list []uint32) {
		stored, _ := f.Tensor(name)
		for b := stored.Data; len(b) > 0; b = b[4:] {
			list = append(list, binary.LittleEndian.Uint32(b))
		}
		return list
	}
	for i := range texts {
		number := strconv.Itoa(i)
		var ids []llama.Token
		for _, w := range words("ids." + number) {
			ids = append(ids, llama.Token(w))
		}
		var vector []float32
		for _, w := range words("embedding." + number) {
			vector = append(vector, math.Float32frombits(w))
		}
		tokens, vectors = append(tokens, ids), append(vectors, vector)
	}
	return texts, tokens, vectors
}

// distance returns the largest difference of two vectors' elements.
func distance(a, b []float32) (worst float64) {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	for i := range a {
		worst = max(worst, math.Abs(float64(a[i]-b[i])))
	}
	return worst
}

// TestEmbedObeysThePipeline compares tokens and vectors of Qwen3-Embedding's kind with those of sentence-transformers: the state of the
// last token, which the tokenizer adds after a text.
func TestEmbedObeysThePipeline(t *testing.T) {
	m, err := llama.Load(embedder(t, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	texts, tokens, want := embedTexts(t)
	got, err := m.Embed(t.Context(), texts...)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if ids := m.Tokenizer().EncodeWhole(text); !slices.Equal(ids, tokens[i]) {
			t.Errorf("%q has the tokens %v, want %v", text, ids, tokens[i])
		}
		if d := distance(got[i], want[i]); d > 1e-4 {
			t.Errorf("%q: the vector differs by %.2g", text, d)
		}
	}
	var full *llama.ContextFullError
	if _, err := m.Embed(t.Context(), strings.Repeat("wood ", 140)); !errors.As(err, &full) || full.Room != 128 {
		t.Errorf("a text beyond max_seq_length: %v", err)
	}
	if _, err := m.NewSession(nil); !errors.Is(err, llama.ErrUnsupported) || !strings.Contains(err.Error(), "Model.Embed") {
		t.Errorf("a session without an output head: %v", err)
	}
	if _, err := m.NewPool(nil); !errors.Is(err, llama.ErrUnsupported) {
		t.Errorf("a pool without an output head: %v", err)
	}
	if r, err := llama.Inspect(embedder(t, nil)); err != nil || len(r.Problems) > 0 || len(r.Ignored) != 1 || r.Ignored[0].What != "golden.safetensors" {
		t.Errorf("Inspect: %+v, %v", r, err)
	}
}

// Each way to pool is held to another: the first token's state does not depend on what follows, and a text of one token has one state.
func TestEmbedPools(t *testing.T) {
	const text = "The quick brown fox"
	vectors := map[string][]float32{}
	for mode, pooling := range map[string]string{
		"last": `{"pooling_mode_lasttoken":true}`, "first": `{"pooling_mode_cls_token":true}`, "mean": `{"pooling_mode_mean_tokens":true}`, "unscaled": `{"pooling_mode_mean_tokens":true}`,
	} {
		change := map[string]string{"1_Pooling/config.json": pooling}
		if mode == "unscaled" {
			change["modules.json"] = `[{"path":"","type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]`
		}
		m, err := llama.Load(embedder(t, change), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Embed(t.Context(), text, text+" jumps over the lazy dog")
		if err != nil {
			t.Fatal(err)
		}
		vectors[mode] = got[0]
		if same := distance(got[0], got[1]) == 0; same != (mode == "first") {
			t.Errorf("%s: the same vector for a longer text: %v", mode, same)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	length := func(v []float32) (l float64) {
		for _, x := range v {
			l += float64(x) * float64(x)
		}
		return math.Sqrt(l)
	}
	for mode, v := range vectors {
		if unit := math.Abs(length(v)-1) < 1e-5; unit != (mode != "unscaled") {
			t.Errorf("%s: the length is %g", mode, length(v))
		}
	}
	if distance(vectors["last"], vectors["mean"]) < 1e-3 || distance(vectors["first"], vectors["mean"]) < 1e-3 {
		t.Error("other poolings give the same vectors")
	}
	by := float32(length(vectors["unscaled"]))
	for i := range vectors["unscaled"] {
		vectors["unscaled"][i] /= by
	}
	if d := distance(vectors["unscaled"], vectors["mean"]); d > 1e-6 {
		t.Errorf("the mean, scaled here, differs by %g", d)
	}
}

// What a folder asks for and this module does not do is refused by its name, by Load and by Inspect.
func TestEmbedRefusesOtherPipelines(t *testing.T) {
	const modules = `[{"path":"","type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
		{"path":"2_Dense","type":"sentence_transformers.models.Dense"},{"path":"3_Normalize","type":"sentence_transformers.models.Normalize"}]`
	for says, change := range map[string]map[string]string{
		"2_Dense":                     {"modules.json": modules},
		"variance":                    {"1_Pooling/config.json": `{"pooling_mode":"variance"}`},
		"pooling_mode_new":            {"1_Pooling/config.json": `{"pooling_mode_new":true}`},
		"1_Pooling":                   {"1_Pooling/config.json": ""},
		"use_bidirectional_attention": {"config.json": strings.Replace(string(readFixture(t, "config.json")), "{", `{"use_bidirectional_attention":true,`, 1)},
	} {
		folder := embedder(t, change)
		m, err := llama.Load(folder, nil)
		if err == nil {
			m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, and must say %q", err, says)
		}
		r, err := llama.Inspect(folder)
		if err != nil || len(r.Problems) == 0 || !strings.Contains(errors.Join(r.Problems...).Error(), says) {
			t.Errorf("Inspect: %+v, %v; it must say %q", r, err, says)
		}
	}
}

// readFixture reads a file of the fixture.
func readFixture(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(fixture.Path(t, "families/enc-qwen3/"+name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
