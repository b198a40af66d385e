package llama_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// harmonyTemplate is short for the template of OpenAI's open models.
const harmonyTemplate = `<|start|>system<|message|>Reasoning: {{ reasoning_effort }}<|end|>{% for t in tools or [] %}{{ "// " + t.function.description }}{{ t.function.name }}{% endfor %}
{%- for m in messages %}{% if m.tool_calls %}{% set c = m.tool_calls[0].function %}
{%- if m.thinking %}<|start|>assistant<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{% elif m.content %}<|start|>assistant<|channel|>analysis<|message|>{{ m.content }}<|end|>{% endif -%}
<|start|>assistant to=functions.{{ c.name }}<|channel|>commentary json<|message|>{{ c.arguments | tojson }}<|call|>
{%- elif m.role == "tool" %}<|start|>functions to=assistant<|channel|>commentary<|message|>{{ m.content }}<|end|>
{%- elif m.role == "assistant" %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>
{%- else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}`

var harmonyMarks = []string{"<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|call|>"}

// harmonyModel loads a scripted model that answers in channels. Its other tokens are bytes, and what chains have.
func harmonyModel(t testing.TB, chains ...[]string) *llama.Model {
	t.Helper()
	m, err := llama.Load(scriptedmodel.Write(t, scriptedmodel.Script{Template: harmonyTemplate, Special: harmonyMarks, Chains: chains}), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if m.Tokenizer().CallFormat() != llama.HarmonyCalls || !m.Tokenizer().Thinks() {
		t.Fatalf("calls are %v", m.Tokenizer().CallFormat())
	}
	return m
}

// saying is a constraint of one answer, marks included.
type saying []llama.Token

// say returns the tokens of a text in which marks are their tokens.
func say(tok *llama.Tokenizer, text string) (s saying) {
	for text != "" {
		at, mark := len(text), ""
		for _, m := range harmonyMarks {
			if i := strings.Index(text, m); i >= 0 && i < at {
				at, mark = i, m
			}
		}
		s = append(s, tok.EncodeContinuation(text[:at])...)
		if id, ok := tok.ID(mark); ok {
			s = append(s, id)
		}
		text = text[at+len(mark):]
	}
	return s
}

func (s saying) Start() llama.Matcher { return &sayingMatcher{s} }
func (s saying) Whole() bool          { return true }

type sayingMatcher struct{ rest saying }

func (m *sayingMatcher) Allowed(set *llama.TokenSet) error {
	set.Clear()
	if len(m.rest) > 0 {
		set.Add(m.rest[0])
	}
	set.SetEnd(len(m.rest) == 0)
	return nil
}

func (m *sayingMatcher) Accept(t llama.Token) error {
	if len(m.rest) == 0 || t != m.rest[0] {
		return errors.New("something else is said")
	}
	m.rest = m.rest[1:]
	return nil
}

func (m *sayingMatcher) Forced(dst []llama.Token) []llama.Token { return dst }
func (m *sayingMatcher) Clone() llama.Matcher                   { c := *m; return &c }

// functions are a function without arguments, g, and f with an argument a, 1 or 2.
var functions = []json.RawMessage{
	json.RawMessage(`{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"enum":[1,2]}},"required":["a"],"additionalProperties":false}}}`),
	json.RawMessage(`{"type":"function","function":{"name":"g"}}`),
}

// TestChannels reads answers in channels: as they come, and whole.
func TestChannels(t *testing.T) {
	m := harmonyModel(t)
	tok := m.Tokenizer()
	const (
		thought = "<|channel|>analysis<|message|>It asks.<|end|><|start|>assistant"
		call    = `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}`
	)
	f, g := llama.ToolCall{Name: "f", Arguments: json.RawMessage(`{"a": 1}`)}, llama.ToolCall{Name: "g", Arguments: json.RawMessage(`{}`)}
	for _, c := range []struct {
		answer, thought, text string
		calls                 []llama.ToolCall
		broken                bool
	}{
		{thought + "<|channel|>final<|message|>Yes. 한", "It asks.", "Yes. 한", nil, false},
		{"<|channel|>final<|message|>Yes.", "", "Yes.", nil, false},
		{"Yes.", "", "Yes.", nil, false},
		{"to be", "", "to be", nil, false},
		{thought + call, "It asks.", "", []llama.ToolCall{f}, false},
		{call, "", "", []llama.ToolCall{f}, false},
		{thought + ` to=functions.g<|channel|>commentary json<|message|>{}`, "It asks.", "", []llama.ToolCall{g}, false},
		{` to=functions.g<|channel|>commentary <|constrain|>json<|message|>{}`, "", "", []llama.ToolCall{g}, false},
		{`<|channel|>analysis to=functions.g<|constrain|>json<|message|>{}`, "", "", []llama.ToolCall{g}, false},
		{"<|channel|>commentary to=g<|message|>{}<|call|>", "", "", []llama.ToolCall{g}, false},
		{thought + "<|channel|>commentary<|message|>I look.\n<|end|><|start|>assistant" + call, "It asks.", "I look.", []llama.ToolCall{f}, false},
		{"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>Yes.", "", "I look.\n\nYes.", nil, false},
		{call + "<|end|><|start|>assistant<|channel|>commentary to=functions.g json<|message|>{}", "", "", []llama.ToolCall{f, g}, false},
		{thought + strings.Replace(thought, "asks", "is", 1) + "<|channel|>final<|message|>Yes.", "It asks.\n\nIt is.", "Yes.", nil, false},
		{"<|channel|>commentary to=browser.search <|constrain|>json<|message|>{\"query\": 1}", "", "to=browser.search {\"query\": 1}", nil, false},
		{"<|channel|>analysis to=python code<|message|>import x", "", "to=python import x", nil, false},
		{`<|channel|>commentary to=functions.f json<|message|>{"a": `, "", `to=functions.f {"a":`, nil, true},
		{"<|channel|>commentary to=functions.f json<|message|>Hm.", "", "to=functions.f Hm.", nil, false},
		{"<|channel|>final to=functions.f<|message|>{}", "", "{}", nil, false},
		{"<|channel|>ana", "", "", nil, false},
		{thought, "It asks.", "", nil, false},
	} {
		says := say(tok, c.answer)
		var text, thought strings.Builder
		arguments, broken := map[int]string{}, false
		p := llama.Params{Constraint: says, MaxTokens: 200, Template: llama.TemplateOptions{Tools: functions}}
		piece, err := llama.Collect(func(yield func(llama.Piece, error) bool) {
			for p, err := range newSession(t, m, nil).Chat(t.Context(), []llama.Message{{Role: llama.RoleUser, Content: "What?"}}, p) {
				text.WriteString(p.Text)
				thought.WriteString(p.Thought)
				for _, c := range p.Calls {
					arguments[c.Index] += c.Name + c.Arguments
					broken = broken || c.Broken
				}
				if !yield(p, err) {
					return
				}
			}
		})
		if err != nil {
			t.Errorf("%s: %v", c.answer, err)
			continue
		}
		got := piece.Message
		for i := range got.ToolCalls {
			if call := got.ToolCalls[i]; arguments[i] != call.Name+string(call.Arguments) {
				t.Errorf("%s: call %d came as %q", c.answer, i, arguments[i])
			}
			got.ToolCalls[i].ID = ""
		}
		want := llama.Message{Role: llama.RoleAssistant, Content: c.text, Thinking: c.thought, ToolCalls: c.calls}
		got.Content = strings.TrimRight(got.Content, " ")
		if !reflect.DeepEqual(got, want) || broken != c.broken || strings.TrimRight(text.String(), " ") != c.text || thought.String() != c.thought {
			t.Errorf("%s:\n %+v, of %q and %q, broken %t\n want %+v", c.answer, got, thought.String(), text.String(), broken, want)
		}
		if (piece.Stop == llama.ToolCalled) != (len(c.calls) > 0) {
			t.Errorf("%s: %v", c.answer, piece.Stop)
		}
		names := func(m llama.Message) (list []string) {
			for _, c := range m.ToolCalls {
				list = append(list, c.Name+string(c.Arguments))
			}
			return list
		}
		if again := tok.ParseAnswer(says, -1); len(c.calls) > 0 && !slices.Equal(names(again), names(want)) || again.Thinking != c.thought {
			t.Errorf("%s is read as %+v", c.answer, again)
		}
	}
	// Without functions on offer nothing is called.
	p := llama.Params{Constraint: say(tok, call), MaxTokens: 200}
	if piece, err := llama.Collect(newSession(t, m, nil).Chat(t.Context(), []llama.Message{{Role: llama.RoleUser, Content: "What?"}}, p)); err != nil || piece.Text != `to=functions.f {"a": 1}` || piece.Stop != llama.EndOfTurn {
		t.Errorf("%q, %v, %v", piece.Text, piece.Stop, err)
	}
}

// TestRandomChannels draws answers freely: whatever comes, the answer is a text or a call that fits, within the bounds of its thoughts.
func TestRandomChannels(t *testing.T) {
	effort.Turn(t, 8)
	m := harmonyModel(t, []string{"analysis", "final", "commentary", " to=", "functions.", "json", "한글", "\xed\x95", "anal"})
	called, texts, thoughts := 0, 0, 0
	for _, o := range []constrain.ToolOptions{{}, {Choice: constrain.ToolRequired}, {Function: "g"}, {Choice: constrain.ToolNone},
		{Answer: &constrain.Answer{Schema: json.RawMessage(`{"enum":[7,"x"]}`)}}} {
		form, err := constrain.Tools(m.Tokenizer(), functions, o)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(effort.Of(28, 40, 200)) { // of 20 each has another budget or no thoughts
			think := llama.Thinking{Budget: int(seed) % 5}
			if seed%4 == 0 {
				think = llama.Thinking{Enabled: new(false)}
			}
			p := llama.Params{MaxTokens: 600, Temperature: 100, Seed: seed, Constraint: form, Template: llama.TemplateOptions{Tools: functions, Thinking: think}}
			piece, err := llama.Collect(newSession(t, m, nil).Chat(t.Context(), []llama.Message{{Role: llama.RoleUser, Content: "What?"}}, p))
			if err != nil {
				t.Fatalf("%+v, seed %d: %v, after %q", o, seed, err, m.Tokenizer().Decode(piece.Tokens...))
			}
			message := piece.Message
			if piece.Stop == llama.MaxTokens {
				continue
			}
			for _, c := range message.ToolCalls {
				var f struct{ A int }
				err := json.Unmarshal(c.Arguments, &f)
				if err != nil || c.Name != "f" && c.Name != "g" || c.Name == "f" && f.A != 1 && f.A != 2 || o.Function != "" && c.Name != o.Function {
					t.Errorf("%+v, seed %d: %+v, %v", o, seed, message, err)
				}
				called++
			}
			required := o.Choice == constrain.ToolRequired || o.Function != ""
			if n := len(message.ToolCalls); n > 1 || required && n != 1 || o.Choice == constrain.ToolNone && n > 0 {
				t.Errorf("%+v, seed %d: %+v", o, seed, message)
			}
			if len(message.ToolCalls) == 0 {
				texts++
			}
			if text := strings.TrimSpace(message.Content); o.Answer != nil && len(message.ToolCalls) == 0 && text != "7" && text != `"x"` {
				t.Errorf("%+v, seed %d: %+v", o, seed, message)
			}
			if message.Thinking != "" {
				thoughts++
			}
			if off := think.Enabled != nil; off && message.Thinking != "" || think.Budget > 0 && len([]rune(message.Thinking)) > 200 {
				t.Errorf("%+v, seed %d: %+v", o, seed, message)
			}
		}
	}
	if called < 40 || texts < 20 || thoughts < 10 {
		t.Errorf("%d calls, %d texts, %d thoughts", called, texts, thoughts)
	}
}

// TestFormsInChannels holds the text to a form, after a thought that is free.
func TestFormsInChannels(t *testing.T) {
	m := harmonyModel(t, []string{"<|message|>", "It", " asks", "<|end|>"})
	form, err := constrain.Choice(m.Tokenizer(), `{"a": 1}`, `{"b": 2}`)
	if err != nil {
		t.Fatal(err)
	}
	for thought, think := range map[string]llama.Thinking{"It asks": {}, "It": {Budget: 1}, "": {Enabled: new(false)}} {
		piece, err := llama.Collect(newSession(t, m, nil).Chat(t.Context(), []llama.Message{{Role: llama.RoleUser, Content: "What?"}},
			llama.Params{MaxTokens: 100, Constraint: form, Template: llama.TemplateOptions{Thinking: think}}))
		if err != nil || piece.Thought != thought || piece.Text != `{"a": 1}` && piece.Text != `{"b": 2}` {
			t.Errorf("%q: thought %q, text %q, %v", thought, piece.Thought, piece.Text, err)
		}
	}
}

// TestHistoryInChannels renders calls of a history one by one, each with its result, thoughts of calls with their texts, and words for how much
// to think.
func TestHistoryInChannels(t *testing.T) {
	tok := harmonyModel(t).Tokenizer()
	call := func(id, name string) llama.ToolCall {
		return llama.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(`{"a":1}`)}
	}
	user := llama.Message{Role: llama.RoleUser, Content: "What?"}
	result := func(id, text string) llama.Message {
		return llama.Message{Role: llama.RoleTool, ToolCallID: id, Content: text}
	}
	const f, g = `<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"a": 1}<|call|>`, `<|start|>assistant to=functions.g<|channel|>commentary json<|message|>{"a": 1}<|call|>`
	const result1 = `<|start|>functions to=assistant<|channel|>commentary<|message|>one<|end|>`
	const result2 = `<|start|>functions to=assistant<|channel|>commentary<|message|>two<|end|>`
	thinks := func(text string) string { return "<|start|>assistant<|channel|>analysis<|message|>" + text + "<|end|>" }
	for name, c := range map[string]struct {
		history []llama.Message
		want    string
	}{
		"two calls":            {[]llama.Message{user, {Role: llama.RoleAssistant, Thinking: "Hm.", ToolCalls: []llama.ToolCall{call("1", "f"), call("2", "g")}}, result("2", "two"), result("1", "one")}, thinks("Hm.") + f + result1 + g + result2},
		"calls without IDs":    {[]llama.Message{user, {Role: llama.RoleAssistant, ToolCalls: []llama.ToolCall{call("", "f"), call("", "g")}}, result("", "one"), result("", "two")}, f + result1 + g + result2},
		"a call with a text":   {[]llama.Message{user, {Role: llama.RoleAssistant, Content: "I look.", ToolCalls: []llama.ToolCall{call("1", "f")}}, result("1", "one")}, thinks("I look.") + f + result1},
		"a thought and a text": {[]llama.Message{user, {Role: llama.RoleAssistant, Content: "I look.", Thinking: "Hm.", ToolCalls: []llama.ToolCall{call("1", "f")}}, result("1", "one")}, thinks("Hm.\n\nI look.") + f + result1},
	} {
		tokens, err := tok.Template(c.history, llama.TemplateOptions{Tools: functions})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := written(tok, tokens); !strings.HasSuffix(got, "<|start|>user<|message|>What?<|end|>"+c.want+"<|start|>assistant") {
			t.Errorf("%s: %s", name, got)
		}
	}
	for word, want := range map[string]string{"low": "low", "high": "high", "none": "low", "minimal": "low", "xhigh": "high", "": ""} {
		tokens, err := tok.Template([]llama.Message{user}, llama.TemplateOptions{Thinking: llama.Thinking{Effort: word}})
		if got := written(tok, tokens); err != nil || !strings.HasPrefix(got, "<|start|>system<|message|>Reasoning: "+want+"<|end|>") {
			t.Errorf("%q: %s, %v", word, got, err)
		}
	}
}

// written returns the text of tokens, with control tokens.
func written(tok *llama.Tokenizer, tokens []llama.Token) string {
	var b []byte
	for _, t := range tokens {
		if tok.Special(t) {
			b = fmt.Append(b, tok.Text(t))
		} else {
			b = tok.AppendBytes(b, t)
		}
	}
	return string(b)
}

// TestBegunInChannels goes on with thoughts and texts that are given.
func TestBegunInChannels(t *testing.T) {
	m := harmonyModel(t, []string{"\n\n", "It", " is", "<|end|>"})
	tok := m.Tokenizer()
	pool, err := m.NewPool(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, c := range []struct {
		thought, text string
		end           string // of the prompt
		says, thinks  string
	}{
		{"", "\n\n", "<|start|>assistant<|channel|>final<|message|>\n\n", "It is", ""},
		{"Hm.", "\n\n", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>\n\n", "It is", ""},
		{"Hm.\n\n", "", "<|start|>assistant<|channel|>analysis<|message|>Hm.\n\n", "", "It is"},
	} {
		begun, err := tok.Template([]llama.Message{{Role: llama.RoleUser, Content: "What?"}, {Role: llama.RoleAssistant, Thinking: c.thought, Content: c.text}},
			llama.TemplateOptions{Continue: true})
		if got := written(tok, begun); err != nil || !strings.HasSuffix(got, c.end) {
			t.Errorf("%q, %q: %s, %v", c.thought, c.text, got, err)
		}
		for _, think := range []llama.Thinking{{}, {Budget: 50}, {Enabled: new(c.says == "")}} {
			piece, err := llama.Collect(pool.Answer(t.Context(), begun, llama.Params{MaxTokens: 2, Template: llama.TemplateOptions{Thinking: think}}))
			if err != nil || piece.Text != c.says || piece.Thought != c.thinks {
				t.Errorf("%s, %+v: %q, %q, %v", c.end, think, piece.Thought, piece.Text, err)
			}
		}
	}
}

// TestInstructionsInChannels makes one message of the instructions at the beginning.
func TestInstructionsInChannels(t *testing.T) {
	tok := harmonyModel(t).Tokenizer()
	tokens, err := tok.Template([]llama.Message{{Role: llama.RoleSystem, Content: "One."}, {Role: llama.RoleSystem, Content: "Two."}, {Role: llama.RoleUser, Content: "What?"}}, llama.TemplateOptions{})
	if got := written(tok, tokens); err != nil || !strings.HasSuffix(got, "<|end|><|start|>system<|message|>One.\n\nTwo.<|end|><|start|>user<|message|>What?<|end|><|start|>assistant") {
		t.Errorf("%s, %v", got, err)
	}
}
