package constrain_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// taggedTokenizer is Pebble's tokenizer with a template that says that calls are written between tags.
func taggedTokenizer(t *testing.T) *llama.Tokenizer { return writtenTokenizer(t, llama.TaggedCalls) }

// TestTaggedCalls allows calls between tags with arguments that fit.
func TestTaggedCalls(t *testing.T) {
	tok := taggedTokenizer(t)
	constraint, err := constrain.Tools(tok, weatherAndSum, constrain.ToolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const (
		weather = "<tool_call>\n<function=weather>\n<parameter=city>\nRome <\n3\n</parameter>\n<parameter=unit>\ncelsius\n</parameter>\n</function>\n</tool_call>"
		short   = "<tool_call>\n<function=weather>\n<parameter=city>\n\n</parameter>\n</function>\n</tool_call>"
		sum     = "<tool_call>\n<function=sum>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\n-2\n</parameter>\n</function>\n</tool_call>"
		now     = "<tool_call>\n<function=now>\n</function>\n</tool_call>"
	)
	for _, a := range []string{weather, short, sum, now, "It is warm.", weather + "\n" + now, "See:\n" + sum} {
		if !accepts(t, tok, constraint, a) {
			t.Errorf("%s is refused", a)
		}
	}
	for _, r := range []string{
		"<tool_call>\n<function=delete>\n</function>\n</tool_call>",
		"<tool_call>\n<function=sum>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
		"<tool_call>\n<function=sum>\n<parameter=a>\nx\n</parameter>\n<parameter=b>\n1\n</parameter>\n</function>\n</tool_call>",
		"<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n<parameter=unit>\nkelvin\n</parameter>\n</function>\n</tool_call>",
		"<tool_call>\n", "x <tool_call>",
	} {
		if accepts(t, tok, constraint, r) {
			t.Errorf("%s is allowed", r)
		}
	}
}

// TestTaggedCallsThatCannotBePromised names what a schema says.
func TestTaggedCallsThatCannotBePromised(t *testing.T) {
	tok := taggedTokenizer(t)
	for _, parameters := range []string{
		`{"type": "object", "properties": {}, "minProperties": 1}`,
		`{"type": "object", "properties": {}, "required": ["a"]}`, `{"type": "object", "properties": {"a>": {"type": "integer"}}}`,
	} {
		tools := []json.RawMessage{json.RawMessage(`{"name": "f", "parameters": ` + parameters + `}`)}
		if _, err := constrain.Tools(tok, tools, constrain.ToolOptions{}); !errors.Is(err, llama.ErrUnsupported) {
			t.Errorf("%s: %v", parameters, err)
		}
	}
	tools := []json.RawMessage{json.RawMessage(`{"name": "f", "parameters": {"type": "object", "$defs": {"n": {"type": "integer"}}, "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/n"}}, "b": {}}}}`)}
	constraint, err := constrain.Tools(tok, tools, constrain.ToolOptions{Lossy: true})
	if err != nil {
		t.Fatal(err)
	}
	if call := "<tool_call>\n<function=f>\n<parameter=a>\n[1, 2]\n</parameter>\n<parameter=b>\nx\n</parameter>\n</function>\n</tool_call>"; !accepts(t, tok, constraint, call) {
		t.Errorf("%s is refused", call)
	}
}
