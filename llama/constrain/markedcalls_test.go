package constrain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// gemmaMarks are the marks of Gemma 4's calls.
var gemmaMarks = []string{"<|tool_call>", "<tool_call|>", `<|"|>`}

// gemmaTokenizers are vocabularies of bytes with a template of Gemma's kind: the marks are control tokens, or added tokens, or text.
func gemmaTokenizers(t *testing.T) map[string]*llama.Tokenizer {
	t.Helper()
	const template = `{{ bos_token }}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}<|tool_call>call:{% endfor %}{% endfor %}{{ tools }}`
	all := map[string]*llama.Tokenizer{}
	for name, s := range map[string]scriptedmodel.Script{
		"control tokens": {Special: gemmaMarks}, "added tokens": {Added: gemmaMarks}, "text": {},
	} {
		s.Template = template
		tok, err := llama.LoadTokenizer(scriptedmodel.Write(t, s))
		if err != nil {
			t.Fatal(err)
		}
		if tok.CallFormat() != llama.GemmaCalls {
			t.Fatalf("calls are %v", tok.CallFormat())
		}
		all[name] = tok
	}
	return all
}

// marked returns the tokens of a text in which marks are their tokens, if there are such tokens.
func marked(tok *llama.Tokenizer, text string, marks ...string) (tokens []llama.Token) {
	for text != "" {
		at, mark := len(text), ""
		for _, m := range marks {
			if _, ok := tok.ID(m); ok {
				if i := strings.Index(text, m); i >= 0 && i < at {
					at, mark = i, m
				}
			}
		}
		tokens = append(tokens, tok.EncodeContinuation(text[:at])...)
		if mark != "" {
			id, _ := tok.ID(mark)
			tokens = append(tokens, id)
		}
		text = text[at+len(mark):]
	}
	return tokens
}

// takes reports whether a constraint allows an answer of these tokens.
func takes(t *testing.T, tok *llama.Tokenizer, c llama.Constraint, tokens []llama.Token) bool {
	t.Helper()
	m, set := c.Start(), llama.NewTokenSet(tok.VocabSize())
	for _, token := range tokens {
		if err := m.Allowed(set); err != nil {
			t.Fatal(err)
		}
		if err := m.Accept(token); set.Has(token) != (err == nil) {
			t.Fatalf("token %d: allowed %v, accepted: %v", token, set.Has(token), err)
		} else if err != nil {
			return false
		}
	}
	if err := m.Allowed(set); err != nil {
		t.Fatal(err)
	}
	return set.End()
}

// TestMarkedCalls allows calls with bare names and marked strings, with arguments that fit, in any order.
func TestMarkedCalls(t *testing.T) {
	tools := append(slices.Clone(weatherAndSum), json.RawMessage(`{"name": "note", "parameters": {"type": "object", "properties": {
		"z": {"type": "array", "items": {"type": "object", "properties": {"a b": {"type": "boolean"}}, "required": ["a b"], "additionalProperties": false}},
		"text": {"type": "string", "minLength": 2, "maxLength": 4}, "code": {"type": "string", "pattern": "^[\"n]$"}, "n": {"type": ["null", "number"]}},
		"additionalProperties": {"type": "integer"}}}`))
	const (
		weather = `<|tool_call>call:weather{city:<|"|>R"o\me<|"|>,unit:<|"|>celsius<|"|>}<tool_call|>`
		turned  = `<|tool_call>call:weather{unit:<|"|>celsius<|"|>,city:<|"|><|"|>}<tool_call|>`
		sum     = `<|tool_call>call:sum{a:1,b:-2}<tool_call|>`
		now     = `<|tool_call>call:now{}<tool_call|>`
		note    = `<|tool_call>call:note{code:<|"|>"<|"|>,n:null,text:<|"|>a` + "\n" + `é<|"|>,other:7,<|"|>k ey<|"|>:8,z:[{<|"|>a b<|"|>:true}]}<tool_call|>`
	)
	for name, tok := range gemmaTokenizers(t) {
		for _, c := range []struct {
			name             string
			options          constrain.ToolOptions
			allowed, refused []string
		}{
			{"auto", constrain.ToolOptions{}, []string{weather, turned, sum, now, note, "It is warm.", "", sum + now, "See: " + now}, []string{
				`<|tool_call>call:delete{}<tool_call|>`, `<|tool_call>call:sum{a:1}<tool_call|>`, `<|tool_call>call:sum{a:1,b:<|"|>2<|"|>}<tool_call|>`,
				`<|tool_call>call:weather{city:<|"|>Rome<|"|>,unit:<|"|>kelvin<|"|>}<tool_call|>`, `<|tool_call>call:weather{city:"Rome"}<tool_call|>`,
				`<|tool_call>call:sum{"a":1,"b":2}<tool_call|>`, `<|tool_call>call:sum{a: 1,b:2}<tool_call|>`, `<|tool_call>call:note{text:<|"|>a<|"|>}<tool_call|>`,
				`<|tool_call>call:note{code:<|"|>a<|"|>}<tool_call|>`, `<|tool_call>call:note{other:null}<tool_call|>`, `<|tool_call>`, now + "x",
			}},
			{"required", constrain.ToolOptions{Choice: constrain.ToolRequired}, []string{weather, sum + now}, []string{"", "It is.", "x" + now}},
			{"single", constrain.ToolOptions{Choice: constrain.ToolRequired, Single: true}, []string{now}, []string{sum + now}},
			{"one function", constrain.ToolOptions{Function: "sum"}, []string{sum}, []string{now, ""}},
			{"none", constrain.ToolOptions{Choice: constrain.ToolNone}, []string{"It is."}, []string{now}},
		} {
			constraint, err := constrain.Tools(tok, tools, c.options)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, c.name, err)
			}
			for _, a := range c.allowed {
				if !takes(t, tok, constraint, marked(tok, a, gemmaMarks...)) {
					t.Errorf("%s, %s: %s is refused", name, c.name, a)
				}
			}
			for _, r := range c.refused {
				if takes(t, tok, constraint, marked(tok, r, gemmaMarks...)) {
					t.Errorf("%s, %s: %s is allowed", name, c.name, r)
				}
			}
		}
	}
}

// TestMarksInStrings keeps the mark's text out of strings if it is taken for the mark there.
func TestMarksInStrings(t *testing.T) {
	tools := []json.RawMessage{json.RawMessage(`{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "maxLength": 9}, "c": {"pattern": "x$", "type": "string"}}}}`)}
	quoting := []json.RawMessage{json.RawMessage(`{"name": "f", "parameters": {"type": "object", "properties": {"a": {"const": "<|\u0022|>"}}}}`)}
	for name, tok := range gemmaTokenizers(t) {
		control := name == "control tokens"
		constraint, err := constrain.Tools(tok, tools, constrain.ToolOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{`a:`, `b:`, `c:`} {
			tokens := slices.Concat(marked(tok, `<|tool_call>call:f{`+value+`<|"|>`, gemmaMarks...), tok.EncodeContinuation(`<|"|>x`), marked(tok, `<|"|>}<tool_call|>`, gemmaMarks...))
			if !control {
				tokens = tokens[:len(tokens)-len(marked(tok, `<|"|>}<tool_call|>`, gemmaMarks...))]
			}
			m := constraint.Start()
			err := error(nil)
			for _, token := range tokens {
				if err = m.Accept(token); err != nil {
					break
				}
			}
			if (err == nil) != control {
				t.Errorf("%s: the mark as text within %s: %v", name, value, err)
			}
		}
		if _, err := constrain.Tools(tok, quoting, constrain.ToolOptions{}); (err == nil) != control || err != nil && !errors.Is(err, llama.ErrUnsupported) {
			t.Errorf("%s: a value that is the mark: %v", name, err)
		}
	}
}

// TestMarkedCallsAreValid draws calls at random, and lets a validator judge the calls that are read.
func TestMarkedCallsAreValid(t *testing.T) {
	effort.Turn(t, 8)
	for name, tok := range gemmaTokenizers(t) {
		for i, s := range ourSchemas(t) {
			if !effort.Share(i, 3) {
				continue
			}
			parameters := s.Schema
			if !strings.Contains(string(parameters), `"type":"object"`) || !strings.HasPrefix(string(parameters), `{"type":"object"`) {
				if strings.Contains(string(parameters), `"$`) {
					continue // what it refers to would be elsewhere
				}
				parameters = fmt.Appendf(nil, `{"type":"object","properties":{"v":%s},"required":["v"],"additionalProperties":false}`, parameters)
			}
			constraint, err := constrain.Tools(tok, []json.RawMessage{fmt.Appendf(nil, `{"name":"f","parameters":%s}`, parameters)},
				constrain.ToolOptions{Choice: constrain.ToolRequired, Single: true})
			if unsupported := (*constrain.UnsupportedError)(nil); errors.As(err, &unsupported) {
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", name, s.Name, err)
				continue
			}
			judge := validator(t, parameters)
			for way, draw := range drawings {
				if way == "never ends" && !s.Bounded {
					continue
				}
				w := newWriter(tok, 1)
				text, ended, err := w.write(constraint, draw)
				if err != nil {
					t.Errorf("%s, %s, %s: after %q: %v", name, s.Name, way, text, err)
				}
				if err != nil || !ended {
					continue
				}
				m := tok.ParseAnswer(w.tokens, -1)
				if len(m.ToolCalls) != 1 || m.Content != "" {
					t.Errorf("%s, %s, %s: %q is read as %+v", name, s.Name, way, text, m)
				} else if err := judge(m.ToolCalls[0].Arguments); err != nil {
					t.Errorf("%s, %s, %s: %s: %v", name, s.Name, way, m.ToolCalls[0].Arguments, err)
				}
			}
		}
	}
}
