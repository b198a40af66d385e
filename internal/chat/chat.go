// Package chat turns a conversation into the text that a model was trained to see, with a chat template.
//
// A model brings its own template, or several: Jinja, in one of several files or in GGUF metadata. A model of the Llama 3 family without a
// template gets the built-in one ([Llama3]).
//
// # Who wrote a special token
//
// The result is not a string but a list of segments, because the tokenizer has to know who wrote "<|eot_id|>". If the template wrote it, it is
// the special token that ends a turn. If the user wrote it, it is ten harmless characters.
//
// So every string that comes with a call (contents, roles, names, tool schemas, variables) carries its origin through whatever the template
// does with it ([jinja.Text]). At the end a special token is recognised only if all of its bytes are the template's. A role that is a
// plain word counts as the template's, since some templates build a special token from it ('<|' + role + '|>').
//
// # What a template leaves out
//
// A template may have no place for something that it is given, and Jinja does not say so. Origins show it. Two things are errors: tools and
// calls to which the template never refers, and a message that left nothing in the text although the template does not name its role.
//
// # Images
//
// A content with images is a list of parts for the template, and a string without them. The template writes a special token for each image.
// It writes the token itself, so that no text of a user's is taken for one. Templates such as SmolVLM's want every content as a list; a
// trial with one word finds that out.
//
// # Calls as content
//
// If it is known how the model writes calls ([Template.WriteCalls]), parts that the template has no place for become content instead: the
// functions at the beginning of the user's first message, calls as the model writes them, and results, if need be, as the user's words.
package chat

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/jinja"
)

//go:embed llama3.jinja
var llama3 string

// Llama3 returns the source of the chat template for models of the Llama 3 family that carry no template. It renders the same as the
// template published with Llama 3.2. It heeds the variables tools_in_user_message (bool, default true) and date_string (string; wins over
// Options.Date).
func Llama3() string { return llama3 }

// Message is one turn of a conversation, with the keys that Hugging Face's apply_chat_template hands to a template.
type Message struct {
	Role       string     // "system", "user", "assistant", "tool", …: what the template knows
	Content    string     // text; special tokens in it are inert
	Parts      []Part     // texts and images instead of Content, which is then ""; nil: there are no images
	ToolCalls  []ToolCall // the calls an assistant's turn makes; the key tool_calls is absent if there are no calls
	Name       string     // the key name, absent when empty
	ToolCallID string     // the key tool_call_id, absent when empty: which call a tool's turn answers
	Thinking   string     // the key reasoning_content, or the template's own word for it, absent when empty: what the turn thought

	written []stretch // the content, if the caller has not written all of it; see told
}

// Part is a text, or the place of an image.
type Part struct {
	Text  string // special tokens in it are inert
	Image bool   // an image stands here, and Text is ""
}

// ToolCall is a function call made by the model.
type ToolCall struct {
	ID        string          // the key id, absent when empty
	Name      string          // function.name
	Arguments json.RawMessage // function.arguments, any JSON value, usually an object; its keys keep their order; empty: {}
}

// Options say how to render a conversation. The zero value renders it as it is.
type Options struct {
	AddGenerationPrompt bool              // end with the opening of an assistant's turn
	Tools               []json.RawMessage // functions on offer, each {"type":"function","function":{…}}; keys keep their order
	Date                time.Time         // today, for strftime_now and date_string; zero: the template's own default, so that the result is reproducible
	Vars                map[string]any    // more variables for the template, such as tools_in_user_message; anything that encoding/json encodes
	Thinking            *bool             // whether the model is to think, for templates that read enable_thinking or thinking; nil: undefined
	Effort              string            // for templates that read reasoning_effort; "": undefined
}

// Segment is a stretch of rendered text.
type Segment struct {
	Text    string
	Special bool // Text is exactly one special token, written by the template; otherwise all of Text is inert
}

// The mistakes of a conversation that callers may want to distinguish.
var (
	// ErrUnsupported: the template has no place for tools, or for calls of them.
	ErrUnsupported = errors.New("the chat template has no place for that")
	// ErrEmpty: there are no messages.
	ErrEmpty = errors.New("the conversation has no messages")
)

// IgnoredError says that a template left a message out.
type IgnoredError struct {
	Index int // of the message
	Role  string
}

// Error names the message.
func (e *IgnoredError) Error() string {
	return fmt.Sprintf("the chat template leaves message %d out: nothing of it is printed, and the template names no role %.40q", e.Index, e.Role)
}

// Template is a chat template. It is immutable and safe for concurrent use.
type Template struct {
	specials specials
	bos, eos string
	jinja    *jinja.Template
	calls    calls.Format // how calls are written that the template has no place for
	lists    func() bool  // whether the template wants each content as a list of parts
}

// Parse prepares a model's Jinja template. Texts of specials, bos and eos are recognised as special tokens if the template itself writes
// them; bos and eos are the template's bos_token and eos_token.
func Parse(source string, specials []string, bos, eos string) (*Template, error) {
	t, err := jinja.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("parsing the chat template: %w", err)
	}
	parsed := &Template{specials: newSpecials(append([]string{bos, eos}, specials...)...), bos: bos, eos: eos, jinja: t, calls: calls.None}
	parsed.lists = sync.OnceValue(parsed.wantsLists)
	return parsed, nil
}

// HasTools reports whether the template has a place for functions on offer.
func (t *Template) HasTools() bool { return t.toolsName() != "" }

// WriteCalls sets how calls are written that the template has no place for: then calls, functions on offer and results become content (see
// told), and are no ErrUnsupported. Call it before any rendering.
func (t *Template) WriteCalls(f calls.Format) { t.calls = f }

// Names reports whether the template says a role by name, so that it has something in mind for such a message. Many templates
// print any role.
func (t *Template) Names(role string) bool { return role != "" && t.jinja.Mentions(role) }

// Render returns the conversation's segments: joined, they are the text that Hugging Face renders. No two neighbours are both plain, and no
// segment is empty.
//
// An error is the template's refusal (raise_exception, in its own words), a mistake in it, JSON that does not parse, a part that the
// template leaves out, a template that exceeds its budget (a *jinja.BudgetError), or the context's.
func (t *Template) Render(ctx context.Context, messages []Message, o Options) ([]Segment, error) {
	segments, err := t.renderTold(ctx, messages, o)
	if err != nil {
		return nil, fmt.Errorf("rendering the chat template: %w", err)
	}
	return segments, nil
}

func (t *Template) render(ctx context.Context, messages []Message, o Options) ([]Segment, error) {
	if len(messages) == 0 {
		return nil, ErrEmpty
	}
	if len(o.Tools) > 0 && t.toolsName() == "" {
		return nil, fmt.Errorf("%d tools: %w", len(o.Tools), ErrUnsupported)
	}
	variables, err := t.variables(messages, o, t.lists())
	if err != nil {
		return nil, err
	}
	r, err := t.jinja.Render(ctx, variables)
	if err != nil {
		return nil, err
	}
	if err := t.leftOut(messages, r); err != nil {
		return nil, err
	}
	return t.specials.segments(r.Text)
}
