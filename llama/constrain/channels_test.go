package constrain_test

import (
	"encoding/json"
	"testing"

	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// harmonyMarks are the marks of answers in channels.
var harmonyMarks = []string{"<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|call|>"}

// harmonyTokenizer is a vocabulary of bytes with a template of the kind of OpenAI's open models.
func harmonyTokenizer(t *testing.T) *llama.Tokenizer {
	t.Helper()
	tok, err := llama.LoadTokenizer(scriptedmodel.Write(t, scriptedmodel.Script{Special: harmonyMarks, Template: `{{ tools }}` +
		`{% for m in messages %}<|start|>{{ m.role }}<|channel|>final<|message|>{{ m.content }}{% if m.tool_calls %}<|call|>{% endif %}{% endfor %}`}))
	if err != nil {
		t.Fatal(err)
	}
	if tok.CallFormat() != llama.HarmonyCalls {
		t.Fatalf("calls are %v", tok.CallFormat())
	}
	return tok
}

// TestChannels allows thoughts and preambles in their channels, and then a text or one call with arguments that fit.
func TestChannels(t *testing.T) {
	tok := harmonyTokenizer(t)
	const (
		thought  = "<|channel|>analysis<|message|>It asks \"…\"\n<|end|><|start|>assistant"
		preamble = "<|channel|>commentary<|message|>Let me see.<|end|><|start|>assistant"
		text     = "<|channel|>final<|message|>It is warm."
		object   = `<|channel|>final<|message|>{"warm": true}`
		json1    = `{"city": "Rome", "unit": "celsius"}`
		call     = "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>" + json1
		plain    = "<|channel|>commentary to=functions.now json<|message|>{}"
		before   = " to=functions.weather<|channel|>commentary <|constrain|>json<|message|>" + json1
		history  = ` to=functions.sum<|channel|>commentary json<|message|>{"a": 1, "b": 2}`
	)
	answer := &constrain.Answer{Schema: json.RawMessage(`{"type": "object", "properties": {"warm": {"type": "boolean"}}, "required": ["warm"], "additionalProperties": false}`)}
	always := []string{
		"It is warm.", "", "<|channel|>", "<|channel|>analysis<|message|>It", "<|channel|>other<|message|>", "<|message|>It is", thought, thought + thought,
		"<|channel|>commentary to=functions.delete <|constrain|>json<|message|>{}", "<|channel|>commentary to=browser.search <|constrain|>json<|message|>{}",
		"<|channel|>commentary to=functions.sum <|constrain|>json<|message|>{\"a\": 1}", "<|channel|>analysis to=functions.now json<|message|>{}",
		call + "<|end|><|start|>assistant" + call, text + "<|end|><|start|>assistant" + text, "<|channel|>final<|message|><|channel|>",
	}
	for _, c := range []struct {
		name             string
		options          constrain.ToolOptions
		allowed, refused []string
	}{
		{"auto", constrain.ToolOptions{}, []string{text, object, call, plain, before, history, thought + text, thought + call, thought + thought + preamble + thought + before, preamble + text}, nil},
		{"single", constrain.ToolOptions{Single: true}, []string{thought + call}, nil},
		{"required", constrain.ToolOptions{Choice: constrain.ToolRequired}, []string{call, thought + plain, thought + history}, []string{text, thought + text, preamble + call}},
		{"one function", constrain.ToolOptions{Function: "now"}, []string{plain, thought + plain}, []string{call, text}},
		{"none", constrain.ToolOptions{Choice: constrain.ToolNone}, []string{text, thought + preamble + text}, []string{call, thought + call}},
		{"a form", constrain.ToolOptions{Answer: answer}, []string{object, thought + object, thought + call}, []string{text, preamble + object}},
		{"a form without calls", constrain.ToolOptions{Answer: answer, Choice: constrain.ToolNone}, []string{object, thought + object}, []string{text, call}},
	} {
		constraint, err := constrain.Tools(tok, weatherAndSum, c.options)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if whole, ok := constraint.(llama.WholeConstraint); !ok || !whole.Whole() {
			t.Errorf("%s: the constraint is none of whole answers", c.name)
		}
		for _, a := range c.allowed {
			if !takes(t, tok, constraint, marked(tok, a, harmonyMarks...)) {
				t.Errorf("%s: %s is refused", c.name, a)
			}
		}
		for _, r := range append(c.refused, always...) {
			if takes(t, tok, constraint, marked(tok, r, harmonyMarks...)) {
				t.Errorf("%s: %s is allowed", c.name, r)
			}
		}
		if takes(t, tok, constraint, tok.EncodeContinuation(text)) {
			t.Errorf("%s: marks that are text are allowed", c.name)
		}
	}
	schema, err := constrain.JSONSchema(tok, answer.Schema)
	if err != nil {
		t.Fatal(err)
	}
	if schema.(llama.WholeConstraint).Whole() {
		t.Error("a schema is one of whole answers")
	}
}
