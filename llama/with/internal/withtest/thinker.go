package withtest

import (
	"testing"

	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/with"
)

// thinkTemplate is a chat template of a model that thinks.
const thinkTemplate = `{%- for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' and m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content }}<|im_end|>
{% endfor %}{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

// Thought and Greeting are what Thinker thinks and says, whatever it is asked. A character of the thought has two tokens.
const (
	Thought  = "It asks, 한!"
	Greeting = "Hello there."
)

// Thinker returns a model that thinks before it answers, by the name "thinker".
func Thinker(t testing.TB) *with.Model {
	t.Helper()
	model, err := llama.Load(scriptedmodel.Write(t, scriptedmodel.Script{
		Template: thinkTemplate, Special: []string{"<|im_start|>", "<|im_end|>"}, Added: []string{"<think>", "</think>", "<tool_call>", "</tool_call>"},
		Chains: [][]string{{"\n", "<think>", "It", " asks,", " ", "\xed\x95", "\x9c", "!", "</think>", "\n\n", "Hello", " there", "."}},
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := with.New(model, &with.Options{Name: "thinker", Params: llama.Params{MaxTokens: 40}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close()
		model.Close()
	})
	return m
}
