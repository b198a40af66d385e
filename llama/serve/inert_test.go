package serve_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

// TestSpecialTokensInRequestsAreText checks that no field of a conversation brings a special token into the prompt: it has as many of each as
// with harmless texts.
func TestSpecialTokensInRequestsAreText(t *testing.T) {
	h := start(t, nil)
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	tokenizer := model.Tokenizer()
	var injected strings.Builder
	for id := range tokenizer.VocabSize() {
		if token := llama.Token(id); tokenizer.Special(token) {
			injected.WriteString(tokenizer.Text(token))
		}
	}
	if injected.Len() == 0 {
		t.Fatal("there are no special tokens")
	}
	// specials returns the special tokens of the conversation's prompt. The field of that number has the text.
	const fields = 12
	specials := func(field int, text string) (list []llama.Token) {
		n := 0
		next := func() string {
			if n++; n-1 == field {
				return text
			}
			return "harmless"
		}
		id := next()
		body, err := json.Marshal(map[string]any{
			"messages": []any{
				map[string]any{"role": "system", "content": next()},
				map[string]any{"role": "user", "name": next(), "content": []any{map[string]any{"type": "text", "text": next()}}},
				map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": id, "type": "function",
					"function": map[string]any{"name": next(), "arguments": fmt.Sprintf("{%q:%q}", next(), next())}}}},
				map[string]any{"role": "tool", "tool_call_id": id, "content": next()},
			},
			"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "f", "description": next(),
				"parameters": map[string]any{"type": "object", "title": next(), "properties": map[string]any{next(): map[string]any{"enum": []any{next()}}}}}}},
		})
		if err != nil || n != fields {
			t.Fatalf("%d fields, %v", n, err)
		}
		status, answer := post(t, h, "/tokenize", string(body))
		var out struct{ Tokens []llama.Token }
		if err := json.Unmarshal([]byte(answer), &out); err != nil || status != 200 {
			t.Fatalf("field %d: status %d, %s", field, status, answer)
		}
		return slices.DeleteFunc(out.Tokens, func(token llama.Token) bool { return !tokenizer.Special(token) })
	}
	want := specials(-1, "")
	for field := range fields {
		if got := specials(field, injected.String()); !slices.Equal(got, want) {
			t.Errorf("field %d brings special tokens in: %v, want %v", field, got, want)
		}
	}
}
