// Package tokens serves how models cut texts into tokens, what conversations become, what a model's answers are like by default, and
// answers to prompts of tokens and texts: the parts of llama-server's interface that OpenAI's has nothing for, in the form that
// llama-server gave them.
package tokens

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openai"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// The interface has two halves: POST /tokenize turns a text or a conversation into tokens, and POST /detokenize turns tokens into a text.
// For example, with a Llama 3:
//
//	/tokenize    {"content": "Hi!"}                        {"tokens":[13347,0],"count":2}
//	/tokenize    {"content": "Hi!", "with_pieces": true}   {"tokens":[{"id":13347,"piece":"Hi"},{"id":0,"piece":"!"}],"count":2}
//	/detokenize  {"tokens": [13347, 0]}                    {"content":"Hi!"}
//
// Special tokens in a text are text. A token of half a character has its bytes as its piece: [240,159].

// API is the interface. Its methods are safe for concurrent use.
type API struct {
	Service *ask.Service
}

// open takes the model of a name, the first one for "".
func (a *API) open(r *http.Request, name string) (*ask.Model, error) {
	return a.Service.OpenAny(r.Context(), a.name(name))
}

// name returns a model's name, the first one's for "".
func (a *API) name(name string) string {
	if list := a.Service.Models.List(); name == "" && len(list) > 0 {
		return list[0].Name
	}
	return name
}

// tokenizeRequest is what POST /tokenize reads: a text, or a conversation.
type tokenizeRequest struct {
	Model      string               `json:"model"`
	Content    *string              `json:"content"`
	Messages   *openai.Conversation `json:"messages"` // as chat completions have them; with the opening of the model's turn behind them
	Tools      []openai.Tool        `json:"tools"`
	AddSpecial bool                 `json:"add_special"` // the begin-of-text token comes first, if the model wants one
	WithPieces bool                 `json:"with_pieces"`
	Variables  ask.Variables        `json:"chat_template_kwargs"`
	Opening    *bool                `json:"add_generation_prompt"` // false: the messages end without the opening of the model's turn
}

var tokenizeRules = wire.Rules{
	"parse_special": wire.Refused("what looks like a special token in a text from outside is text", "false"),
}

// piece is a token with its text; see text.
type piece struct {
	ID   llama.Token `json:"id"`
	Text any         `json:"piece"`
}

// Tokenize serves POST /tokenize.
func (a *API) Tokenize(w http.ResponseWriter, r *http.Request) error {
	var in tokenizeRequest
	if err := a.Service.Read(w, r, tokenizeRules, &in); err != nil {
		return err
	}
	switch {
	case in.Content == nil && in.Messages == nil:
		return wire.Missing("content", `a text; or "messages" must be there`)
	case in.Content != nil && in.Messages != nil:
		return wire.Invalid("messages", "messages stand beside content; a request has one of them")
	case in.Messages == nil && in.Tools != nil:
		return wire.Invalid("tools", "tools stand without messages")
	case in.Messages == nil && in.Opening != nil:
		return wire.Invalid("add_generation_prompt", "add_generation_prompt stands without messages")
	case in.Messages != nil && in.AddSpecial:
		return wire.Invalid("add_special", "add_special stands beside messages, for which the model's chat template says what comes first")
	}
	m, err := a.open(r, in.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	t := m.Model.Tokenizer()
	tokens, err := in.tokens(r, a.Service, m)
	if err != nil {
		return err
	}
	m.Close() // a client that reads slowly must not keep the model from being given back
	return in.write(w, t, tokens)
}

// write writes the tokens. With their texts, they are many times as long as the request.
func (in *tokenizeRequest) write(w http.ResponseWriter, t *llama.Tokenizer, tokens []llama.Token) error {
	out := wire.NewJSONWriter(w)
	out.Raw(`{"tokens":`)
	out.List(len(tokens), func(i int) {
		if token := tokens[i]; in.WithPieces {
			out.Value(piece{token, text(t, token)})
		} else {
			out.Int(int64(token))
		}
	})
	out.Raw(`,"count":`)
	out.Int(int64(len(tokens)))
	out.Raw("}")
	return out.End()
}

// tokens returns the tokens of the text or the conversation.
func (in *tokenizeRequest) tokens(r *http.Request, service *ask.Service, m *ask.Model) ([]llama.Token, error) {
	if in.Content == nil {
		return in.render(r, service, m)
	}
	return service.Encode(r.Context(), func() (tokens []llama.Token, err error) {
		t := m.Model.Tokenizer()
		if in.AddSpecial {
			tokens = t.EncodeSpecial("", true)
		}
		return append(tokens, t.Encode(*in.Content)...), nil
	})
}

// render returns the tokens of the conversation.
func (in *tokenizeRequest) render(r *http.Request, service *ask.Service, m *ask.Model) ([]llama.Token, error) {
	tools, err := openai.ReadTools("tools", in.Tools)
	if err != nil {
		return nil, err
	}
	if err := service.LeaveOut(r.Context(), append(in.Messages.LeftOut, tools.LeftOut...)); err != nil {
		return nil, err
	}
	names := ask.FieldNames{"history": "messages", "Params.Template.Tools[": "tools[", "tools": "tools"}
	in.Messages.AddNames(names)
	o := llama.TemplateOptions{Tools: tools.List, Vars: in.Variables.Values, Thinking: llama.Thinking(in.Variables.Thinking),
		NoOpening: in.Opening != nil && !*in.Opening}
	history, err := m.See(r.Context(), in.Messages.History, &in.Messages.Past, &o)
	if err != nil {
		return nil, err
	}
	return m.Prompt(r.Context(), history, o, names)
}

// text returns the text of a token, of a special one as the vocabulary writes it. If its bytes are no text by themselves, it returns them
// as numbers.
func text(t *llama.Tokenizer, token llama.Token) any {
	if t.Special(token) {
		return t.Text(token)
	}
	bytes := t.AppendBytes(nil, token)
	if utf8.Valid(bytes) {
		return string(bytes)
	}
	numbers := make([]int, len(bytes))
	for i, b := range bytes {
		numbers[i] = int(b)
	}
	return numbers
}

// detokenizeRequest is what POST /detokenize reads.
type detokenizeRequest struct {
	Model  string `json:"model"`
	Tokens []int  `json:"tokens" wire:"required"`
}

// Detokenize serves POST /detokenize. Special tokens are written as the vocabulary writes them, bytes that are no text as U+FFFD.
func (a *API) Detokenize(w http.ResponseWriter, r *http.Request) error {
	var in detokenizeRequest
	if err := a.Service.Read(w, r, nil, &in); err != nil {
		return err
	}
	m, err := a.open(r, in.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	var content string
	err = a.Service.ProcessText(r.Context(), func() error {
		content, err = in.text(m.Model.Tokenizer(), a.Service.MaxBody)
		return err
	})
	if err == nil { // for the text, once as it is and once as JSON
		err = ask.RequestOf(r.Context()).Memory.Grow(2 * int64(len(content)))
	}
	if err != nil {
		return err
	}
	m.Close() // as in Tokenize
	return wire.Write(w, http.StatusOK, map[string]string{"content": content})
}

// text returns the text of the tokens, of at most that many bytes.
func (in *detokenizeRequest) text(t *llama.Tokenizer, most int64) (string, error) {
	size := int64(0)
	var one []byte
	for i, n := range in.Tokens {
		if n < 0 || n >= t.VocabSize() {
			at := fmt.Sprintf("tokens[%d]", i)
			return "", wire.Invalid(at, "%s is %d; it must be a token's number, 0 to %d", at, n, t.VocabSize()-1)
		}
		one = t.AppendBytes(one[:0], llama.Token(n))
		if size += int64(len(one)); size > most {
			return "", wire.Invalid("tokens", "tokens are a text of more than %d bytes, which is the most that a request may have: send them in parts", most)
		}
	}
	var content strings.Builder
	var run []llama.Token // of tokens that are text
	for _, n := range in.Tokens {
		token := llama.Token(n)
		if t.Special(token) {
			content.WriteString(t.Decode(run...))
			content.WriteString(t.Text(token))
			run = run[:0]
			continue
		}
		run = append(run, token)
	}
	content.WriteString(t.Decode(run...))
	return content.String(), nil
}
