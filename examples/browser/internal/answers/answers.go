// Package answers has the three things that the page lets Flint do: chat, call functions and fill a form. It is the same code in a browser and in any
// other program, so that their answers can be compared.
package answers

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// The things to do.
const (
	Chat  = "chat"
	Calls = "calls"
	Form  = "form"
)

// Person is the form.
type Person struct {
	Name  string   `json:"name" jsonschema:"name of the person"`
	Age   int      `json:"age" jsonschema:"age in years"`
	City  string   `json:"city" jsonschema:"where the person lives"`
	Likes []string `json:"likes" jsonschema:"food the person likes"`
	Happy bool     `json:"happy" jsonschema:"whether the person is happy"`
}

// place and numbers are the arguments of the functions.
type place struct {
	City string `json:"city" jsonschema:"name of the city"`
}

type numbers struct {
	A int `json:"a" jsonschema:"first number"`
	B int `json:"b" jsonschema:"second number"`
}

// Answer is an answer that has come to its end.
type Answer struct {
	Text   string // in the order in which it came, with a line for each call
	Tokens int
	Digest string // SHA-256 of all tokens and, after each message of the model, of its last logits
}

// Model answers, one question at a time.
type Model struct {
	model   *llama.Model
	chat    *llama.Session
	history []llama.Message // of chat
	tools   []json.RawMessage
	calls   llama.Constraint
	schema  json.RawMessage
	fits    llama.Constraint
}

// New prepares a model.
func New(m *llama.Model) (*Model, error) {
	a := &Model{model: m}
	weather, err1 := constrain.Function[place]("get_weather", "Tells the weather in a city.")
	add, err2 := constrain.Function[numbers]("add", "Adds two numbers.")
	a.tools = []json.RawMessage{weather, add}
	calls, err3 := constrain.Tools(m.Tokenizer(), a.tools, constrain.ToolOptions{})
	schema, err4 := constrain.Schema[Person]()
	fits, err5 := constrain.JSONFor[Person](m.Tokenizer())
	chat, err6 := m.NewSession(nil)
	for _, err := range []error{err1, err2, err3, err4, err5, err6} {
		if err != nil {
			return nil, err
		}
	}
	a.calls, a.schema, a.fits, a.chat = calls, schema, fits, chat
	return a, nil
}

// Forget begins the chat anew.
func (a *Model) Forget() { a.history = nil }

// Ask answers a question: kind is Chat, Calls or Form. more gets each piece of the answer's text as soon as it is there; if it returns false, the answer
// ends there.
func (a *Model) Ask(ctx context.Context, kind, question string, more func(text string) bool) (Answer, error) {
	t := &teller{more: more, sum: sha256.New()}
	asked := llama.Message{Role: llama.RoleUser, Content: question}
	var err error
	switch kind {
	case Chat:
		history := append(a.history, asked)
		var said llama.Message
		if said, err = t.message(ctx, a.chat, history, llama.Params{MaxTokens: 300}); err == nil {
			a.history = append(history, said)
		}
	case Calls:
		err = a.callFunctions(ctx, t, asked)
	case Form:
		err = a.apart(func(s *llama.Session) error {
			_, err := t.message(ctx, s, []llama.Message{
				{Role: llama.RoleSystem, Content: "Answer in JSON of this schema:\n" + string(a.schema)}, asked,
			}, llama.Params{Constraint: a.fits, MaxTokens: 300})
			return err
		})
	default:
		err = fmt.Errorf("the page cannot do %q", kind)
	}
	return Answer{t.text.String(), t.tokens, hex.EncodeToString(t.sum.Sum(nil))}, err
}

// apart calls f with a session of its own.
func (a *Model) apart(f func(s *llama.Session) error) error {
	s, err := a.model.NewSession(nil)
	if err != nil {
		return err
	}
	defer s.Close()
	return f(s)
}

// callFunctions answers with the help of functions.
func (a *Model) callFunctions(ctx context.Context, t *teller, asked llama.Message) error {
	return a.apart(func(s *llama.Session) error {
		history := []llama.Message{asked}
		params := llama.Params{MaxTokens: 300, Template: llama.TemplateOptions{Tools: a.tools}, Constraint: a.calls}
		for range 4 { // a model that never stops calling is stopped
			said, err := t.message(ctx, s, history, params)
			if err != nil || len(said.ToolCalls) == 0 {
				return err
			}
			history = append(history, said)
			for _, c := range said.ToolCalls {
				result, err := call(c)
				if err != nil {
					return err
				}
				t.say(fmt.Sprintf("%s(%s) = %s\n", c.Name, c.Arguments, result))
				history = append(history, llama.Message{Role: llama.RoleTool, Content: result, ToolCallID: c.ID})
			}
		}
		return nil
	})
}

// call calls a function. Its arguments fit: the constraint sees to that.
func call(c llama.ToolCall) (string, error) {
	switch c.Name {
	case "get_weather":
		var p place
		err := json.Unmarshal(c.Arguments, &p)
		return fmt.Sprintf(`{"sky":"sunny","temperature":%d}`, 10+len(p.City)), err
	case "add":
		var n numbers
		err := json.Unmarshal(c.Arguments, &n)
		return fmt.Sprintf(`{"result":%d}`, n.A+n.B), err
	}
	return "", fmt.Errorf("there is no function %q", c.Name)
}

// teller hands an answer over as it comes, and notes what it was.
type teller struct {
	more   func(text string) bool
	text   strings.Builder
	tokens int
	sum    hash.Hash
	left   bool // nobody wants more
}

// say hands a text over.
func (t *teller) say(text string) {
	t.text.WriteString(text)
	t.left = t.left || !t.more(text)
}

// message computes one message of the model.
func (t *teller) message(ctx context.Context, s *llama.Session, history []llama.Message, p llama.Params) (said llama.Message, err error) {
	for piece, err := range s.Chat(ctx, history, p) {
		if err != nil {
			return said, err
		}
		for _, token := range piece.Tokens {
			t.sum.Write(binary.LittleEndian.AppendUint32(nil, uint32(token)))
			t.tokens++
		}
		if piece.Text != "" {
			t.say(piece.Text)
		}
		if t.left {
			return said, context.Canceled
		}
		said = piece.Message
	}
	logits, err := s.Logits()
	if err == nil {
		err = binary.Write(t.sum, binary.LittleEndian, logits)
	}
	return said, err
}
