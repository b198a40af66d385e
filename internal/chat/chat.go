// Package chat turns a conversation into the text that a model was trained to see, with a chat template.
//
// A model brings its own template: Jinja, in tokenizer_config.json, chat_template.jinja or GGUF metadata ([Parse]). A
// model of the Llama 3 family that brings none gets the built-in one ([Llama3]).
//
// # Who wrote a special token
//
// The result is not a string but a list of segments, because a tokenizer has to know who wrote "<|eot_id|>": the
// template, then it is the special token that ends a turn; or the user, then it is ten harmless characters. So every
// string that comes with a call (contents, roles, names, tool schemas, variables) is enclosed between two of Unicode's
// noncharacters which occur nowhere else in that call. Whatever a template does (trim, slice, split, concatenate, print
// as JSON) keeps each character on its side of the fence, comparisons do not see the fence, and at the end a special
// token is recognised only where all of its characters lie outside. A role that is a plain word is left outside, since
// some templates build a special token from it ('<|' + role + '|>').
//
// # Untrusted templates
//
// A template is code from a stranger. It is parsed and walked by gonja, but everything it can call is in this package:
// no files, no clock, no randomness, a bounded nesting, and a budget for the work and the memory of one rendering.
package chat

import (
	"encoding/json"
	"time"
)

// Message is one turn of a conversation, with the keys that Hugging Face's apply_chat_template hands to a template.
type Message struct {
	Role       string     // "system", "user", "assistant", "tool", …: what the template knows
	Content    string     // text; special tokens in it are inert
	ToolCalls  []ToolCall // the calls an assistant's turn makes; the key tool_calls is absent when there are none
	Name       string     // the key name, absent when empty
	ToolCallID string     // the key tool_call_id, absent when empty: which call a tool's turn answers
}

// ToolCall is a function call made by the model.
type ToolCall struct {
	ID        string          // the key id, absent when empty
	Name      string          // function.name
	Arguments json.RawMessage // function.arguments, any JSON value, usually an object, whose keys keep their order; empty: {}
}

// Options say how to render a conversation. The zero value renders it as it is.
type Options struct {
	AddGenerationPrompt bool              // end with the opening of an assistant's turn
	Tools               []json.RawMessage // functions on offer, each {"type":"function","function":{…}}; keys keep their order
	Date                time.Time         // today, for strftime_now and date_string; zero: the template's own default, so that the result is reproducible
	Vars                map[string]any    // more variables for the template, such as tools_in_user_message; anything that encoding/json encodes
}

// Segment is a stretch of rendered text.
type Segment struct {
	Text    string
	Special bool // Text is exactly one special token, written by the template; otherwise all of Text is inert
}

// Template is a chat template. It is immutable and safe for concurrent use.
type Template struct {
	specials specials
	bos, eos string
	jinja    *program // nil: the built-in Llama 3 format
}

// Render returns the conversation's segments: joined, they are the text that Hugging Face renders. No two neighbours are
// both plain, and none is empty.
//
// An error is the template's refusal (raise_exception, in its own words), a mistake in it, JSON that does not parse, or
// a template that exceeds its budget.
func (t *Template) Render(messages []Message, o Options) ([]Segment, error) {
	if t.jinja == nil {
		return t.llama3(messages, o)
	}
	return t.render(messages, o)
}
