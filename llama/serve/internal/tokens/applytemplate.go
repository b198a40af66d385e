package tokens

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openai"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// templateRequest is what POST /apply-template reads.
type templateRequest struct {
	Model    string               `json:"model"`
	Messages *openai.Conversation `json:"messages" wire:"required"` // as chat completions have them
	Tools    []openai.Tool        `json:"tools"`

	Variables ask.Variables `json:"chat_template_kwargs"`
	Opening   *bool         `json:"add_generation_prompt"` // false: the text ends without the opening of the model's turn
}

// ApplyTemplate serves POST /apply-template: the text that a chat's conversation becomes.
func (a *API) ApplyTemplate(w http.ResponseWriter, r *http.Request) error {
	var in templateRequest
	if err := a.Service.Read(w, r, nil, &in); err != nil {
		return err
	}
	m, err := a.open(r, in.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	conversation := tokenizeRequest{Messages: in.Messages, Tools: in.Tools, Variables: in.Variables, Opening: in.Opening}
	tokens, err := conversation.render(r, a.Service, m)
	if err != nil {
		return err
	}
	prompt := promptText(m.Model.Tokenizer(), tokens)
	if err := ask.RequestOf(r.Context()).Memory.Grow(2 * int64(len(prompt))); err != nil { // once as it is and once as JSON
		return err
	}
	m.Close() // a client that reads slowly must not keep the model from being given back
	return wire.Write(w, http.StatusOK, map[string]string{"prompt": prompt})
}

// promptText returns the text of a prompt's tokens, of special ones as the vocabulary writes them. Tokens that follow each other and stand for an
// image are "[N tokens of an image]".
func promptText(t *llama.Tokenizer, tokens []llama.Token) string {
	var text []byte
	size := llama.Token(t.VocabSize())
	for i, token := range tokens {
		if token >= size {
			if end := i + 1; end < len(tokens) && tokens[end] == token+1 {
				continue
			}
			begin := i
			for begin > 0 && tokens[begin-1] == tokens[begin]-1 && tokens[begin-1] >= size {
				begin--
			}
			text = fmt.Appendf(text, "[%d tokens of an image]", i+1-begin)
			continue
		}
		if t.Special(token) {
			text = append(text, t.Text(token)...)
		} else {
			text = t.AppendBytes(text, token)
		}
	}
	return strings.ToValidUTF8(string(text), "\ufffd")
}
