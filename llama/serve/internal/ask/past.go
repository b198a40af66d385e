package ask

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Past reads the conversation that a request brings. A parameter is an instruction, and a wrong one is an error. A history is data: models,
// programs and other servers wrote it, and a client that sends it back cannot mend it. So what cannot be used of it is left out, and said in
// LeftOut, and broken calls are shown to the model as well as they can be. For example, of
//
//	{"role": "assistant", "tool_calls": [
//		{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":"}, "extra_content": {}},
//		{"id": "b", "type": "custom", "custom": {"name": "g", "input": "y"}}]}
//	{"role": "tool", "tool_call_id": "a"}
//
// the model is shown a call of f with the arguments {}, a call of g with {"input": "y"}, and an empty result; extra_content is left out.
//
// What the user asks now is no history: a sound or file is an error if it comes after the last answer, because an answer that passes it over would
// be one to another question. So is an image that the model does not see, which Model.See finds out.
//
// The zero value is ready. Invariants: open are the calls of the latest turn that have no result yet; unseen are the errors of the media since
// the last answer.
type Past struct {
	LeftOut []LeftOut

	open   []llama.ToolCall
	count  int             // calls so far
	lost   map[string]bool // the ids of calls that are left out
	unseen []*wire.Error

	pictures []picture
}

// maxNotes bounds LeftOut: a small request can have very many members that nothing reads.
const maxNotes = 256

// Leave notes that something at a place is left out. It is a wire.Leave.
func (p *Past) Leave(at, why string) { p.note(LeftOut{At: at, Why: why}) }

// Note notes that something at a place is not as it should be, and how it is read all the same.
func (p *Past) Note(at, format string, a ...any) {
	p.note(LeftOut{At: at, Why: fmt.Sprintf(format, a...), Read: true})
}

func (p *Past) note(l LeftOut) {
	switch n := len(p.LeftOut); {
	case n == maxNotes:
		p.LeftOut = append(p.LeftOut, LeftOut{At: "more of the conversation", Why: "for such reasons"})
	case n < maxNotes:
		p.LeftOut = append(p.LeftOut, l)
	}
}

// Object reads an object of the conversation into a struct; see wire.Past.
func (p *Past) Object(at string, value json.RawMessage, rules wire.Rules, into any) error {
	return wire.Past(at, value, rules, into, p.Leave)
}

// Unseen notes a sound or file, which no model here takes, by the error that it is in a question.
func (p *Past) Unseen(err *wire.Error) { p.unseen = append(p.unseen, err) }

// Answer begins a turn of the assistant's. Calls before it that have no result get no result any more.
func (p *Past) Answer() {
	p.answered()
	p.open = nil
}

// answered leaves out the media that were looked at before the answer.
func (p *Past) answered() {
	for _, e := range p.unseen {
		p.Leave(e.Param, "the models here take texts and images")
	}
	p.unseen = nil
	for i := len(p.pictures) - 1; i >= 0 && p.pictures[i].asked; i-- {
		p.pictures[i].asked = false
	}
}

// End returns an error if the question has something that the model cannot see.
func (p *Past) End() error {
	if len(p.unseen) > 0 {
		return p.unseen[0]
	}
	return nil
}

// Call returns a call of the turn that has begun, which arguments stand at a place. A call without an id gets its number.
func (p *Past) Call(at, id, name string, arguments json.RawMessage) llama.ToolCall {
	p.answered()
	object, why := Arguments(arguments)
	if why != "" {
		p.Note(at, "%s", why)
	}
	if p.count++; id == "" {
		id = fmt.Sprintf("%09d", p.count) // nine digits, as Mistral's templates want it
	}
	c := llama.ToolCall{ID: id, Name: name, Arguments: object}
	p.open = append(p.open, c)
	return c
}

// Lose leaves out a call at a place, and with it the result that refers to its id.
func (p *Past) Lose(at, id, why string) {
	p.answered()
	p.Leave(at, why)
	if id == "" {
		return
	}
	if p.lost == nil {
		p.lost = map[string]bool{}
	}
	p.lost[id] = true
}

// Result returns the id and the function of the call that a result at a place belongs to. A result without an id belongs to the first call
// without a result, of its function or, if it names no function, of any; if there is no such call, the id is "". ok is false if the result
// is left out with its call.
func (p *Past) Result(at, id, name string) (callID, function string, ok bool) {
	i := slices.IndexFunc(p.open, func(c llama.ToolCall) bool {
		return id == c.ID || id == "" && (name == "" || name == c.Name)
	})
	if i >= 0 {
		c := p.open[i]
		p.open = slices.Delete(p.open, i, i+1)
		return c.ID, c.Name, true
	}
	if p.lost[id] {
		p.Leave(at, "so is its call")
		return "", "", false
	}
	return id, name, true
}
