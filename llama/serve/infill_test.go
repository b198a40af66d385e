package serve_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// TestInfill asks a model whose vocabulary has tokens for it to fill in what is between two texts. The answer is the one that the prompt
// with these tokens has.
func TestInfill(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "coder")
	if err := os.CopyFS(folder, os.DirFS(fixture.Path(t, "pebble/hf"))); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"tokenizer.json", "tokenizer_config.json"} {
		path := filepath.Join(folder, file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		names := strings.NewReplacer("<|reserved_special_token_0|>", "<|fim_prefix|>", "<|reserved_special_token_1|>", "<|fim_suffix|>", "<|reserved_special_token_2|>", "<|fim_middle|>")
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(names.Replace(string(text))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h := start(t, func(o *serve.Options) { o.Models = []serve.Model{serve.File("", folder, nil)} })
	list := ollamaModels(t, h, "/api/tags")
	if len(list) != 1 || !slices.Contains(list[0].Capabilities, "insert") || list[0].Details.Format != "safetensors" {
		t.Errorf("%+v", list)
	}
	line := ollama(t, h, "/api/generate", false, `"model":"coder","prompt":"Once upon a ","suffix":" there was <|fim_middle|>","options":{"temperature":0,"num_predict":6}`)[0]
	tokenizer, err := llama.LoadTokenizer(filepath.Join(folder, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	tokens := tokenizer.EncodeSpecial("<|fim_prefix|>Once upon a <|fim_suffix|>", true)
	tokens = append(tokens, tokenizer.Encode(" there was <|fim_middle|>")...) // a text from outside: none of it is special
	tokens = append(tokens, tokenizer.EncodeSpecial("<|fim_middle|>", false)...)
	prompt, _ := json.Marshal(tokens)
	status, text := post(t, h, "/v1/completions", `{"model":"coder","temperature":0,"max_tokens":6,"prompt":`+string(prompt)+`}`)
	var want struct {
		Choices []struct{ Text string }
		Usage   struct {
			Prompt int `json:"prompt_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(text), &want); err != nil || status != 200 {
		t.Fatalf("status %d: %s", status, text)
	}
	if *line.Response != want.Choices[0].Text || line.Prompt != want.Usage.Prompt || line.Context != nil {
		t.Errorf("%q after %d tokens, want %q after %d", *line.Response, line.Prompt, want.Choices[0].Text, want.Usage.Prompt)
	}
}
