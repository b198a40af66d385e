package ask

import (
	"context"
	"net/http"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Tokens returns the tokens of a text.
func (m *Model) Tokens(ctx context.Context, text string) ([]llama.Token, error) {
	return m.service.Encode(ctx, func() ([]llama.Token, error) { return m.Model.Tokenizer().Encode(text), nil })
}

// Prompt renders a conversation with the model's chat template.
func (m *Model) Prompt(ctx context.Context, history []llama.Message, o llama.TemplateOptions, names FieldNames) ([]llama.Token, error) {
	return m.prompt(ctx, names, func() ([]llama.Token, error) { return m.Model.Tokenizer().Template(history, o) })
}

// prompt returns the tokens that render makes of a conversation.
func (m *Model) prompt(ctx context.Context, names FieldNames, render func() ([]llama.Token, error)) ([]llama.Token, error) {
	tokens, err := m.service.Encode(ctx, render)
	if err == nil {
		return tokens, nil
	}
	e := Explain(ctx, err, names)
	if e.Status == http.StatusInternalServerError { // the template refuses the conversation, in its own words
		e = wire.Invalid(names["history"], "the model's chat template: %s", trim(err))
	}
	return nil, e
}
