package infer

import (
	"context"

	"github.com/antigravity-go/antigravity/llama"
)

// Text is a text to embed.
type Text struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Vector is a text's vector, of length 1: the mean of its last hidden states. See llama.Model.Embed.
type Vector struct {
	ID     string    `json:"id"`     // the text's
	Vector []float32 `json:"vector"` // [HiddenSize]
	Model  string    `json:"model"`  // llama.Model.Fingerprint of the model
}

func (Text) element()                {}
func (Vector) element()              {}
func (t Text) name() string          { return t.ID }
func (Text) concurrency(m Model) int { return 2 * m.sessions() }

// compute embeds the text.
func (t Text) compute(ctx context.Context, l *loaded) (Vector, measured, error) {
	leave, err := l.reserve(ctx)
	if err != nil {
		return Vector{}, measured{}, err
	}
	defer leave()
	vectors, err := l.model.Embed(ctx, t.Text)
	if err != nil {
		return Vector{}, measured{}, err
	}
	n := len(l.model.Tokenizer().Encode(t.Text))
	return Vector{ID: t.ID, Vector: vectors[0], Model: l.fingerprint}, measured{answers: []llama.Stats{{PromptTokens: n}}}, nil
}
