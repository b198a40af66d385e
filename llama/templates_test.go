package llama_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// pebbleWith returns a copy of Pebble's folder with other files; a file that becomes empty is left out.
func pebbleWith(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture.Path(t, "pebble/hf"))); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if text == "" {
			err = os.Remove(path)
		} else if err == nil {
			os.Remove(path)
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// plainSettings is a tokenizer_config.json without a template.
const plainSettings = `{"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>", "pad_token": "<|finetune_right_pad_id|>"}`

// TestTemplateOfAProcessor renders the template of a chat_template.json, which processors of transformers 4 wrote; the vocabulary is Llama 3's.
func TestTemplateOfAProcessor(t *testing.T) {
	const source = `{{- bos_token }}{% for m in messages %}{{- '[INST]' + m['content'] + '[/INST]' }}{% endfor %}`
	template, err := json.Marshal(map[string]string{"chat_template": source})
	if err != nil {
		t.Fatal(err)
	}
	history := []llama.Message{{Role: llama.RoleUser, Content: "Hi"}}
	for from, files := range map[string]map[string]string{
		"chat_template.json":                           {"tokenizer_config.json": plainSettings, "chat_template.json": string(template)},
		"processor_config.json":                        {"tokenizer_config.json": plainSettings, "processor_config.json": string(template)},
		"chat_template.jinja":                          {"tokenizer_config.json": plainSettings, "chat_template.jinja": source},
		"additional_chat_templates/default.jinja":      {"tokenizer_config.json": plainSettings, "additional_chat_templates/default.jinja": source},
		"built in, for Llama 3's vocabulary: the file": {"tokenizer_config.json": plainSettings},
	} {
		dir := pebbleWith(t, files)
		k, err := llama.LoadTokenizer(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.Template(history, llama.TemplateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := k.EncodeSpecial("<|begin_of_text|>[INST]Hi[/INST]", false)
		if builtIn := strings.HasPrefix(from, "built in"); slices.Equal(got, want) == builtIn || !strings.HasPrefix(k.ChatTemplates().From, from) {
			t.Errorf("%s: %v from %q", from, k.Decode(got...), k.ChatTemplates().From)
		}
		r, err := llama.Inspect(dir)
		if err != nil || r.Template != k.ChatTemplates().From {
			t.Errorf("%s: Inspect: %+v, %v", from, r, err)
		}
		var log bytes.Buffer
		m, err := llama.Load(dir, &llama.LoadOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		m.Close()
		if !strings.Contains(log.String(), k.ChatTemplates().From) {
			t.Errorf("%s: the log has %s", from, log.String())
		}
	}
}

// TestTemplatesByName chooses among several templates.
func TestTemplatesByName(t *testing.T) {
	named := func(names ...string) string {
		var list []map[string]string
		for _, name := range names {
			source := "{{ '" + name + ":' }}{% for m in messages %}{{ m['content'] }}{% endfor %}{% if tools %}{{ tools | length }}{% endif %}"
			if name == "broken" {
				source = "{% if %}"
			}
			list = append(list, map[string]string{"name": name, "template": source})
		}
		data, err := json.Marshal(map[string]any{"chat_template": list})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	tools := []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`)}
	for _, c := range []struct {
		names  []string
		o      llama.TemplateOptions
		chosen string // "": an error
	}{
		{[]string{"default", "rag", "tool_use"}, llama.TemplateOptions{}, "default"},
		{[]string{"default", "rag", "tool_use"}, llama.TemplateOptions{Tools: tools}, "tool_use"},
		{[]string{"default", "rag", "tool_use"}, llama.TemplateOptions{Named: "default", Tools: tools}, "default"},
		{[]string{"default", "rag", "tool_use"}, llama.TemplateOptions{Named: "rag"}, "rag"},
		{[]string{"default", "rag", "tool_use"}, llama.TemplateOptions{Named: "other"}, ""},
		{[]string{"default", "rag"}, llama.TemplateOptions{Tools: tools}, "default"},
		{[]string{"rag", "tool_use"}, llama.TemplateOptions{Tools: tools}, "tool_use"},
		{[]string{"rag", "tool_use"}, llama.TemplateOptions{}, ""},
		{[]string{"broken", "default"}, llama.TemplateOptions{}, "default"},
		{[]string{"broken", "default"}, llama.TemplateOptions{Named: "broken"}, ""},
	} {
		k, err := llama.LoadTokenizer(pebbleWith(t, map[string]string{"tokenizer_config.json": named(c.names...)}))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(k.ChatTemplates().Names, c.names) {
			t.Errorf("the templates are %v, want %v", k.ChatTemplates().Names, c.names)
		}
		for i, source := range k.ChatTemplates().Sources {
			if strings.Contains(source, c.names[i]+":") == (c.names[i] == "broken") {
				t.Errorf("the template %s is %q", c.names[i], source)
			}
		}
		if len(k.ChatTemplates().Sources) != len(c.names) {
			t.Errorf("%d sources of the templates %v", len(k.ChatTemplates().Sources), c.names)
		}
		got, err := k.Template([]llama.Message{{Role: llama.RoleUser, Content: "Hi"}}, c.o)
		var param *llama.ParamError
		switch {
		case c.chosen == "" && (err == nil || c.o.Named != "broken" && !errors.As(err, &param)):
			t.Errorf("%v, %+v: %q, %v", c.names, c.o, k.Decode(got...), err)
		case c.chosen != "" && (err != nil || !strings.HasPrefix(k.Decode(got...), c.chosen+":Hi")):
			t.Errorf("%v, %+v: %q, %v; want the template %s", c.names, c.o, k.Decode(got...), err, c.chosen)
		}
	}
	if _, err := llama.LoadTokenizer(pebbleWith(t, map[string]string{"tokenizer_config.json": `{"chat_template":[{"name":"default","template":"{% if %}"}]}`})); err == nil {
		t.Error("a default template that does not parse was loaded")
	}
}
