package constrain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
	"github.com/antigravity-go/antigravity/internal/pattern"
	"github.com/antigravity-go/antigravity/internal/regular"
	"github.com/antigravity-go/antigravity/internal/tokenmask"
	"github.com/antigravity-go/antigravity/llama"
)

// ToolChoice says whether a model calls functions.
type ToolChoice int

// The choices. OpenAI's interface has the same ones.
const (
	ToolAuto     ToolChoice = iota // it calls functions or answers with a text
	ToolNone                       // it answers with a text
	ToolRequired                   // it calls at least one function
)

// ToolOptions say which functions a model may call. The zero value leaves it to the model.
type ToolOptions struct {
	Choice   ToolChoice
	Function string // the one function to call, which is then required; "": any
	Single   bool   // no more than one call
	Spaces   Spaces // white space in arguments
	Lossy    bool   // also accept schemas of arguments that cannot be guaranteed completely, or that are wrong
	// Answer is the form of an answer without calls; an answer with calls then has no text. Nil: any text, with and without calls. It has
	// no effect if a call is required.
	Answer *Answer
}

// Answer is a form of answers: one line of JSON that fits a schema.
type Answer struct {
	Schema  json.RawMessage
	Options SchemaOptions // how the schema is kept
}

// Tools allows an answer that may call functions, in the way in which the model's family writes calls
// (llama.Tokenizer.CallFormat). tools are those that llama.TemplateOptions.Tools offers to the model, in any of the forms that
// llama.Tokenizer.Template names: OpenAI's, MCP's and Anthropic's. A schema under any other key is an error.
//
// A call has the name of one of the functions, and arguments that fit its schema, from the first character on. Text next to calls contains
// nothing that looks like the beginning of a call, so that the answer can be read in one way only.
//
// ToolOptions.Answer must have a schema with values that cannot be taken for calls, or the error is llama.ErrUnsupported. If a model writes
// a call as a JSON object (llama.LlamaJSONCalls), no object that fits may have both the name of a function as its "name" and an object as
// its "parameters" or "arguments": "additionalProperties": false and no such properties see to that.
//
// If a model writes arguments one after another, between tags (llama.TaggedCalls, llama.GLMCalls) or as Python's keyword arguments
// (llama.LlamaPythonicCalls, llama.OlmoCalls, llama.LFMCalls), they come in the order of the schema's properties, and the schema must be that
// of an object and say no more of it than its properties and which are required. Names are those that can be written so. Between tags
// a text and other values look alike: if a property may be both, what the schema demands of the text must be a list of values at most. All
// else is llama.ErrUnsupported; with ToolOptions.Lossy it is not kept.
//
// If a model writes strings between marks (llama.GemmaCalls), the members of arguments come in any order, since such models write them in that
// of the alphabet.
//
// If a model answers in channels (llama.HarmonyCalls), the constraint is one of the whole answer, thoughts included: thoughts are free, and
// an answer has one call at most, which ends it.
//
// A model that writes calls in an unknown way is an error that is llama.ErrUnsupported.
func Tools(t *llama.Tokenizer, tools []json.RawMessage, o ToolOptions) (llama.Constraint, error) {
	c, _, err := ToolsContext(context.Background(), t, tools, o)
	return c, err
}

// ToolsContext is Tools for functions that strangers describe: when ctx ends, so does the work on their schemas, at once, with ctx's
// error. Without that, the schemas of all functions together take up to about a second. With ToolOptions.Lossy, it returns the keywords that are not
// guaranteed. A function takes any arguments if nothing of its schema can be kept.
func ToolsContext(ctx context.Context, t *llama.Tokenizer, tools []json.RawMessage, o ToolOptions) (llama.Constraint, []*UnsupportedError, error) {
	loose := map[int]string{}
	for {
		c, err := toolsOnce(ctx, t, tools, o, loose)
		if err == nil {
			return c, c.left, nil
		}
		var wrong *toolError
		if !o.Lossy || ctx.Err() != nil || len(loose) == maxLoose || !errors.As(err, &wrong) || loose[wrong.index] != "" {
			return nil, nil, err
		}
		loose[wrong.index] = wrong.err.Error()
	}
}

// maxLoose bounds the functions that take any arguments: each costs a whole attempt.
const maxLoose = 8

// toolError is an error about the schema of one tool.
type toolError struct {
	index int
	err   error
}

func (e *toolError) Error() string { return "parameters: " + e.err.Error() }

func (e *toolError) Unwrap() error { return e.err }

// toolsOnce is one attempt of ToolsContext. The tools in loose take any arguments, for the reasons there.
func toolsOnce(ctx context.Context, t *llama.Tokenizer, tools []json.RawMessage, o ToolOptions, loose map[int]string) (*constraint, error) {
	content, err := json.Marshal(struct {
		Tools   []json.RawMessage
		Options ToolOptions
		Loose   map[int]string
	}{tools, o, loose})
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	w := &callWriter{tokenizer: t, family: calls.Format(t.CallFormat()).Family(), options: o, budget: jsonschema.NewBudget(ctx), loose: loose}
	c, err := compile(ctx, t, toolsForm, content, func(l *jsonexpr.Language, g *grammar.Grammar) (grammar.Symbol, error) {
		w.language, w.grammar = l, g
		return w.answer(tools, vocabularyOf(t).beside)
	})
	if err == nil && w.left != nil {
		c.left = w.left
	}
	return c, err
}

// toolsForm is the form of a constraint that Tools has made.
const toolsForm = "tools"

// noArguments is the schema of the arguments of a function without arguments.
const noArguments = `{"properties": {}, "additionalProperties": false}`

// parseTool reads a function on offer, which has a schema then.
func parseTool(data json.RawMessage) (calls.Offer, error) {
	f, err := calls.ReadOffer(data)
	if f.Parameters == nil {
		f.Parameters = json.RawMessage(noArguments)
	}
	return f, err
}

// callWriter makes the grammar of answers with calls.
//
// An answer is a text, or a text with calls after it. A text holds nothing that could begin a call. Each function is one more way to write
// a call: its name, with the texts that the family puts around it, and arguments by the grammar of its schema. For example, Hermes' models
// write the calls of one function get_weather so:
//
//	answer → text | text call more
//	more   → "\n" call more | nothing
//	call   → <tool_call> "\n" {"name": "get_weather", "arguments": arguments} "\n" </tool_call>
//
// ToolRequired leaves both texts out, ToolOptions.Single leaves more out, and ToolNone leaves the calls out.
type callWriter struct {
	tokenizer *llama.Tokenizer
	language  *jsonexpr.Language
	grammar   *grammar.Grammar
	family    *calls.Family
	options   ToolOptions
	budget    *jsonschema.Budget // of all schemas together
	loose     map[int]string     // the tools that take any arguments, and why
	left      []*UnsupportedError
}

// answer returns the symbol of all answers; beside is the text that may stand next to calls.
func (w *callWriter) answer(tools []json.RawMessage, beside regular.Expr) (grammar.Symbol, error) {
	if beside == regular.None {
		return grammar.Symbol{}, fmt.Errorf("%w: how the model writes calls is not known from its template and vocabulary", llama.ErrUnsupported)
	}
	required := w.required()
	text, formed := grammar.Text(beside), w.options.Answer != nil && !required
	if formed {
		var err error
		if text, err = w.formed(tools); err != nil {
			return grammar.Symbol{}, fmt.Errorf("answer: %w", err)
		}
	}
	var each grammar.Alternatives
	if w.options.Choice != ToolNone || required {
		var err error
		if each, err = w.calls(tools); err != nil {
			return grammar.Symbol{}, err
		}
	}
	switch {
	case w.family.Channels != nil:
		return w.inChannels(text, each), nil
	case each == nil:
		return text, nil
	}
	call := grammar.Call(w.grammar.Add(each), 0)
	all := append(w.parts(w.family.Begin), call)
	if !w.options.Single {
		more := w.grammar.Add(nil)
		w.grammar.Define(more, grammar.Alternatives{append(append(w.parts(w.family.Between), call), grammar.Call(more, 0)), {}})
		all = append(all, grammar.Call(more, 0))
	}
	all = append(all, w.parts(w.family.End)...)
	if required {
		return grammar.Call(w.grammar.Add(grammar.Alternatives{all}), 0), nil
	}
	if formed {
		return grammar.Call(w.grammar.Add(grammar.Alternatives{{text}, all}), 0), nil
	}
	before := beside
	if w.family.OwnLine() {
		r := w.language.Arena
		before = r.And(beside, r.Optional(r.Concat(regular.All, r.Literal("\n"))))
	}
	return grammar.Call(w.grammar.Add(grammar.Alternatives{{text}, append([]grammar.Symbol{grammar.Text(before)}, all...)}), 0), nil
}

// required reports whether a function must be called.
func (w *callWriter) required() bool {
	return w.options.Choice == ToolRequired || w.options.Function != ""
}

// calls returns the ways of calling one of the functions.
func (w *callWriter) calls(tools []json.RawMessage) (each grammar.Alternatives, err error) {
	for i, data := range tools {
		f, err := parseTool(data)
		if err == nil && w.options.Function != "" && f.Name != w.options.Function {
			continue
		}
		var ways grammar.Alternatives
		if err == nil {
			ways, err = w.call(i, f)
		}
		if err != nil {
			return nil, fmt.Errorf("tool %d, %q: %w", i, f.Name, err)
		}
		each = append(each, ways...)
	}
	if len(each) == 0 {
		return nil, fmt.Errorf("there is no function to call, of %d tools: %q", len(tools), w.options.Function)
	}
	return each, nil
}

// call returns the ways of calling one function.
func (w *callWriter) call(index int, f calls.Offer) (ways grammar.Alternatives, err error) {
	if !calls.IsName(f.Name) {
		return nil, errors.New("its name has other characters than letters, digits, '_', '-' and '.'")
	}
	left := len(w.left)
	if why := w.loose[index]; why != "" {
		w.left = append(w.left, &UnsupportedError{Reason: why})
		f.Parameters = json.RawMessage(`{}`)
	}
	if w.options.Lossy {
		f.Parameters = jsonschema.Tidy(f.Parameters)
	}
	o := jsonschema.Options{Lossy: w.options.Lossy, Budget: w.budget, Types: []string{"object"}}
	var arguments []grammar.Symbol
	switch {
	case w.family.Tags != nil:
		arguments, err = w.taggedArguments(f.Parameters, o)
	case w.family.Python:
		arguments, err = w.pythonArguments(f.Parameters, o)
	case w.family.Bare:
		arguments, err = w.markedArguments(f.Parameters, o)
	default:
		arguments = make([]grammar.Symbol, 1)
		arguments[0], err = w.schema(f.Parameters, w.language, w.spaced(o))
	}
	if err != nil {
		return nil, &toolError{index, err}
	}
	for _, u := range w.left[left:] {
		u.Tool = f.Name
	}
	around := []calls.Around{{Before: w.family.BeforeName, After: w.family.BeforeArguments}}
	if w.family.Channels != nil {
		around = w.family.Channels.Calls
	}
	for _, a := range around {
		before := slices.Concat(a.Before, []calls.Part{{Text: f.Name}}, a.After)
		ways = append(ways, slices.Concat(w.parts(before), arguments, w.parts(w.family.AfterArguments)))
	}
	return ways, nil
}

// spaced returns the options with the white space of arguments. Templates write a blank after each colon and comma, and some models write no blanks.
func (w *callWriter) spaced(o jsonschema.Options) jsonschema.Options {
	o.Spaces = w.options.Spaces.or(Uniform)
	return o
}

// schema returns the symbol of the values of a schema, and notes the keywords of it that are not kept.
func (w *callWriter) schema(schema []byte, l *jsonexpr.Language, o jsonschema.Options) (grammar.Symbol, error) {
	symbol, left, err := compileSchema(schema, l, w.grammar, o)
	w.left = append(w.left, left...)
	return symbol, err
}

// parts returns the symbols of the texts around calls. A mark is a single token if the vocabulary has it.
func (w *callWriter) parts(parts []calls.Part) (symbols []grammar.Symbol) {
	r, all := w.language.Arena, regular.Empty
	for _, p := range parts {
		text := r.Literal(p.Text)
		if id, ok := w.tokenizer.ID(p.Text); ok && p.Mark {
			text = r.Literal(tokenmask.Mark(int32(id)))
		}
		if p.Maybe {
			text = r.Optional(text)
		}
		all = r.Concat(all, text)
	}
	if all == regular.Empty {
		return nil
	}
	return []grammar.Symbol{grammar.Text(all)}
}

// textBeside returns the texts that hold no call of a function as a family writes them, or regular.None if the family is not known.
func textBeside(l *jsonexpr.Language, family *calls.Family) regular.Expr {
	switch {
	case family.Channels != nil: // calls are messages of their own
		return l.Text
	case family.Opening == "":
		return regular.None
	}
	opened, err := pattern.RE2(l.Arena, pattern.Raw, `(?s:.*)(?:`+family.Opening+`)(?s:.*)`)
	if err != nil {
		return regular.None
	}
	text := l.Arena.Minus(l.Text, opened)
	l.Arena.Reach(text)
	return text
}
