package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/internal/jinja"
)

// A template sees a call's input as values that it finds by name, with the names of Hugging Face. For example, one message of a user, no
// tools and the variable {"lang": "en"} become
//
//	messages = [{"role": "user", "content": "Hi"}], tools = None, add_generation_prompt = True, lang = "en"
//
// Each string has an origin: the message and the part of it that it comes from.

// Bounds on the input of one call.
const (
	maxText   = 8 << 20 // bytes of messages
	maxJSON   = 2 << 20 // bytes of tools, of calls' arguments and of variables
	maxValues = 1 << 16 // values that the template gets: those in the JSON, messageValues a message, partValues a part and callValues a call

	messageValues = 4
	partValues    = 3
	callValues    = 6
)

// The dates of templates.
const (
	dateLayout  = "02 Jan 2006" // as Llama 3's system turn prints it
	defaultDate = "26 Jul 2024" // the date that turn has if no other is given
)

// inputs makes the template's values of what a call brings, within the bounds. Left counts the values that may still come,
// text and json the bytes of messages and of JSON; an error has been returned once one of them is negative.
type inputs struct {
	jinja.Decoder
	text, json int
}

// variables returns the values that the template finds by name. If lists is true, each content is a list of parts.
func (t *Template) variables(messages []Message, o Options, lists bool) (map[string]jinja.Value, error) {
	in := &inputs{jinja.Decoder{Left: maxValues}, maxText, maxJSON}
	turns, err := in.conversation(messages, t, lists)
	if err != nil {
		return nil, err
	}
	others := origin(len(messages), ofRole)
	tools, err := in.tools(o.Tools, others)
	if err != nil {
		return nil, err
	}
	if t.calls.Family().Channels != nil {
		describe(tools)
	}
	variables := map[string]jinja.Value{
		"messages":              turns,
		toolsVariables[0]:       nil,
		"documents":             nil,
		"add_generation_prompt": o.AddGenerationPrompt,
		"bos_token":             jinja.From(t.bos, 0),
		"eos_token":             jinja.From(t.eos, 0),
		"raise_exception":       &jinja.Function{Call: raiseException},
		"strftime_now":          strftimeNow(o.Date),
	}
	if name := t.toolsName(); name != "" {
		variables[name] = tools
	}
	if !o.Date.IsZero() {
		variables["date_string"] = jinja.From(o.Date.Format(dateLayout), others)
	}
	if o.Thinking != nil {
		for _, name := range thinkingVariables {
			if t.jinja.Reads(name) {
				variables[name] = *o.Thinking
			}
		}
	}
	if t.calls.Family().Channels != nil {
		o.Effort = harmonyEffort(o)
	}
	if o.Effort != "" {
		variables["reasoning_effort"] = jinja.From(o.Effort, others)
	}
	for _, key := range slices.Sorted(maps.Keys(o.Vars)) {
		data, err := json.Marshal(o.Vars[key])
		if err == nil {
			variables[key], err = in.decode(data, others)
		}
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", key, err)
		}
	}
	return variables, nil
}

// harmonyEffort returns the word for how much OpenAI's open models are to think: they know "low", "medium" and "high", and think always. Of the
// words that interfaces have, those below are taken for "low" and those above for "high". Other words stay.
func harmonyEffort(o Options) string {
	switch o.Effort {
	case "none", "minimal":
		return "low"
	case "xhigh", "max":
		return "high"
	case "":
		if o.Thinking != nil && !*o.Thinking {
			return "low"
		}
	}
	return o.Effort
}

// toolsVariables are the templates' names for the functions on offer. SmolLM3's template has two names: the first, everybody's, for calls
// in JSON, the second for calls in Python.
var toolsVariables = [...]string{"tools", "xml_tools"}

// thinkingVariables are what templates call the switch that says whether the model thinks: the former is Qwen's and SmolLM's, the latter
// Granite's and DeepSeek's.
var thinkingVariables = [...]string{"enable_thinking", "thinking"}

// thoughtKeys are the keys of a message under which templates look for its thoughts, everybody's first.
var thoughtKeys = [...]string{"reasoning_content", harmonyThought, "reasoning"}

// harmonyThought is the key of OpenAI's open models. Their template refuses a message that has thoughts, a text and calls.
const harmonyThought = "thinking"

// thoughtKey returns the key under which the template looks for a message's thoughts: of thoughtKeys the first that the template mentions.
func (t *Template) thoughtKey() string {
	for _, key := range thoughtKeys {
		if t.jinja.Mentions(key) {
			return key
		}
	}
	return thoughtKeys[0]
}

// toolsName returns the first of toolsVariables that the template reads, or "".
func (t *Template) toolsName() string {
	for _, name := range toolsVariables {
		if t.jinja.Reads(name) {
			return name
		}
	}
	return ""
}

func (in *inputs) decode(data []byte, o jinja.Origin) (jinja.Value, error) {
	if in.json -= len(data); in.json < 0 {
		return nil, fmt.Errorf("tools, calls and variables have more than %d bytes", maxJSON)
	}
	return in.Decode(data, o)
}

// tools are the tools as a template sees them. Without tools, the result is nil, which templates see as None, as in Hugging Face.
func (in *inputs) tools(tools []json.RawMessage, o jinja.Origin) (jinja.Value, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	l := jinja.NewList()
	for i, t := range tools {
		v, err := in.decode(t, o)
		if err != nil {
			return nil, fmt.Errorf("tool %d: %w", i, err)
		}
		l.Items = append(l.Items, v)
	}
	return l, nil
}

// describe gives an empty description to each tool with a function that lacks one. The template of OpenAI's open models adds it to a text,
// which fails without it, and callers may leave it out.
func describe(tools jinja.Value) {
	l, _ := tools.(*jinja.List)
	if l == nil {
		return
	}
	for _, tool := range l.Items {
		wrapped, _ := tool.(*jinja.Dict)
		if wrapped == nil {
			continue
		}
		v, _ := wrapped.Get("function")
		if function, _ := v.(*jinja.Dict); function != nil {
			if text, _ := function.Get("description"); text == nil {
				function.Set(key("description"), key(""))
			}
		}
	}
}

// conversation is the messages as a template sees them.
func (in *inputs) conversation(messages []Message, t *Template, lists bool) (jinja.Value, error) {
	turns := jinja.NewList()
	for i, m := range messages {
		in.text -= len(m.Role) + m.size() + len(m.Name) + len(m.ToolCallID) + len(m.Thinking)
		if in.Left -= messageValues; in.text < 0 || in.Left < 0 {
			return nil, fmt.Errorf("the conversation has more than %d bytes, or %d messages", maxText, maxValues/messageValues)
		}
		role := origin(i, ofRole)
		if isWord(m.Role) && !t.specials.in(m.Role) {
			role = -role
		}
		k := t.thoughtKey()
		if k == harmonyThought && len(m.ToolCalls) > 0 && m.size() > 0 && m.Thinking != "" { // the template takes either for the thought
			m.write(slices.Concat([]stretch{{text: m.Thinking + "\n\n", of: ofContent}}, m.stretches()))
			m.Thinking = ""
		}
		turn := jinja.NewDict()
		turn.Set(key("role"), jinja.From(m.Role, role))
		content, parts := m.content(i, lists)
		if in.Left -= partValues * parts; in.Left < 0 {
			return nil, fmt.Errorf("the conversation has too many parts: message %d alone has %d", i, parts)
		}
		turn.Set(key("content"), content)
		if len(m.ToolCalls) > 0 {
			calls, err := in.calls(m.ToolCalls, origin(i, ofCalls))
			if err != nil {
				return nil, fmt.Errorf("message %d: %w", i, err)
			}
			turn.Set(key("tool_calls"), calls)
		}
		optional(turn, "name", m.Name, origin(i, ofContent))
		optional(turn, "tool_call_id", m.ToolCallID, origin(i, ofContent))
		optional(turn, k, m.Thinking, origin(i, ofContent))
		turns.Items = append(turns.Items, turn)
	}
	return turns, nil
}

func (in *inputs) calls(calls []ToolCall, o jinja.Origin) (jinja.Value, error) {
	l := jinja.NewList()
	for _, c := range calls {
		data := c.Arguments
		if len(data) == 0 {
			data = json.RawMessage("{}")
		}
		in.text -= len(c.Name) + len(c.ID)
		if in.Left -= callValues; in.text < 0 || in.Left < 0 {
			return nil, fmt.Errorf("the conversation has more than %d bytes, or too many calls", maxText)
		}
		arguments, err := in.decode(data, o)
		if err != nil {
			return nil, fmt.Errorf("arguments of the call to %.40q: %w", c.Name, err)
		}
		function := jinja.NewDict()
		function.Set(key("name"), jinja.From(c.Name, o))
		function.Set(key("arguments"), arguments)
		call := jinja.NewDict()
		optional(call, "id", c.ID, o)
		call.Set(key("type"), key("function"))
		call.Set(key("function"), function)
		l.Items = append(l.Items, call)
	}
	return l, nil
}

// key returns a text that this package writes: it counts as the template's.
func key(s string) jinja.Text { return jinja.From(s, 0) }

// optional sets a key, unless the value is empty.
func optional(d *jinja.Dict, name, value string, o jinja.Origin) {
	if value != "" {
		d.Set(key(name), jinja.From(value, o))
	}
}

// isWord reports whether s is letters, digits, '_' and '-' only: a role that a template may build a special token from.
func isWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && c != '-' && !('0' <= c && c <= '9') && !('a' <= c|0x20 && c|0x20 <= 'z') {
			return false
		}
	}
	return s != ""
}

// maxRefusal bounds the text of a template's refusal in an error, in bytes.
const maxRefusal = 1000

// raiseException is the function by which a template refuses a conversation: it returns the template's words as an error.
func raiseException(args []jinja.Value) (jinja.Value, error) {
	if len(args) == 1 {
		if t, ok := args[0].(jinja.Text); ok {
			return nil, errors.New(cut(t.String(), maxRefusal))
		}
	}
	return nil, errors.New("the template refuses the conversation")
}

// cut returns the first n bytes of s, or all if there are fewer.
func cut(s string, n int) string { return s[:min(n, len(s))] }

// strftimeNow returns the function strftime_now(format), which prints the caller's date. Without a date from the caller, it prints the day
// that Llama's templates fall back to, and never asks the clock, so that the same call renders the same text tomorrow; and "strftime_now is
// defined" is then false, so that templates with a default of their own use that.
func strftimeNow(date time.Time) *jinja.Function {
	f := &jinja.Function{Hidden: date.IsZero()}
	if date.IsZero() {
		date, _ = time.Parse(dateLayout, defaultDate)
	}
	f.Call = func(args []jinja.Value) (jinja.Value, error) {
		if len(args) == 1 {
			if format, ok := args[0].(jinja.Text); ok && len(format.String()) <= maxFormat {
				return format.Map(func(s string) string { return strftime(date, s) }), nil
			}
		}
		return nil, fmt.Errorf("strftime_now takes a format of at most %d bytes", maxFormat)
	}
	return f
}
