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

// TestInfill asks a model with tokens for it to fill in the text between two others. The answer is that to the prompt with these tokens.
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
	line := ollama(t, h, "/api/generate", false, `"model":"coder","prompt":"<|fim_middle|> Once upon a time","suffix":"there was","options":{"temperature":0,"num_predict":6}`)[0]
	tokenizer, err := llama.LoadTokenizer(filepath.Join(folder, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	tokens := tokenizer.EncodeSpecial("<|fim_prefix|>", true)
	tokens = append(tokens, tokenizer.Encode("<|fim_middle|> Once upon a time")...) // a text from outside: nothing in it is special
	tokens = append(tokens, tokenizer.EncodeSpecial("<|fim_suffix|>there was<|fim_middle|>", false)...)
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
	if *line.Response == "" || *line.Response != want.Choices[0].Text || line.Prompt != want.Usage.Prompt || line.Context != nil {
		t.Errorf("%q after %d tokens, want %q after %d", *line.Response, line.Prompt, want.Choices[0].Text, want.Usage.Prompt)
	}

	// As llama-server's programs ask.
	const ask = `{"input_prefix":"<|fim_middle|> Once upon a time","input_suffix":"there was","prompt":"","n_predict":6,"temperature":0,"samplers":["top_k","top_p","infill"],"cache_prompt":true,
		"t_max_prompt_ms":500,"t_max_predict_ms":1000,"n_indent":4`
	type infilled struct {
		Content   string
		Stop      bool
		Type      string `json:"stop_type"`
		Predicted int    `json:"tokens_predicted"`
		Evaluated int    `json:"tokens_evaluated"`
	}
	infill := func(more string) (out infilled) {
		t.Helper()
		status, text := post(t, h, "/infill", ask+more+"}")
		if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 {
			t.Fatalf("status %d, %v: %s", status, err, text)
		}
		return out
	}
	whole := infill(`,"input_extra":[]`)
	if whole.Content != want.Choices[0].Text || !whole.Stop || whole.Type != "limit" || whole.Predicted != 6 || whole.Evaluated != want.Usage.Prompt {
		t.Errorf("%+v", whole)
	}
	const more = `,"input_extra":[{"filename":"a.txt","text":"A fox.","time":1},{"filename":"b.txt","text":"An owl."}]`
	if all := infill(more); all.Evaluated <= whole.Evaluated {
		t.Errorf("with other texts %+v, without %+v", all, whole)
	}
	if little := infill(`,"input_extra":[{"filename":"a.txt","text":"` + strings.Repeat("A fox. ", 2000) + `"},{"filename":"b.txt","text":"An owl."}]`); little.Evaluated <= whole.Evaluated || little.Evaluated > 200 {
		t.Errorf("with a text that does not fit %+v", little)
	}
	status, text = post(t, h, "/infill", ask+`,"stream":true}`)
	var streamed string
	parts := events(t, text)
	for i, data := range parts {
		var part infilled
		if err := json.Unmarshal([]byte(data), &part); err != nil || status != 200 || part.Stop != (i == len(parts)-1) {
			t.Fatalf("status %d, %v: %s", status, err, text)
		}
		streamed += part.Content
	}
	if streamed != whole.Content {
		t.Errorf("streamed %q, whole %q", streamed, whole.Content)
	}
	status, text = post(t, h, "/infill", `{"input_prefix":"a","n_predict":0}`)
	if status != 200 || !strings.Contains(text, `"content":""`) {
		t.Errorf("status %d: %s", status, text)
	}
	refused(t, h, "/infill", `{"input_prefix":"a","input_extra":[{"filename":"b"}]}`, 400, "input_extra[0].text", "missing_required_parameter", "missing")
	refused(t, start(t, nil), "/infill", `{"input_prefix":"a","input_suffix":"b"}`, 400, "input_suffix", "unsupported_parameter", "no tokens for filling in")
}
