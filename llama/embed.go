package llama

import (
	"context"
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
	"golang.org/x/sync/errgroup"
)

// Embed returns a vector for each text: [texts][HiddenSize]. The vector is made of the last hidden states, after the final norm, as the
// model's files say: their mean, or the state of the first or of the last token, which may be one that the tokenizer puts before or
// after a text; scaled to unit length, unless the files leave that out. Of a model whose files say nothing it is the mean, scaled.
//
// The texts are computed together, long ones in chunks. Special tokens in the texts are inert, as in Tokenizer.Encode. A text that does
// not fit the model's context, or that is longer than its files allow, is a *ContextFullError, and one without tokens a *ParamError;
// then nothing is computed.
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
		tokens := m.tokenizer.EncodeWhole(text)
		if len(tokens) == 0 {
			return nil, &ParamError{fmt.Sprintf("text %d to embed", i), `""`, "one that has tokens"}
		}
		if most := m.LongestText(); len(tokens) > most {
			return nil, fmt.Errorf("embed text %d, which must be no longer than the %d tokens that the model takes: %w", i, most,
				&ContextFullError{Want: len(tokens), Room: most})
		}
		all[i] = tokens
	}
	o := SessionOptions{Adapter: a, AdapterScale: scale}
	if m.files.Pipeline.Given { // vectors are compared with those that others computed, without rounding keys and values
		o.KV = tensor.F32
	}
	vectors := make([][]float32, len(texts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(m.batch.Most())
	for i, tokens := range all {
		g.Go(func() (err error) {
			o := o
			o.Capacity = len(tokens)
			if vectors[i], err = embedTokens(ctx, m, &o, tokens); err != nil {
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

// LongestText returns how many tokens a text to embed may have, or a query with a document, the special ones around them included.
func (m *Model) LongestText() int {
	if most := m.files.Pipeline.MaxTokens; most > 0 {
		return min(most, m.config.ContextLength)
	}
	return m.config.ContextLength
}

// embedTokens is Embed for one text's tokens, in a session with options.
func embedTokens(ctx context.Context, m *Model, o *SessionOptions, tokens []Token) ([]float32, error) {
	s, err := m.newSession(o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	width := m.config.HiddenSize
	p, rows := pooled{by: m.files.Pipeline.Pooling, sum: make([]float64, width)}, make([]float32, engine.GroupRows*width)
	err = s.prefill(ctx, tokens, 0, func() (engine.Output, error) {
		return engine.Output{Hide: true, Each: func(x *tensor.Tensor) error {
			part := rows[:x.Shape().NumElements()]
			if err := backend.ReadFloats(m.backend, x, part); err != nil {
				return err
			}
			p.add(part)
			return nil
		}}, nil
	})
	if m.files.Pipeline.Unscaled {
		return scaled(p.sum, float64(p.count)), err
	}
	return unit(p.sum), err
}

// pooled is the hidden states of a text's tokens, pooled.
type pooled struct {
	by    checkpoint.Pooling
	sum   []float64 // of the states that count
	count int       // of them
}

// add takes the states of the next tokens, one after another.
func (p *pooled) add(states []float32) {
	width := len(p.sum)
	switch {
	case p.by == checkpoint.FirstPooling && p.count > 0:
		return
	case p.by == checkpoint.FirstPooling:
		states = states[:width]
	case p.by == checkpoint.LastPooling:
		clear(p.sum)
		p.count, states = 0, states[len(states)-width:]
	}
	for i, v := range states {
		p.sum[i%width] += float64(v)
	}
	p.count += len(states) / width
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
	return scaled(x, length)
}

// scaled returns x divided by a number.
func scaled(x []float64, by float64) []float32 {
	result := make([]float32, len(x))
	for i, v := range x {
		result[i] = float32(v / by)
	}
	return result
}
