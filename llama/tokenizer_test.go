package llama_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

// templateTokenizer returns a tokenizer of single ASCII characters, with these added tokens and this chat template.
func templateTokenizer(t *testing.T, template string, added []map[string]any) *llama.Tokenizer {
	t.Helper()
	vocab := map[string]int{"▁": 0}
	for c := range 128 {
		if c != ' ' {
			vocab[string(rune(c))] = c + 1
		}
	}
	decoder := map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"}
	dir := t.TempDir()
	for name, content := range map[string]any{
		"tokenizer.json": map[string]any{
			"added_tokens": added, "normalizer": nil, "pre_tokenizer": decoder, "decoder": decoder,
			"model": map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
		},
		"tokenizer_config.json": map[string]any{"chat_template": template, "bos_token": "<s>"},
	} {
		data, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tokenizer, err := llama.LoadTokenizer(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

// What a template writes has the ids that Hugging Face's library gives the rendered text: added tokens that are not special
// are tokens, and those that take white space along do.
func TestTemplatesWriteAddedTokens(t *testing.T) {
	bos := map[string]any{"id": 1000, "content": "<s>", "special": true}
	for _, c := range []struct {
		name, template, rendered string
		added                    []map[string]any
	}{
		{"DeepSeek-R1-Distill: tokens that are not special",
			`{{ bos_token }}{% for m in messages %}{{ '<｜User｜>' + m['content'] }}{% endfor %}{% if add_generation_prompt %}{{ '<｜Assistant｜><think>\n' }}{% endif %}`,
			"<s><｜User｜>hello<｜Assistant｜><think>\n",
			[]map[string]any{bos, {"id": 1001, "content": "<｜User｜>"}, {"id": 1002, "content": "<｜Assistant｜>"}, {"id": 1003, "content": "<think>", "normalized": true}}},
		{"Phi-3: the line end after a token goes along",
			`{% for m in messages %}{{ '<|' + m['role'] + '|>' + '\n' + m['content'] + '<|end|>\n' }}{% endfor %}{{ '<|assistant|>\n' }}`,
			"<|user|>\nhello<|end|>\n<|assistant|>\n",
			[]map[string]any{bos, {"id": 1001, "content": "<|user|>", "special": true, "rstrip": true}, {"id": 1002, "content": "<|assistant|>", "special": true, "rstrip": true}, {"id": 1003, "content": "<|end|>", "special": true, "rstrip": true}}},
		{"a token that takes the space before it along",
			`{% for m in messages %}{{ m['content'] }} <mask> x{% endfor %}`, "hello <mask> x",
			[]map[string]any{bos, {"id": 1001, "content": "<mask>", "special": true, "lstrip": true}}},
		{"a token that has to stand alone",
			`{% for m in messages %}box ox {{ m['content'] }}{% endfor %}`, "box ox hello",
			[]map[string]any{bos, {"id": 1001, "content": "ox", "single_word": true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tokenizer := templateTokenizer(t, c.template, c.added)
			got, err := tokenizer.Template([]llama.Message{{Role: "user", Content: "hello"}}, llama.TemplateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if want := tokenizer.EncodeSpecial(c.rendered, false); !slices.Equal(got, want) {
				t.Errorf("Template %v, EncodeSpecial of what it renders %v", got, want)
			}
			added := 0
			for _, a := range c.added {
				content, _ := a["content"].(string)
				inert, err := tokenizer.Template([]llama.Message{{Role: "user", Content: content}}, llama.TemplateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if count(inert) != count(got) {
					t.Errorf("a message %q gives an added token: %v", content, inert)
				}
				added = count(got)
			}
			if added == 0 {
				t.Error("the template gives no added token")
			}
		})
	}
}

// count returns how many tokens of templateTokenizer are added ones.
func count(tokens []llama.Token) int {
	n := 0
	for _, token := range tokens {
		if token >= 1000 {
			n++
		}
	}
	return n
}

// TestTokenizerJSONSaysWhatIsAround has tokenizer_config.json ask for tokens around texts, and not: the template of tokenizer.json counts alone.
func TestTokenizerJSONSaysWhatIsAround(t *testing.T) {
	text := map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}
	token := func(content string) map[string]any {
		return map[string]any{"SpecialToken": map[string]any{"id": content, "type_id": 0}}
	}
	decoder := map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"}
	for i, single := range [][]any{nil, {text}, {token("<s>"), text}, {text, token("</s>")}, {token("<s>"), text, token("</s>")}} {
		want := [][]llama.Token{{0}, {0}, {1, 0}, {0, 2}, {1, 0, 2}}[i]
		file := map[string]any{
			"added_tokens":  []map[string]any{{"id": 1, "content": "<s>", "special": true}, {"id": 2, "content": "</s>", "special": true}},
			"pre_tokenizer": decoder, "decoder": decoder,
			"model": map[string]any{"type": "BPE", "vocab": map[string]int{"a": 0}, "merges": []string{}},
		}
		if single != nil {
			named := func(content string, id int) map[string]any {
				return map[string]any{"id": content, "ids": []int{id}, "tokens": []string{content}}
			}
			file["post_processor"] = map[string]any{"type": "TemplateProcessing", "single": single, "pair": append(slices.Clone(single), map[string]any{"Sequence": map[string]any{"id": "B", "type_id": 1}}),
				"special_tokens": map[string]any{"<s>": named("<s>", 1), "</s>": named("</s>", 2)}}
		}
		for _, asks := range []any{nil, false, true} {
			dir := t.TempDir()
			for name, content := range map[string]any{"tokenizer.json": file,
				"tokenizer_config.json": map[string]any{"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": asks, "add_eos_token": asks, "tokenizer_class": "LlamaTokenizer"}} {
				data, err := json.Marshal(content)
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			tokenizer, err := llama.LoadTokenizer(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := tokenizer.EncodeWhole("a"); !slices.Equal(got, want) {
				t.Errorf("template %d, add_bos_token and add_eos_token %v: %v, want %v", i, asks, got, want)
			}
		}
	}
}
