package tokens

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// completionRequest is what POST /completion reads: prompts, which the model goes on with.
type completionRequest struct {
	Prompt prompts `json:"prompt" wire:"required"`
	answering
}

// prompts are a text, a list of tokens and texts, or a list of these. A list of texts alone has several prompts, and of texts and tokens
// one.
type prompts struct {
	list []prompt
	many bool // the request has a list of them
}

// prompt is made of tokens and texts in a row. What looks like a special token in a text is text; tokens are taken as they are.
type prompt []stretch

// stretch is a text or, if that is nil, tokens.
type stretch struct {
	text   *string
	tokens []int
}

// ReadJSON reads any of the forms.
func (p *prompts) ReadJSON(at string, value json.RawMessage) error {
	if value[0] == '[' && bytes.ContainsAny(value[1:], `"[`) {
		list, err := wire.List(at, value)
		if err != nil {
			return err
		}
		if p.many = true; mixed(list) {
			p.many = false
		}
		if p.many {
			p.list = make([]prompt, len(list))
			for i, one := range list {
				if err := p.list[i].ReadJSON(fmt.Sprintf("%s[%d]", at, i), bytes.TrimSpace(one)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	p.list = make([]prompt, 1)
	return p.list[0].ReadJSON(at, value)
}

// mixed reports whether a list has a number: then it is one prompt.
func mixed(list []json.RawMessage) bool {
	for _, one := range list {
		if c := one[0]; c == '-' || c >= '0' && c <= '9' {
			return true
		}
	}
	return false
}

// ReadJSON reads one prompt.
func (p *prompt) ReadJSON(at string, value json.RawMessage) error {
	switch {
	case value[0] == '"':
		*p = prompt{{text: new(string)}}
		return wire.Decode(at, value, (*p)[0].text)
	case value[0] != '[':
		return wire.Invalid(at, "%s must be a string, or a list of tokens and strings", at)
	case !bytes.ContainsRune(value, '"'):
		*p = make(prompt, 1)
		if err := wire.Decode(at, value, &(*p)[0].tokens); err != nil {
			return err
		}
		if len((*p)[0].tokens) == 0 {
			return wire.Invalid(at, "%s is an empty list; it must have at least one token", at)
		}
		return nil
	}
	list, err := wire.List(at, value)
	if err != nil {
		return err
	}
	*p = make(prompt, len(list))
	for i, one := range list {
		within, s := fmt.Sprintf("%s[%d]", at, i), &(*p)[i]
		switch one[0] {
		case '"':
			s.text = new(string)
			err = wire.Decode(within, one, s.text)
		case 'n':
			err = wire.Invalid(within, "%s is null; it must be a token's number or a text", within)
		default:
			s.tokens = make([]int, 1)
			err = wire.Decode(within, one, &s.tokens[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// in returns the prompt's tokens, with the begin-of-text token first if it begins with a text and the model wants one.
func (p prompt) in(t *llama.Tokenizer, at string) (tokens []llama.Token, err error) {
	for i, s := range p {
		switch {
		case s.text != nil && i == 0:
			tokens = append(t.EncodeSpecial("", true), t.Encode(*s.text)...)
		case s.text != nil:
			tokens = append(tokens, t.EncodeContinuation(*s.text)...)
		}
		for j, n := range s.tokens {
			if n < 0 || n >= t.VocabSize() {
				at := fmt.Sprintf("%s[%d]", at, i+j)
				return nil, wire.Invalid(at, "%s is %d; it must be a token's number, 0 to %d", at, n, t.VocabSize()-1)
			}
			tokens = append(tokens, llama.Token(n))
		}
	}
	return tokens, nil
}

// Completion serves POST /completion.
func (a *API) Completion(w http.ResponseWriter, r *http.Request) error {
	var in completionRequest
	if err := a.Service.Read(w, r, answeringRules, &in); err != nil {
		return err
	}
	ctx := r.Context()
	if n := len(in.Prompt.list); n == 0 || n > a.Service.MaxAnswers {
		return wire.Invalid("prompt", "prompt has %d texts; it must have 1 to %d", n, a.Service.MaxAnswers)
	}
	params, err := in.params(ctx, a.Service)
	if err != nil {
		return err
	}
	m, err := a.Service.Open(ctx, a.name(in.Model))
	if err != nil {
		return err
	}
	defer m.Close()
	names := ask.NewFieldNames("prompt", "n_predict")
	if err := in.fit(ctx, m, &params, names); err != nil {
		return err
	}
	prompts := make([][]llama.Token, len(in.Prompt.list))
	for i, p := range in.Prompt.list {
		at := "prompt"
		if in.Prompt.many {
			at = fmt.Sprintf("prompt[%d]", i)
		}
		if prompts[i], err = a.Service.Encode(ctx, func() ([]llama.Token, error) { return p.in(m.Model.Tokenizer(), at) }); err != nil {
			return err
		}
	}
	return in.answer(ctx, w, m, prompts, in.Prompt.many, params, names)
}
