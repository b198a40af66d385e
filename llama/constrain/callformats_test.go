package constrain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/admits"
	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// signs are parts of templates that show how a family writes calls.
var signs = map[llama.CallFormat]string{
	llama.LlamaJSONCalls:     `{"name": "f", "parameters": {}}`,
	llama.LlamaPythonicCalls: `[func_name1(a=1)]`,
	llama.HermesCalls:        `<tool_call></tool_call>`,
	llama.MistralCalls:       `[TOOL_CALLS]`,
	llama.MistralArgsCalls:   `[TOOL_CALLS]f[ARGS]`,
	llama.GraniteCalls:       `<|tool_call|>`,
	llama.PhiCalls:           `<|tool_call|><|/tool_call|>`,
	llama.OlmoCalls:          `<functions><function_calls>`,
	llama.TaggedCalls:        `<tool_call><function=f></function></tool_call>`,
	llama.LFMCalls:           `<|tool_list_start|><|tool_call_start|>`,
	llama.GemmaCalls:         `<|tool_call>call:f{}`,
	llama.HarmonyCalls:       `<|channel|><|message|><|call|>`,
	llama.GLMCalls:           `<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>`,
}

// writtenTokenizer has a vocabulary of bytes and a template that shows how calls are written. added are further tokens.
func writtenTokenizer(t *testing.T, format llama.CallFormat, added ...string) *llama.Tokenizer {
	t.Helper()
	tok, err := llama.LoadTokenizer(scriptedmodel.Write(t, scriptedmodel.Script{Added: added,
		Template: "{% for m in messages %}{{ m.content }}{% endfor %}{% if tools %}{{ tools | tojson }}" + "{{ '" + signs[format] + "' }}" + "{% endif %}"}))
	if err != nil {
		t.Fatal(err)
	}
	if tok.CallFormat() != format {
		t.Fatalf("calls are %v, want %v", tok.CallFormat(), format)
	}
	return tok
}

// TestEveryCallFormat draws calls at random in every way of writing them, and lets a validator judge the calls that are read. A schema may be
// refused by name. README names the families, so all ways must be here.
func TestEveryCallFormat(t *testing.T) {
	if len(signs) != calls.Formats-1 {
		t.Fatalf("%d ways of writing calls are tried, of %d", len(signs), calls.Formats-1)
	}
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if claim := "Calls of functions are read and held to their schemas in every listed family"; !strings.Contains(strings.Join(strings.Fields(string(page)), " "), claim) {
		t.Errorf("README does not say %q", claim)
	}
	for format := range signs {
		if format == llama.HarmonyCalls || format == llama.GemmaCalls {
			continue // TestChannels, TestMarkedCallsAreValid
		}
		t.Run(format.String(), func(t *testing.T) {
			t.Parallel()
			tok := writtenTokenizer(t, format)
			tried := 0
			for i, s := range ourSchemas(t) {
				if strings.Contains(string(s.Schema), `"$`) {
					continue // what it refers to would be elsewhere
				}
				if !effort.Share(i+int(format), 8) {
					continue
				}
				parameters := fmt.Appendf(nil, `{"type":"object","properties":{"u":{"type":["string","null"]},"v":%s,"w":{"type":"boolean"}},"required":["v"],"additionalProperties":false}`, s.Schema)
				tools := []json.RawMessage{fmt.Appendf(nil, `{"name":"f","parameters":%s}`, parameters)}
				constraint, err := constrain.Tools(tok, tools, constrain.ToolOptions{Choice: constrain.ToolRequired, Single: true})
				if unsupported := (*constrain.UnsupportedError)(nil); errors.Is(err, llama.ErrUnsupported) || errors.As(err, &unsupported) {
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", s.Name, err)
					continue
				}
				tried++
				judge := validator(t, parameters)
				for way, draw := range drawings {
					if way == "never ends" && !s.Bounded {
						continue
					}
					w := newWriter(tok, 1)
					text, ended, err := w.write(constraint, draw)
					if err != nil {
						t.Errorf("%s, %s: after %q: %v", s.Name, way, text, err)
					}
					if err != nil || !ended {
						continue
					}
					var p calls.Parser
					p.Start(calls.Format(format), []string{"f"}, func(string) bool { return false })
					schemas := admits.Functions{}
					schemas.Add("f", parameters)
					p.Schemas(schemas)
					p.Write(string(text))
					p.Finish()
					if content, _ := p.Take(); len(p.Calls()) != 1 || content != "" {
						t.Errorf("%s, %s: %q is read as %q, %+v", s.Name, way, text, content, p.Calls())
					} else if err := judge([]byte(p.Calls()[0].Arguments)); err != nil {
						t.Errorf("%s, %s: %q is read as %s: %v", s.Name, way, text, p.Calls()[0].Arguments, err)
					}
				}
			}
			if tried < 3 {
				t.Errorf("only %d schemas are supported", tried)
			}
		})
	}
}

// TestGLMCalls has the calls of GLM 4.5, with line breaks, and of GLM 4.7, without.
func TestGLMCalls(t *testing.T) {
	marks := []string{"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"}
	for _, added := range [][]string{nil, marks} {
		tok := writtenTokenizer(t, llama.GLMCalls, added...)
		constraint, err := constrain.Tools(tok, weatherAndSum, constrain.ToolOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []string{
			"<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Rome\n2</arg_value>\n</tool_call>",
			"<tool_call>weather<arg_key>city</arg_key><arg_value>Rome</arg_value><arg_key>unit</arg_key><arg_value>celsius</arg_value></tool_call>",
			"<tool_call>now</tool_call>", "<tool_call>now\n</tool_call>\n<tool_call>sum\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>b</arg_key>\n<arg_value>-2</arg_value>\n</tool_call>",
			"It is warm.", "See:\n<tool_call>now</tool_call>",
		} {
			if !takes(t, tok, constraint, marked(tok, a, added...)) {
				t.Errorf("%s is refused", a)
			}
		}
		for _, r := range []string{
			"<tool_call>delete</tool_call>", "<tool_call>sum<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>",
			"<tool_call>sum<arg_key>a</arg_key><arg_value>x</arg_value><arg_key>b</arg_key><arg_value>1</arg_value></tool_call>", "<tool_call>",
		} {
			if takes(t, tok, constraint, marked(tok, r, added...)) {
				t.Errorf("%s is allowed", r)
			}
		}
	}
}

// TestPythonCalls has the calls of LFM2, of OLMo 3 and of Llama's Python.
func TestPythonCalls(t *testing.T) {
	for format, around := range map[llama.CallFormat][3]string{
		llama.LFMCalls:           {"<|tool_call_start|>[", ", ", "]<|tool_call_end|>"},
		llama.OlmoCalls:          {"<function_calls>", "\n", "</function_calls>"},
		llama.LlamaPythonicCalls: {"[", ", ", "]"},
	} {
		tok := writtenTokenizer(t, format)
		tools := append(slices.Clone(weatherAndSum), json.RawMessage(`{"name": "set", "parameters": {"type": "object", "properties": {
			"on": {"type": "boolean"}, "names": {"type": "array", "items": {"type": ["string", "null"]}}, "more": {"type": "object", "properties": {"x": {"const": true}}, "additionalProperties": false}}}}`))
		constraint, err := constrain.Tools(tok, tools, constrain.ToolOptions{})
		if err != nil {
			t.Fatal(err)
		}
		call := func(calls ...string) string { return around[0] + strings.Join(calls, around[1]) + around[2] }
		for _, a := range []string{
			call(`weather(city="Rome \"x\"", unit="celsius")`), call("now()"), call("sum(a=1, b=-2)", "now()"), call(`set()`), call(`set(on=True)`),
			call(`set(names=["a", None], more={"x": True})`), "It is warm.",
		} {
			if !accepts(t, tok, constraint, a) {
				t.Errorf("%v: %s is refused", format, a)
			}
		}
		for _, r := range []string{
			call(`set(on=true)`), call(`sum(a=1)`), call(`sum(b=1, a=2)`), call(`delete()`), call(`set(, on=True)`), call(`weather(city="Rome",)`), call(`weather(city=Rome)`), call(`weather(city="a\/b")`),
		} {
			if accepts(t, tok, constraint, r) {
				t.Errorf("%v: %s is allowed", format, r)
			}
		}
	}
}
