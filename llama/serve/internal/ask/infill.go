package ask

import (
	"context"
	"slices"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Infill returns the prompt that asks a model for the text between two texts. If the model's vocabulary has no tokens for that, the error
// names the parameter param.
func (m *Model) Infill(ctx context.Context, before, after, param string) ([]llama.Token, error) {
	t := m.Model.Tokenizer()
	marks, ok := models.InfillTokens(t)
	if !ok {
		return nil, wire.Unsupported(param, "%s is not supported: the model's vocabulary has no tokens for filling in what is between two texts", param)
	}
	return m.service.Encode(ctx, func() ([]llama.Token, error) {
		return slices.Concat(t.EncodeSpecial("", true), []llama.Token{marks.Before}, t.EncodeContinuation(before), []llama.Token{marks.After},
			t.EncodeContinuation(after), []llama.Token{marks.Between}), nil
	})
}
