package llama_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// begunTemplates are the ways in which families write an assistant's turn.
var begunTemplates = map[string]string{
	"brackets":  `{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]{% else %}{{ m.content }}</s>{% endif %}{% endfor %}`,
	"trimmed":   `{% for m in messages %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content | trim }}<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}`,
	"a thought": `{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' and loop.last %}<think>\n{{ m.reasoning_content or '' }}\n</think>\n\n{% endif %}{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|><think>\n{% endif %}`,
}

// TestContinueRendersAsTheTemplateDoes compares a conversation that ends within its last message with the whole conversation.
func TestContinueRendersAsTheTemplateDoes(t *testing.T) {
	effort.Turn(t, 8)
	files, err := filepath.Glob("../internal/chat/testdata/hybrids/*.jinja")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	templates := map[string]string{"Pebble's": ""}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		templates[filepath.Base(file)] = string(text)
	}
	for name, text := range begunTemplates {
		templates[name] = strings.ReplaceAll(text, `\n`, "\n")
	}
	history := []llama.Message{{Role: llama.RoleUser, Content: "Capital of Japan?"}, {Role: llama.RoleAssistant, Content: "The capital of <|eot_id|>"}}
	for name, source := range templates {
		m, err := pebble.Load(&llama.LoadOptions{ChatTemplate: source})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		defer m.Close()
		tokens := m.Tokenizer()
		begun, err := tokens.Template(history, llama.TemplateOptions{Continue: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		whole, err := tokens.Template(history, llama.TemplateOptions{NoOpening: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.HasPrefix(tokens.Decode(whole...), tokens.Decode(begun...)) || !strings.HasSuffix(tokens.Decode(begun...), history[1].Content) {
			t.Errorf("%s: the conversation ends with %q, which the whole does not go on with: %q", name, tokens.Decode(begun...), tokens.Decode(whole...))
		}
		for _, token := range begun[len(begun)-5:] {
			if tokens.Special(token) {
				t.Errorf("%s: the message's text became the token %q", name, tokens.Text(token))
			}
		}
	}
}

// TestContinue lets a session and a pool go on with an answer at each of its words.
func TestContinue(t *testing.T) {
	m, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := m.NewPool(nil)
	if err != nil {
		t.Fatal(err)
	}
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}
	whole, err := llama.Collect(s.Chat(t.Context(), history, llama.Params{}))
	if err != nil {
		t.Fatal(err)
	}
	goOn := llama.Params{Template: llama.TemplateOptions{Continue: true}}
	for i, c := range whole.Text {
		if c != ' ' {
			continue
		}
		begun := append(history, llama.Message{Role: llama.RoleAssistant, Content: whole.Text[:i]})
		a, err := llama.Collect(s.Chat(t.Context(), begun, goOn))
		if err != nil || a.Text != whole.Text[i:] || a.Message.Content != whole.Text {
			t.Errorf("after %q: %q, the message is %q, %v", whole.Text[:i], a.Text, a.Message.Content, err)
		}
		b, err := llama.Collect(pool.Chat(t.Context(), begun, goOn))
		if err != nil || b.Text != a.Text || b.Message.Content != whole.Text || b.Stop != a.Stop {
			t.Errorf("a pool: after %q: %q, %v", whole.Text[:i], b.Text, err)
		}
	}
	for name, c := range map[string]struct {
		history []llama.Message
		options llama.TemplateOptions
		says    string
	}{
		"no message": {nil, goOn.Template, "at least one message"},
		"the user's": {history, goOn.Template, `"user"`},
		"nothing":    {append(history, llama.Message{Role: llama.RoleAssistant}), goOn.Template, "history[1]"},
		"calls":      {append(history, llama.Message{Role: llama.RoleAssistant, Content: "x", ToolCalls: []llama.ToolCall{{Name: "f"}}}), goOn.Template, "1 calls"},
		"both":       {history, llama.TemplateOptions{Continue: true, NoOpening: true}, "NoOpening"},
		"no opening": {history, llama.TemplateOptions{NoOpening: true}, "NoOpening"},
		"no history": {nil, llama.TemplateOptions{}, "history"},
	} {
		_, err := llama.Collect(s.Chat(t.Context(), c.history, llama.Params{Template: c.options}))
		if !errors.As(err, new(*llama.ParamError)) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
