package calls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/linear"
)

// answer is what a parser gave, put together.
type answer struct {
	content string
	calls   []Call
	broken  int
}

// reading is a parser and its pieces put together.
type reading struct {
	t       testing.TB
	p       Parser
	content strings.Builder
	pieces  []Call // by index
	broken  map[int]bool
}

func read(t testing.TB, f Format, names []string, control ...string) *reading {
	r := &reading{t: t, broken: map[int]bool{}}
	r.p.Start(f, names, func(token string) bool {
		for _, c := range control {
			if c == token {
				return true
			}
		}
		return false
	})
	r.p.Schemas(textKeys{})
	return r
}

// textKeys are schemas in which the parameters with names that begin with textKey are texts, and the others anything.
type textKeys struct{}

func (textKeys) Takes(_, parameter string, value any) bool {
	_, text := value.(string)
	return text == strings.HasPrefix(parameter, textKey)
}

func (textKeys) TakesText(_, parameter string) bool { return strings.HasPrefix(parameter, textKey) }

// take puts what the parser gives to what it gave before.
func (r *reading) take() {
	content, deltas := r.p.Take()
	r.content.WriteString(content)
	for _, d := range deltas {
		if r.broken[d.Index] {
			r.t.Fatalf("call %d goes on after it was broken", d.Index)
		}
		switch {
		case d.Broken:
			r.broken[d.Index] = true
			continue
		case d.Index == len(r.pieces) && d.Name != "":
			r.pieces = append(r.pieces, Call{Index: d.Index, Name: d.Name})
		case d.Index != len(r.pieces)-1 || d.Name != "":
			r.t.Fatalf("the piece %+v comes after %d calls have begun", d, len(r.pieces))
		}
		r.pieces[d.Index].Arguments += d.Arguments
	}
}

// finish ends the answer. It compares the pieces with what the parser says of complete calls.
func (r *reading) finish() answer {
	r.p.Finish()
	r.take()
	a := answer{content: r.content.String(), broken: len(r.broken)}
	for _, c := range r.pieces {
		if !r.broken[c.Index] {
			a.calls = append(a.calls, c)
		}
	}
	if complete := r.p.Calls(); !(len(complete) == 0 && len(a.calls) == 0) && !reflect.DeepEqual(complete, a.calls) {
		r.t.Fatalf("the pieces are %v, put together, and the complete calls %v", a.calls, complete)
	}
	for _, c := range a.calls {
		if !json.Valid([]byte(c.Arguments)) || c.Arguments[0] != '{' {
			r.t.Fatalf("arguments of %s are no object of JSON: %s", c.Name, c.Arguments)
		}
	}
	return a
}

// parse reads a text in pieces that end where ends says. If there are control tokens, they stand between « and » in the text; «to=functions.f»
// begins a message to f.
func parse(t testing.TB, f Format, names []string, text string, ends func(i int) bool, control ...string) answer {
	t.Helper()
	r := read(t, f, names, control...)
	for text != "" {
		plain, token, rest := text, "", ""
		if len(control) > 0 {
			plain, rest, _ = strings.Cut(text, "«")
			token, rest, _ = strings.Cut(rest, "»")
		}
		from := 0
		for i := range len(plain) + 1 {
			if i == len(plain) || ends(i) {
				r.p.Write(plain[from:i])
				from = i
				r.take()
			}
		}
		to, addressed := strings.CutPrefix(token, "to=")
		switch {
		case addressed:
			r.p.Address(to)
		case token != "":
			r.p.Control(token)
		}
		r.take()
		text = rest
	}
	return r.finish()
}

func whole(int) bool { return false }

func TestParser(t *testing.T) {
	offered := []string{"f", "g", "get_weather"}
	marks := []string{"<|python_tag|>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "<tool_call>", "</tool_call>", "<|eom_id|>", keyOpen, keyClose, valueOpen, valueClose}
	gemmaMarks, to := []string{gemmaOpen, gemmaClose, quoteMark}, []string{"<|message|>"}
	call := func(i int, name, arguments string) Call { return Call{i, name, arguments} }
	f1 := []Call{call(0, "f", `{"a": 1}`)}
	fg := []Call{call(0, "f", `{"a": 1}`), call(1, "g", `{}`)}
	for _, c := range []struct {
		name    string
		format  Format
		control []string // nil: marks are text
		text    string
		content string
		calls   []Call
		broken  int
	}{
		{"no format", None, nil, " \x00 {\"name\": \"f\", \"parameters\": {}}\n", " \x00 {\"name\": \"f\", \"parameters\": {}}\n", nil, 0},
		{"text", LlamaJSON, nil, " Hello {you}!\n", " Hello {you}!\n", nil, 0},
		{"white space", LlamaJSON, nil, " \n ", " \n ", nil, 0},
		{"one call", LlamaJSON, nil, `{"name": "f", "parameters": {"a": 1}}`, "", f1, 0},
		{"white space around", LlamaJSON, nil, " \n{ \"name\" : \"f\" ,\n\"parameters\":{\"a\": 1} }\n ", "", f1, 0},
		{"arguments", LlamaJSON, nil, `{"name": "f", "arguments": {"a": 1}}`, "", f1, 0},
		{"arguments first", LlamaJSON, nil, `{"parameters": {"a": 1}, "name": "f"}`, "", f1, 0},
		{"type and id", LlamaJSON, nil, `{"type": "function", "id": "\u0031", "name": "f", "parameters": {"a": 1}}`, "", f1, 0},
		{"a name with an escape", LlamaJSON, nil, `{"name": "get\u005fweather", "parameters": {}}`, "", []Call{call(0, "get_weather", "{}")}, 0},
		{"Gemma", Gemma, nil, `Well: <|tool_call>call:f{a:1}<tool_call|><|tool_call>call:g{}<tool_call|>`, "Well:", fg, 0},
		{"Gemma's strings", Gemma, nil, "<|tool_call>call:f{s:<|\"|>a \"<|b<|<|\"|>,l:[1, -2.5e3,<|\"|><|\"|>],o:{<|\"|>k y<|\"|>:null,z:{}}}<tool_call|>", "",
			[]Call{call(0, "f", `{"s": "a \"<|b<|", "l": [1, -2.5e3, ""], "o": {"k y": null, "z": {}}}`)}, 0},
		{"Gemma's tokens", Gemma, gemmaMarks, "«<|tool_call>»call:f{s:«<|\"|>»<|\"|>\n«<|\"|>»,b:true}«<tool_call|>»", "",
			[]Call{call(0, "f", `{"s": "<|\"|>\n", "b": true}`)}, 0},
		{"Gemma calls what is not on offer", Gemma, nil, `<|tool_call>call:h{a:1}<tool_call|>`, `<|tool_call>call:h{a:1}<tool_call|>`, nil, 0},
		{"Gemma is wrong", Gemma, nil, `<|tool_call>call:f{a:x y}<tool_call|>`, `<|tool_call>call:f{a:x y}<tool_call|>`, nil, 1},
		{"Gemma is cut off", Gemma, nil, `<|tool_call>call:f{a:1`, `<|tool_call>call:f{a:1`, nil, 1},
		{"None of Python's", Gemma, nil, `<|tool_call>call:f{a:None,b:True}<tool_call|>`, "", []Call{call(0, "f", `{"a": null, "b": true}`)}, 0},
		{"a message to a function", Harmony, to, `«to=functions.f»{"a": 1}`, "", f1, 0},
		{"messages to functions", Harmony, to, "«to=»Look.«to=functions.f» {\"a\": 1}\n«to=functions.g»{}«to=»Well.", "Look.Well.", fg, 0},
		{"a name alone", Harmony, to, `«to=f»{"a": 1}`, "", f1, 0},
		{"a message to what is not on offer", Harmony, to, "«to=browser.search»{\"a\": 1}«to=»Well.", `to=browser.search {"a": 1}Well.`, nil, 0},
		{"a message that is no object", Harmony, to, `«to=functions.f»[1]`, `to=functions.f [1]`, nil, 0},
		{"a message that is cut off", Harmony, to, `«to=functions.f»{"a": «to=»x`, `to=functions.f {"a": x`, nil, 1},
		{"an empty message", Harmony, to, `«to=functions.f»`, `to=functions.f `, nil, 0},
		{"more than an object", Harmony, to, `«to=functions.f»{"a": 1} and`, "and", f1, 0},
		{"text that looks like messages", Harmony, nil, `<|channel|>commentary to=functions.f<|message|>{"a": 1}<|call|>`, `<|channel|>commentary to=functions.f<|message|>{"a": 1}<|call|>`, nil, 0},
		{"semicolon", LlamaJSON, nil, `{"name": "f", "parameters": {"a": 1}}; {"name": "g", "parameters": {}}`, "", fg, 0},
		{"line feed", LlamaJSON, nil, "{\"name\": \"f\", \"parameters\": {\"a\": 1}}\n{\"name\": \"g\", \"parameters\": {}}", "", fg, 0},
		{"nothing between", LlamaJSON, nil, `{"name": "f", "parameters": {"a": 1}}{"name": "g", "parameters": {}};`, "", fg, 0},
		{"text before", LlamaJSON, nil, "I look.\n\n{\"name\": \"f\", \"parameters\": {\"a\": 1}}", "I look.", f1, 0},
		{"text in the same line", LlamaJSON, nil, `So: {"name": "f", "parameters": {"a": 1}}`, `So: {"name": "f", "parameters": {"a": 1}}`, nil, 0},
		{"text after", LlamaJSON, nil, "{\"name\": \"f\", \"parameters\": {\"a\": 1}}\nDone.\n", "Done.\n", f1, 0},
		{"text around", LlamaJSON, nil, "First. {\n{\"name\": \"f\", \"parameters\": {\"a\": 1}}\nDone.", "First. {\nDone.", f1, 0},
		{"text after a separator", LlamaJSON, nil, `{"name": "f", "parameters": {"a": 1}}; and`, "; and", f1, 0},
		{"python tag", LlamaJSON, marks, `Look: «<|python_tag|>»{"name": "f", "parameters": {"a": 1}}«<|eom_id|>»`, "Look:", f1, 0},
		{"python tag as text", LlamaJSON, nil, `Look: <|python_tag|>{"name": "f", "parameters": {"a": 1}}`, "Look:", f1, 0},
		{"python tag as text where it is a token", LlamaJSON, marks, "<|python_tag|>{\"name\": \"f\", \"parameters\": {}}", "<|python_tag|>{\"name\": \"f\", \"parameters\": {}}", nil, 0},
		{"python tag and code", LlamaJSON, marks, "«<|python_tag|>»print(1)", "<|python_tag|>print(1)", nil, 0},
		{"python tag in a call", LlamaJSON, marks, `{"name": "f", «<|python_tag|>»{"name": "g", "parameters": {}}`, `{"name": "f",`, []Call{call(0, "g", "{}")}, 0},
		{"another function", LlamaJSON, nil, `{"name": "h", "parameters": {}}`, `{"name": "h", "parameters": {}}`, nil, 0},
		{"no arguments", LlamaJSON, nil, `{"name": "f"}`, `{"name": "f"}`, nil, 0},
		{"arguments are a list", LlamaJSON, nil, `{"name": "f", "parameters": [1]}`, `{"name": "f", "parameters": [1]}`, nil, 0},
		{"arguments are a string", LlamaJSON, nil, `{"name": "f", "parameters": "{}"}`, `{"name": "f", "parameters": "{}"}`, nil, 0},
		{"name is an object", LlamaJSON, nil, `{"name": {}, "parameters": {}}`, `{"name": {}, "parameters": {}}`, nil, 0},
		{"another key", LlamaJSON, nil, `{"name": "f", "x": 1, "parameters": {}}`, `{"name": "f", "x": 1, "parameters": {}}`, nil, 0},
		{"a key twice", LlamaJSON, nil, `{"name": "f", "name": "g", "parameters": {}}`, `{"name": "f", "name": "g", "parameters": {}}`, nil, 0},
		{"arguments twice", LlamaJSON, nil, `{"name": "f", "arguments": {}, "parameters": {}}`, `{"name": "f", "arguments": {}, "parameters": {}}`, nil, 1},
		{"another type", LlamaJSON, nil, `{"type": "x", "name": "f", "parameters": {}}`, `{"type": "x", "name": "f", "parameters": {}}`, nil, 0},
		{"a mistake in arguments", LlamaJSON, nil, ` {"name": "f", "parameters": {"a": 01}} `, ` {"name": "f", "parameters": {"a": 01}} `, nil, 1},
		{"cut off in arguments", LlamaJSON, nil, "Look.\n{\"name\": \"f\", \"parameters\": {\"a\": \"x", "Look.\n{\"name\": \"f\", \"parameters\": {\"a\": \"x", nil, 1},
		{"cut off before the end", LlamaJSON, nil, `{"name": "f", "parameters": {"a": 1}`, `{"name": "f", "parameters": {"a": 1}`, nil, 1},
		{"the second is cut off", LlamaJSON, nil, `{"name": "f", "parameters": {"a": 1}}; {"name": "g", "par`, `; {"name": "g", "par`, f1, 0},
		{"a mistake, then a call", LlamaJSON, nil, "{\"name\": \"f\", \"parameters\": {]\n{\"name\": \"g\", \"parameters\": {}}", `{"name": "f", "parameters": {]`, []Call{call(1, "g", "{}")}, 1},
		{"an object begins in an object", LlamaJSON, nil, "{\n{\"name\": \"f\", \"parameters\": {\"a\": 1}}", "{", f1, 0},
		{"all of JSON", LlamaJSON, nil, `{"name": "f", "parameters": {"a": [true, false, null, -0.5e-10, 0, 10, "\"\\\/\b\f\n\r\t\u00e9ü", {}, []], "b": {"c": {"d": ""}}}}`, "",
			[]Call{call(0, "f", `{"a": [true, false, null, -0.5e-10, 0, 10, "\"\\\/\b\f\n\r\t\u00e9ü", {}, []], "b": {"c": {"d": ""}}}`)}, 0},

		{"one call", LlamaPythonic, nil, `[f(a=1)]`, "", f1, 0},
		{"two calls", LlamaPythonic, nil, " [ f(a=1) , g( ) ]\n", "", fg, 0},
		{"a comma too many", LlamaPythonic, nil, `[f(a=1,), g(),]`, "", fg, 0},
		{"text before", LlamaPythonic, nil, "I look [1].\n[f(a=1)]", "I look [1].", f1, 0},
		{"a list", LlamaPythonic, nil, "[1, 2]\n[see f]", "[1, 2]\n[see f]", nil, 0},
		{"another function", LlamaPythonic, nil, "[h(a=1)]", "[h(a=1)]", nil, 0},
		{"a position", LlamaPythonic, nil, "[f(1)]", "[f(1)]", nil, 1},
		{"no end", LlamaPythonic, nil, "[f(a=1)", "[f(a=1)", nil, 1},
		{"text instead of an end", LlamaPythonic, nil, "[f(a=1) or so]", "[f(a=1) or so]", nil, 1},
		{"a second that is wrong", LlamaPythonic, nil, "[f(a=1), 2]", ", 2]", f1, 0},
		{"two lists", LlamaPythonic, nil, "[f(a=1)]\n[g()]", "", fg, 0},
		{"start and end", LlamaPythonic, nil, "<|python_start|>[f(a=1)]<|python_end|>", "", f1, 0},
		{"values", LlamaPythonic, nil, `[f(b="x", c=[1, True, None], d={'k': 1.5, "l": (), 'm': (1,), "n": (1, 'ü')}, e = [ [ ] , { } , ])]`, "",
			[]Call{call(0, "f", `{"b": "x", "c": [1, true, null], "d": {"k": 1.5, "l": [], "m": [1], "n": [1, "ü"]}, "e": [[], {}]}`)}, 0},
		{"numbers", LlamaPythonic, nil, `[f(a=[-1, +2, 1_000, 0x1F, -0b11, 0o17, 1., .5, -.5e-3, 1E5, 00, 007.5, 1_0.0_1, 123456789012345678901234567890])]`, "",
			[]Call{call(0, "f", `{"a": [-1, 2, 1000, 31, -3, 15, 1.0, 0.5, -0.5e-3, 1e5, 0, 7.5, 10.01, 123456789012345678901234567890]}`)}, 0},
		{"strings", LlamaPythonic, nil, `[f(a=['it\'s "x"', "\n\t\\\"\'\a\v\0\101\x41\u00e9\U0001F600\d\ud83d\ude00", '', "\
", "	"])]`, "",
			[]Call{call(0, "f", `{"a": ["it's \"x\"", "\n\t\\\"'\u0007\u000b\u0000AAé😀\\d\ud83d\ude00", "", "", "\u0009"]}`)}, 0},
		{"an octal escape before text", LlamaPythonic, nil, `[f(a="\18\1234")]`, "", []Call{call(0, "f", `{"a": "\u00018S4"}`)}, 0},
		{"brackets around a value", LlamaPythonic, nil, `[f(a=(1))]`, `[f(a=(1))]`, nil, 1},
		{"a word", LlamaPythonic, nil, `[f(a=x)]`, `[f(a=x)]`, nil, 1},
		{"a number with a zero", LlamaPythonic, nil, `[f(a=012)]`, `[f(a=012)]`, nil, 1},
		{"three quotes", LlamaPythonic, nil, `[f(a="""x""")]`, `[f(a="""x""")]`, nil, 1},
		{"a number as key", LlamaPythonic, nil, `[f(a={1: 2})]`, `[f(a={1: 2})]`, nil, 1},
		{"a character by its name", LlamaPythonic, nil, `[f(a="\N{DASH}")]`, `[f(a="\N{DASH}")]`, nil, 1},
		{"a line feed in a string", LlamaPythonic, nil, "[f(a='\n')]", "[f(a='\n')]", nil, 1},
		{"a character beyond the last", LlamaPythonic, nil, `[f(a="\U00110000")]`, `[f(a="\U00110000")]`, nil, 1},
		{"a comma first", LlamaPythonic, nil, `[f(a=[,])]`, `[f(a=[,])]`, nil, 1},

		{"one call", Hermes, nil, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>", "", f1, 0},
		{"marks as tokens", Hermes, marks, "«<tool_call>»\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n«</tool_call>»", "", f1, 0},
		{"two calls", Hermes, nil, "Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n<tool_call>{\"arguments\": {}, \"name\": \"g\"}</tool_call>\n", "Let me see.", fg, 0},
		{"in a line", Hermes, nil, "See: <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call> ok", "See: ok", f1, 0},
		{"a mark begun", Hermes, nil, "a <tool <<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}", "a <tool <", f1, 0},
		{"not closed", Hermes, nil, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool", "", f1, 0},
		{"opened again", Hermes, nil, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}<tool_call>{\"name\": \"g\", \"arguments\": {}}", "", fg, 0},
		{"opened in vain", Hermes, nil, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call><tool_c", "<tool_c", f1, 0},
		{"no call", Hermes, nil, "<tool_call>f</tool_call>", "<tool_call>f</tool_call>", nil, 0},
		{"no call between tokens", Hermes, marks, "x «<tool_call>»f«</tool_call>»", "x <tool_call>f</tool_call>", nil, 0},
		{"closed in a call", Hermes, marks, "«<tool_call>»{\"name\": \"f\", \"arguments\": {«</tool_call>»y", "<tool_call>{\"name\": \"f\", \"arguments\": {</tool_call>y", nil, 1},
		{"without marks", Hermes, nil, `{"name": "f", "arguments": {"a": 1}}`, `{"name": "f", "arguments": {"a": 1}}`, nil, 0},
		{"a wrong call, then a right one", Hermes, nil, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": '<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": '", []Call{call(1, "g", "{}")}, 1},

		{"one call", Mistral, marks, `«[TOOL_CALLS]» [{"name": "f", "arguments": {"a": 1}, "id": "123456789"}]`, "", f1, 0},
		{"mark as text", Mistral, nil, `Look. [TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]`, "Look.", fg, 0},
		{"no end", Mistral, marks, `«[TOOL_CALLS]»[{"name": "f", "arguments": {"a": 1}}`, "", f1, 0},
		{"text after", Mistral, marks, `«[TOOL_CALLS]»[{"name": "f", "arguments": {"a": 1}}], ok`, ", ok", f1, 0},
		{"mark as text where it is a token", Mistral, marks, `[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}]`, `[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}]`, nil, 0},
		{"an empty list", Mistral, marks, `«[TOOL_CALLS]»[]`, `[TOOL_CALLS][]`, nil, 0},
		{"no list", Mistral, marks, `«[TOOL_CALLS]»{"name": "f", "arguments": {"a": 1}}`, `[TOOL_CALLS]{"name": "f", "arguments": {"a": 1}}`, nil, 0},
		{"name and arguments", Mistral, marks, `«[TOOL_CALLS]»f«[ARGS]»{"a": 1}«[TOOL_CALLS]»g«[CALL_ID]»x1«[ARGS]» {}`, "", fg, 0},

		{"two calls", MistralArgs, marks, `Look.«[TOOL_CALLS]»f«[ARGS]»{"a": 1}«[TOOL_CALLS]»g«[ARGS]»{}`, "Look.", fg, 0},
		{"marks as text", MistralArgs, nil, `[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[CALL_ID]x1[ARGS]{}`, "", fg, 0},
		{"another function", MistralArgs, marks, `«[TOOL_CALLS]»h«[ARGS]»{"a": 1}`, `[TOOL_CALLS]h[ARGS]{"a": 1}`, nil, 0},
		{"no arguments", MistralArgs, marks, `«[TOOL_CALLS]»f{"a": 1}`, `[TOOL_CALLS]f{"a": 1}`, nil, 0},
		{"a mark within a mark", MistralArgs, []string{"[TOOL_CALLS]", "[ARGS]"}, `«[TOOL_CALLS]»f[CALL«[ARGS]»{"a": 1}`, `[TOOL_CALLS]f[CALL[ARGS]{"a": 1}`, nil, 0},
		{"a mark after a space", MistralArgs, nil, `[TOOL_CALLS]f [ARGS]{"a": 1}`, `[TOOL_CALLS]f [ARGS]{"a": 1}`, nil, 0},
		{"two objects", MistralArgs, marks, `«[TOOL_CALLS]»f«[ARGS]»{"a": 1}{}`, `{}`, f1, 0},

		{"two calls", Granite, []string{"<|tool_call|>"}, `«<|tool_call|>»[{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]`, "", fg, 0},
		{"mark as text", Granite, nil, `Look. <|tool_call|> [{"arguments": {"a": 1}, "name": "f"}]`, "Look.", f1, 0},
		{"no list", Granite, nil, `<|tool_call|>{"name": "f", "arguments": {"a": 1}}`, `<|tool_call|>{"name": "f", "arguments": {"a": 1}}`, nil, 0},

		{"two calls", Phi, []string{"<|tool_call|>", "<|/tool_call|>"},
			`Look.«<|tool_call|>»{"name": "f", "arguments": {"a": 1}}«<|/tool_call|>»«<|tool_call|>»{"name": "g", "arguments": {}}«<|/tool_call|>»`, "Look.", fg, 0},
		{"marks as text", Phi, nil, `<|tool_call|>{"name": "f", "arguments": {"a": 1}}<|/tool_call|>`, "", f1, 0},
		{"a list", Phi, nil, `<|tool_call|>[{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]<|/tool_call|>`, "", fg, 0},
		{"a list that does not close", Phi, nil, `<|tool_call|>[{"name": "f", "arguments": {"a": 1}}, <|/tool_call|>`, "", f1, 0},

		{"a call with tags", Tagged, nil, "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>", "", f1, 0},
		{"tags as control tokens", Tagged, marks, "So.\n«<tool_call>»\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n«</tool_call>»\n«<tool_call>»\n<function=g>\n</function>\n«</tool_call>»", "So.", fg, 0},
		{"values between tags", Tagged, nil, "<tool_call><function=f><parameter=a>\n\n \"x\" <b>\n</parameter><parameter=b>True</parameter><parameter=c>[1, {}]</parameter><parameter=d>\n</parameter></function></tool_call>", "",
			[]Call{call(0, "f", `{"a": "\n \"x\" <b>", "b": true, "c": [1, {}], "d": ""}`)}, 0},
		{"a function with tags that is not on offer", Tagged, nil, "<tool_call>\n<function=h>\n</function>\n</tool_call>", "<tool_call>\n<function=h>\n</function>\n</tool_call>", nil, 0},
		{"a parameter that comes twice", Tagged, nil, "<tool_call><function=f><parameter=a>1</parameter><parameter=a>2</parameter></function></tool_call>", "<tool_call><function=f><parameter=a>1</parameter><parameter=a>2</parameter></function></tool_call>", nil, 1},
		{"keys and values", GLM, nil, "So.\n<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>\n<tool_call>g</tool_call>", "So.", fg, 0},
		{"keys and values without line breaks, as tokens", GLM, marks, "«<tool_call>»f«<arg_key>»a«</arg_key>»«<arg_value>»1«</arg_value>»«</tool_call>»«<tool_call>»g\n«</tool_call>»", "", fg, 0},
		{"a key that comes twice", GLM, nil, "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>a</arg_key><arg_value>1</arg_value></tool_call>", "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>a</arg_key><arg_value>1</arg_value></tool_call>", nil, 1},
		{"keys and values, cut", GLM, marks, "«<tool_call>»f«<arg_key>»a«</arg_key>»«<arg_value>»1", "<tool_call>f<arg_key>a</arg_key><arg_value>1", nil, 1},
		{"a value without a key", GLM, nil, "<tool_call>f<arg_value>1</arg_value></tool_call>", "<tool_call>f<arg_value>1</arg_value></tool_call>", nil, 1},
		{"keys of a function that is not on offer", GLM, nil, "<tool_call>h</tool_call>", "<tool_call>h</tool_call>", nil, 0},
		{"a parameter without an end", Tagged, nil, "<tool_call>\n<function=f>\n<parameter=a>\n1\n</tool_call>", "<tool_call>\n<function=f>\n<parameter=a>\n1\n</tool_call>", nil, 1},
		{"LFM2's call", LFM, nil, `<|tool_call_start|>[f(a=1), g()]<|tool_call_end|>Wait.`, "Wait.", fg, 0},
		{"a call", Olmo, nil, `<function_calls>f(a=1)</function_calls>`, "", f1, 0},
		{"LFM2's string with a line break", LFM, nil, "<|tool_call_start|>[f(a='\n')]<|tool_call_end|>", "", []Call{{0, "f", `{"a": "\n"}`}}, 0},
		{"two calls", Olmo, nil, "Look.<function_calls>f(a=1)\ng()</function_calls>", "Look.", fg, 0},
		{"marks as control tokens", Olmo, []string{"<function_calls>", "</function_calls>"}, "Look.«<function_calls>»f(a=1)\ng()«</function_calls>»", "Look.", fg, 0},
		{"JSON's words", Olmo, nil, `<function_calls>f(a=null, b=true, c={"x": [1.5, "y"]})</function_calls>`, "", []Call{call(0, "f", `{"a": null, "b": true, "c": {"x": [1.5, "y"]}}`)}, 0},
		{"no closing mark", Olmo, nil, "<function_calls>f(a=1)\n g()\n", "", fg, 0},
		{"text after the calls", Olmo, nil, "<function_calls>f(a=1)</function_calls> good", "good", f1, 0},
		{"another function than those on offer", Olmo, nil, "<function_calls>f(a=1)\nh()</function_calls>", "h()</function_calls>", f1, 0},
		{"no mark", Olmo, nil, "f(a=1)", "f(a=1)", nil, 0},
		{"a call that is broken off", Olmo, nil, `<function_calls>f(a="x`, `<function_calls>f(a="x`, nil, 1},
	} {
		want := answer{c.content, c.calls, c.broken}
		name := fmt.Sprintf("%v, %s", c.format, c.name)
		if got := parse(t, c.format, offered, c.text, whole, c.control...); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q\n gives %+v\n want  %+v", name, c.text, got, want)
			continue
		}
		for cut := range len(c.text) {
			if got := parse(t, c.format, offered, c.text, func(i int) bool { return i == cut }, c.control...); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, cut at %d: %+v, want %+v", name, cut, got, want)
			}
		}
		if got := parse(t, c.format, offered, c.text, func(int) bool { return true }, c.control...); !reflect.DeepEqual(got, want) {
			t.Errorf("%s, byte by byte: %+v, want %+v", name, got, want)
		}
	}
}

func TestAnyName(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "any.name-1_x", "parameters": {}}`:                           "any.name-1_x",
		`{"name": "two words", "parameters": {}}`:                              "",
		`{"name": "", "parameters": {}}`:                                       "",
		`{"name": "` + strings.Repeat("x", 65) + `", "parameters": {}}`:        "",
		`{"name": "` + strings.Repeat("x", 64) + `", "parameters": {}}`:        strings.Repeat("x", 64),
		`{"name": "\u0020", "parameters": {}}`:                                 "",
		`{"name": "\u0061", "parameters": {"deep": ` + deep(maxDepth) + `}}`:   "",
		`{"name": "\u0061", "parameters": {"deep": ` + deep(maxDepth-1) + `}}`: "a",
	} {
		got := parse(t, LlamaJSON, nil, text, whole)
		if want == "" && (len(got.calls) != 0 || got.content != text) || want != "" && (len(got.calls) != 1 || got.calls[0].Name != want) {
			t.Errorf("%.60s: %q, want a call of %q", text, fmt.Sprint(got), want)
		}
	}
	if got := parse(t, LlamaJSON, []string{}, `{"name": "f", "parameters": {}}`, whole); len(got.calls) > 0 {
		t.Errorf("no function is on offer, and %v is called", got.calls)
	}
	if got := parse(t, LlamaJSON, []string{"two words"}, `{"name": "two words", "parameters": {}}`, whole); len(got.calls) != 1 {
		t.Errorf("a function with a space in its name, which is on offer, is not called: %v", got)
	}
}

// deep returns n lists within each other.
func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// TestHeldBack follows the output byte by byte: ambiguous text is held back, and nothing else.
func TestHeldBack(t *testing.T) {
	for _, c := range []struct {
		format Format
		text   string
		given  string // the output, with | after each byte of the text
	}{
		{LlamaJSON, `{"x`, `||{"x|`},
		{LlamaJSON, `{"nam": `, `|||||{"nam"|:||`},
		{LlamaJSON, "a b{\n c", "a|| b|{|||\n c|"},
		{LlamaJSON, `{"name":"h`, `|||||||||{"name":"h|`},
		{LlamaJSON, `{"name":"f","arguments":{"a":"b"}}`, strings.Repeat("|", 24) + `f({|"|a|"|:|"|b|"|}||`},
		{LlamaPythonic, `[f(a='b',c=12)]`, `||f({||"a": |"|b|"||, |"c": |||12}||`},
		{Hermes, `<<b> <tool_call> {"`, `|<|<b|>|` + strings.Repeat("|", 15)},
	} {
		r := read(t, c.format, []string{"f"})
		var given strings.Builder
		for i := range len(c.text) {
			r.p.Write(c.text[i : i+1])
			content, deltas := r.p.Take()
			given.WriteString(content)
			for _, d := range deltas {
				if d.Name != "" {
					given.WriteString(d.Name + "(")
				}
				given.WriteString(d.Arguments)
			}
			given.WriteByte('|')
		}
		if given.String() != c.given {
			t.Errorf("%v, %q:\n given %q\n want  %q", c.format, c.text, given.String(), c.given)
		}
	}
}

// write writes calls as a family does.
func write(f Format, calls []Call) (string, []string) {
	family := f.Family()
	var b strings.Builder
	var control []string
	parts := func(list []Part) {
		for _, part := range list {
			if part.Mark {
				control = append(control, part.Text)
				b.WriteString("«" + part.Text + "»")
			} else {
				b.WriteString(part.Text)
			}
		}
	}
	parts(family.Begin)
	for i, c := range calls {
		if family.Channels != nil {
			parts(mark("to=" + namespace + c.Name))
			b.WriteString(c.Arguments)
			continue
		}
		if i > 0 {
			parts(family.Between)
		}
		parts(family.BeforeName)
		b.WriteString(c.Name)
		parts(family.BeforeArguments)
		switch {
		case family.Python:
			b.WriteString(keywords(c.Arguments))
		case family.Tags != nil:
			inTags(c.Arguments, family.Tags, parts)
		case family.Bare:
			b.WriteString(bare(c.Arguments))
			control = append(control, quoteMark)
		default:
			b.WriteString(c.Arguments)
		}
		parts(family.AfterArguments)
	}
	parts(family.End)
	return b.String(), control
}

// bare writes an object of JSON with bare keys and marks around strings; nested keys are strings.
func bare(object string) string {
	d := json.NewDecoder(strings.NewReader(object))
	d.UseNumber()
	depth := 0
	var value func() string
	value = func() string {
		token, err := d.Token()
		if err != nil {
			panic(err)
		}
		switch v := token.(type) {
		case nil:
			return "null"
		case string:
			return "«" + quoteMark + "»" + v + "«" + quoteMark + "»"
		case json.Delim:
			depth++
			var items []string
			for d.More() {
				item := value()
				if v == '{' {
					if depth == 1 {
						item = strings.NewReplacer("«"+quoteMark+"»", "").Replace(item)
					}
					item += ":" + value()
				}
				items = append(items, item)
			}
			depth--
			end, _ := d.Token()
			return v.String() + strings.Join(items, ",") + end.(json.Delim).String()
		default:
			return fmt.Sprint(v)
		}
	}
	return value()
}

// keywords writes an object of JSON as Python's keyword arguments.
func keywords(object string) string {
	d := json.NewDecoder(strings.NewReader(object))
	d.UseNumber()
	next := func() json.Token {
		token, err := d.Token()
		if err != nil {
			panic(err)
		}
		return token
	}
	var value func() string
	value = func() string {
		switch v := next().(type) {
		case nil:
			return "None"
		case bool:
			return map[bool]string{true: "True", false: "False"}[v]
		case string:
			return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`).Replace(v) + "'"
		case json.Number:
			return v.String()
		case json.Delim:
			var items []string
			for d.More() {
				item := value()
				if v == '{' {
					item += ": " + value()
				}
				items = append(items, item)
			}
			return v.String() + strings.Join(items, ", ") + next().(json.Delim).String()
		}
		panic("not a token")
	}
	next()
	var items []string
	for d.More() {
		items = append(items, next().(string)+"="+value())
	}
	return strings.Join(items, ", ")
}

// textKey begins the names of parameters that are texts.
const textKey = "_text"

// inTags writes arguments between tags.
func inTags(arguments string, tags *Tags, parts func([]Part)) {
	var object map[string]any
	if err := json.Unmarshal([]byte(arguments), &object); err != nil {
		panic(err)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value, _ := json.Marshal(object[key])
		if text, ok := object[key].(string); ok {
			value = []byte(text)
		}
		for _, list := range [][]Part{tags.BeforeName, text(key), tags.AfterName, text(string(value)), tags.AfterValue} {
			parts(list)
		}
	}
}

// randomCalls draws calls.
func randomCalls(r *rand.Rand) (calls []Call) {
	var value func(depth int) any
	value = func(depth int) any {
		switch n := r.IntN(9); {
		case n < 2:
			return r.IntN(2000) - 1000
		case n == 2:
			return r.Float64() * 1e9
		case n == 3:
			return r.IntN(2) == 0
		case n == 4:
			return nil
		case n == 5 && depth < 3:
			list := []any{}
			for range r.IntN(4) {
				list = append(list, value(depth+1))
			}
			return list
		case n == 6 && depth < 3:
			object := map[string]any{}
			for range r.IntN(4) {
				object[fmt.Sprint(value(3))] = value(depth + 1)
			}
			return object
		}
		letters := []rune("ab c\"'\\\n\t\r{}[]();,=<>/é😀\u2028\x01")
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteRune(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	for i := range 1 + r.IntN(3) {
		object := map[string]any{}
		for j := range r.IntN(4) {
			if v := value(0); reflect.ValueOf(v).Kind() == reflect.String {
				object[fmt.Sprintf("%s%d", textKey, j)] = v
			} else {
				object[fmt.Sprintf("_key%d", j)] = v
			}
		}
		data, err := json.Marshal(object)
		if err != nil {
			panic(err)
		}
		calls = append(calls, Call{i, []string{"f", "get_weather", "a.b-c"}[r.IntN(3)], string(data)})
	}
	return calls
}

// TestWrittenCallsAreRead writes calls in every format, with marks as tokens and as text, and reads the same calls.
func TestWrittenCallsAreRead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for f := LlamaJSON; int(f) < len(families); f++ {
		for range 300 {
			want := randomCalls(r)
			text, control := write(f, want)
			if f.Family().Channels == nil && r.IntN(2) == 0 {
				text, control = strings.NewReplacer("«", "", "»", "").Replace(text), nil
			}
			got := parse(t, f, nil, text, func(int) bool { return r.IntN(3) == 0 }, control...)
			if got.content != "" || len(got.calls) != len(want) || got.broken != 0 {
				t.Fatalf("%v: %q gives %v, want %v", f, text, got, want)
			}
			for i, c := range got.calls {
				var g, w any
				if json.Unmarshal([]byte(c.Arguments), &g) != nil || json.Unmarshal([]byte(want[i].Arguments), &w) != nil || c.Name != want[i].Name || !reflect.DeepEqual(g, w) {
					t.Fatalf("%v: %q gives %v, want %v", f, text, c, want[i])
				}
			}
			if pattern := regexp.MustCompile(f.Family().Opening); control == nil && !pattern.MatchString(text) {
				t.Fatalf("%v: %s does not match in %q", f, pattern, text)
			}
		}
	}
}

// FuzzParser reads texts whole and in pieces: the same comes out, nothing is lost if no call is found, and a text without an opening has no
// calls.
func FuzzParser(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for format := LlamaJSON; int(format) < len(families); format++ {
		for range 10 {
			text, _ := write(format, randomCalls(r))
			f.Add(uint8(format), text, uint64(7), true, true)
			text = "Text.\n" + strings.NewReplacer("«", "", "»", "").Replace(text) + "\nMore."
			f.Add(uint8(format), text, uint64(7), true, false)
			f.Add(uint8(format), text[:len(text)*2/3], uint64(7), false, false)
		}
	}
	openings := make([]*regexp.Regexp, len(families))
	for i := range families {
		openings[i] = regexp.MustCompile(families[i].Opening)
	}
	marks := []string{"<|python_tag|>", "<|python_start|>", "<|python_end|>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "<tool_call>", "</tool_call>", gemmaOpen, gemmaClose, quoteMark, keyOpen, keyClose, valueOpen, valueClose}
	f.Fuzz(func(t *testing.T, format uint8, text string, seed uint64, any, tokens bool) {
		form := Format(int(format) % len(families))
		names, control := []string{"f", "get_weather"}, marks
		if any {
			names = nil
		}
		if !tokens {
			text, control = strings.NewReplacer("«", "", "»", "").Replace(text), nil
		}
		want := parse(t, form, names, text, whole, control...)
		r := rand.New(rand.NewPCG(seed, 0))
		for _, ends := range []func(int) bool{
			func(int) bool { return true },
			func(int) bool { return r.IntN(4) == 0 },
		} {
			if got := parse(t, form, names, text, ends, control...); !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: %q in one piece gives\n%+v, in several\n%+v", form, text, want, got)
			}
		}
		if tokens {
			return
		}
		if len(want.calls) == 0 && want.content != text {
			t.Fatalf("%v: there is no call in %q, and the content is %q", form, text, want.content)
		}
		if len(want.calls) > 0 && (form == None || !openings[form].MatchString(text)) {
			t.Fatalf("%v: %q has calls though nothing opens them: %v", form, text, want.calls)
		}
	})
}

// TestLinear reads texts that fail late, over and over.
func TestLinear(t *testing.T) {
	for _, c := range []struct {
		format Format
		unit   string
	}{
		{Hermes, `<tool_call>{"arguments": {"a": [`},
		{Hermes, "<tool_call"},
		{LlamaJSON, "\n{\"parameters\": {\"a\": \"\n"},
		{LlamaJSON, " \n\t"},
		{LlamaPythonic, "\n[f(a=["},
		{LlamaPythonic, "[f(a="},
		{MistralArgs, "[TOOL_CALLS]f[ARGS]{"},
		{Phi, `<|tool_call|>[{"arguments": {"a": [`},
		{Olmo, "<function_calls>f(a=["},
		{Olmo, "<function_calls>f()\n"},
		{Gemma, "<|tool_call>call:f{a:[{b:<|\"|"},
		{Gemma, `<|tool_call>call:f{a:<|"|><|"|<|"`},
		{Harmony, `«to=f»{"a": [`},
		{Harmony, `«to=f»{"a": 1}`},
	} {
		const n = 1 << 17
		text := strings.Repeat(c.unit, n/len(c.unit)+1)
		var control []string
		if c.format == Harmony {
			control = []string{"<|message|>"}
		}
		linear.Check(t, n, func(n int) { parse(t, c.format, nil, text[:n], whole, control...) })
	}
}

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name, template string
		tokens         string
		want           Format
	}{
		{"nothing", "", "", None},
		{"a chat without functions", "{{ messages }}", "<|eot_id|>", None},
		{"Llama 3.1", `{{- '{"name": "' + tool_call.name + '", ' }}{{- '"parameters": ' }}{{ "<|python_tag|>" + tool_call.name + ".call(" }}`, "<|python_tag|>", LlamaJSON},
		{"Llama 3 without a template for functions", "{{ messages }}", "<|python_tag|>", LlamaJSON},
		{"Llama 3.2 with a template for Python", `MUST put it in the format of [func_name1(params_name1=params_value1), func_name2(params)]`, "<|python_tag|>", LlamaPythonic},
		{"Qwen", `{{- "<tool_call></tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}" }}`, "<tool_call>", Hermes},
		{"Qwen Coder, which writes calls in a markup language", `<tool_call>\n<function=example_function_name>`, "<tool_call>", Tagged},
		{"Nemotron 3", `reply in the following format with NO suffix:\n\n<tool_call>\n<function=example_function_name>`, "", Tagged},
		{"LFM2", `"List of tools: <|tool_list_start|>["`, "<|tool_call_start|>", LFM},
		{"LFM2.5", `"List of tools: ["`, "<|tool_call_start|>", LFM},
		{"Mistral", `{{- "[TOOL_CALLS] [" }}`, "[TOOL_CALLS]", Mistral},
		{"Granite 3", `respond only with <|tool_call|> followed by a JSON list`, "<|tool_call|>", Granite},
		{"Granite 4", `<tool_call>\n{"name": "`, "<|tool_call|> <tool_call>", Hermes},
		{"Phi-4-mini", `in this format: <|tool_call|>{"name": "foo"}<|/tool_call|>`, "<|tool_call|> <|/tool_call|>", Phi},
		{"Phi-4-mini without a template for calls", `{{ '<|tool|>' + tools + '<|/tool|>' }}`, "<|tool_call|> <|/tool_call|>", Phi},
		{"OLMo 3", `Output any function calls within <function_calls></function_calls> XML tags.' -}}{{- '<functions>'`, "<function_calls>", Olmo},
		{"OLMo 3 that only thinks", `<functions></functions>`, "<function_calls>", Olmo},
		{"Gemma 4", `'<|tool_call>call:' + function['name'] + '{'`, "<|tool_call>", Gemma},
		{"gpt-oss", `"<|start|>assistant to=" "functions." "<|channel|>commentary json<|message|>" "<|call|>" {"name": "parameters"}`, "<|call|>", Harmony},
		{"gpt-oss without a template", "", "<|channel|> <|message|> <|call|>", None},
		{"Mistral's later models", `{{- "[TOOL_CALLS]" + name + "[ARGS]" + arguments }}`, "[TOOL_CALLS] [ARGS]", MistralArgs},
	} {
		got := Of(c.template, func(token string) bool { return bytes.Contains([]byte(c.tokens), []byte(token)) && token != "" })
		if got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
