package llama

import (
	"context"
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
	"golang.org/x/sync/errgroup"
)

// Embed returns for each text the mean of its last hidden states, after the final norm, scaled to unit length: [texts][HiddenSize].
// The texts are computed together, long ones in chunks. The begin-of-text token comes first where the model wants one; special
// tokens in the texts are inert, as in Tokenizer.Encode. A text that does not fit the model's context is a *ContextFullError, and
// one without tokens a *ParamError; then nothing is computed.
func (m *Model) Embed(ctx context.Context, texts ...string) ([][]float32, error) {
	return m.embedAll(ctx, nil, 0, texts)
}

// Embed is m.Embed with the adapter, whose changes are multiplied by scale; 0: 1.
func (a *Adapter) Embed(ctx context.Context, m *Model, scale float32, texts ...string) ([][]float32, error) {
	return m.embedAll(ctx, a, scale, texts)
}

// embedAll is Embed with an adapter, or none.
func (m *Model) embedAll(ctx context.Context, a *Adapter, scale float32, texts []string) ([][]float32, error) {
	if err := m.tokenizer.hasTexts(); err != nil {
		return nil, err
	}
	all := make([][]Token, len(texts))
	for i, text := range texts {
		tokens := append(m.tokenizer.EncodeSpecial("", true), m.tokenizer.Encode(text)...)
		if len(tokens) == 0 {
			return nil, &ParamError{fmt.Sprintf("text %d to embed", i), `""`, "one that has tokens"}
		}
		if context := m.config.ContextLength; len(tokens) > context {
			return nil, fmt.Errorf("embed text %d, which must be no longer than the %d tokens that the model was trained for: %w", i, context,
				&ContextFullError{Want: len(tokens), Room: context})
		}
		all[i] = tokens
	}
	vectors := make([][]float32, len(texts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(m.batch.most)
	for i, tokens := range all {
		g.Go(func() (err error) {
			if vectors[i], err = m.embedTokens(ctx, &SessionOptions{Capacity: len(tokens), Adapter: a, AdapterScale: scale}, tokens); err != nil {
				err = fmt.Errorf("embed text %d: %w", i, err)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return vectors, nil
}

// embedTokens is Embed for one text's tokens, in a session with options.
func (m *Model) embedTokens(ctx context.Context, o *SessionOptions, tokens []Token) ([]float32, error) {
	s, err := m.NewSession(o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	width := m.config.HiddenSize
	sum, rows := make([]float64, width), make([]float32, headRows*width)
	err = s.prefill(ctx, tokens, 0, func() (output, error) {
		return output{hide: true, each: func(x *tensor.Tensor) error {
			part := rows[:x.Shape().NumElements()]
			if err := backend.ReadFloats(m.device, x, part); err != nil {
				return err
			}
			for i, v := range part {
				sum[i%width] += float64(v)
			}
			return nil
		}}, nil
	})
	return unit(sum), err
}

// unit returns x scaled to length one; zeros stay zeros.
func unit(x []float64) []float32 {
	squares := 0.0
	for _, v := range x {
		squares += float64(v * v)
	}
	length := math.Sqrt(squares)
	if length == 0 {
		length = 1
	}
	result := make([]float32, len(x))
	for i, v := range x {
		result[i] = float32(v / length)
	}
	return result
}
