package infer

import (
	"context"

	"github.com/antigravity-go/antigravity/llama"
)

// Text is a text to embed.
type Text struct {
	ID         string `json:"id"`
	Text       string `json:"text"`
	Task       string `json:"task,omitempty"`       // llama.EmbedOptions.Task: "query" or "document", or another one that the model names
	Dimensions int    `json:"dimensions,omitempty"` // of the vector; 0: all
}

// Vector is a text's vector, as the model's files say that it is made. See llama.Model.EmbedWith.
type Vector struct {
	ID     string    `json:"id"` // the text's
	Vector []float32 `json:"vector"`
	Model  string    `json:"model"` // llama.Model.Fingerprint of the model
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
	vectors, err := l.model.EmbedWith(ctx, llama.EmbedOptions{Task: t.Task, Dimensions: t.Dimensions}, t.Text)
	if err != nil {
		return Vector{}, measured{}, err
	}
	n := len(l.model.Tokenizer().EncodeWhole(t.Text))
	return Vector{ID: t.ID, Vector: vectors[0], Model: l.fingerprint}, measured{answers: []llama.Stats{{PromptTokens: n}}}, nil
}
