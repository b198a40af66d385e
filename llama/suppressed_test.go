package llama_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/llama"
)

// pebbleSuppressing writes a GGUF file of Pebble, with tokens that no answer has.
func pebbleSuppressing(t *testing.T, ids ...int32) string {
	t.Helper()
	data, err := os.ReadFile(fixture.Path(t, "pebble/gguf/pebble-Q4_K_M.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	var infos []gguf.TensorInfo
	for _, tensor := range f.Tensors() {
		infos = append(infos, tensor.Info())
	}
	var file bytes.Buffer
	w, err := gguf.NewWriter(&file, append(f.Metadata(), gguf.KeyValue{Key: checkpoint.SuppressKey, Value: gguf.ArrayOf(ids)}), infos)
	if err != nil {
		t.Fatal(err)
	}
	for _, tensor := range f.Tensors() {
		if err := w.WriteTensor(tensor.Name, tensor.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pebble.gguf")
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSuppressedTokens suppresses each token of an answer in turn: the answer is that of a LogitBias which forbids the token.
func TestSuppressedTokens(t *testing.T) {
	effort.Turn(t, 8)
	const prompt = "The sky is"
	answer := func(path string, p llama.Params) []llama.Token {
		m, err := llama.Load(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		s, err := m.NewSession(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p.MaxTokens = 6
		var tokens []llama.Token
		for piece, err := range s.Generate(t.Context(), m.Tokenizer().EncodeSpecial(prompt, true), p) {
			if err != nil {
				t.Fatal(err)
			}
			tokens = append(tokens, piece.Tokens...)
		}
		return tokens
	}
	plain := answer(pebbleSuppressing(t), llama.Params{})
	for _, token := range plain[:min(2, len(plain))] {
		path := pebbleSuppressing(t, int32(token))
		got := answer(path, llama.Params{LogitBias: map[llama.Token]float32{token: 5}})
		want := answer(pebbleSuppressing(t), llama.Params{LogitBias: map[llama.Token]float32{token: float32(math.Inf(-1))}})
		if slices.Contains(got, token) || !slices.Equal(got, want) {
			t.Errorf("without token %d: %v, want %v", token, got, want)
		}
	}
	if _, err := llama.Load(pebbleSuppressing(t, 1<<20), nil); err == nil || !strings.Contains(err.Error(), checkpoint.SuppressKey) {
		t.Errorf("a token that there is not: %v", err)
	}
}
