package openai

import (
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// TestToolsForTheTemplate checks what the chat template sees of functions: what came, unless keywords say nothing.
func TestToolsForTheTemplate(t *testing.T) {
	for tool, want := range map[string]string{
		`{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": false}}`: ``,
		`{"type":"function","function":{"name":"f"}}`:                                                        ``,
		`{"type":"function","function":{"name":"f","description":"[]","parameters":[]}}`:                     `{"type":"function","function":{"name":"f","description":"[]","parameters":{}}}`,
		`{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":null}}}`:       `{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`,
		`{"type":"function","function":{"name":"f","strict":true,"parameters":{"properties":null}}}`:         ``,
	} {
		var read Tool
		if err := wire.Decode("tools[0]", []byte(tool), &read); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = tool
		}
		if string(read.raw) != want {
			t.Errorf("%s becomes %s", tool, read.raw)
		}
	}
}
