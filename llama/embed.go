package llama

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
	"golang.org/x/sync/errgroup"
)

// A vector is made in three steps: the model computes the hidden states of a text's tokens, pooled adds them up or takes one of them, and
// the result is scaled to length 1. In between, some models put dense layers (project). For example, with two tokens and states of two
// elements:
//
//	states                     [3 0] and [3 8]
//	their sum, as mean pooling [6 8]
//	the vector                 [0.6 0.8], since the length of [6 8] is 10
//	with Dimensions: 1         [1], since the sum is cut to [6] before it is scaled
//
// The mean needs no division: scaling makes up for it. Only models with dense layers, or without scaling, divide by the number of tokens.

// EmbedOptions say how texts become vectors. The zero value is what Model.Embed does.
type EmbedOptions struct {
	// Task is the purpose of the vectors, by its name in the model's files. It chooses the prompt that is put before each text. Every model
	// accepts "query" and "document", the two sides of a search; they are the same if the files have no prompts for them. "" is the task
	// that the files choose by default, which is usually no prompt.
	Task string
	// Dimensions is how many elements the vectors have: the first ones, scaled to unit length anew. It makes sense for models that were
	// trained so that the first elements say most (Matryoshka, arXiv 2205.13147). 0: all.
	Dimensions int
}

// Embed returns a vector for each text: [texts][HiddenSize], or of another length if the model's files put layers after pooling. The vector
// is made from the last hidden states, after the final norm, as the files say: their mean, or the state of the first or of the last token,
// which may be one that the tokenizer puts before or after a text, or several such vectors in one. It is scaled to unit length unless the files leave that out. If the
// files say nothing, it is the mean, scaled.
//
// The texts are computed together, and together with those of other goroutines; no vector depends on the company. Special tokens in the
// texts are inert, as in Tokenizer.Encode. A text that does not fit the model's context, or that is longer than its files allow, is a
// *ContextFullError, and one without tokens a *ParamError; then nothing is computed. A model with labels makes no vectors: the error
// wraps ErrUnsupported.
func (m *Model) Embed(ctx context.Context, texts ...string) ([][]float32, error) {
	return m.EmbedWith(ctx, EmbedOptions{}, texts...)
}

// EmbedWith is Embed with options. A task that the model does not know, and more dimensions than it has, are a *ParamError.
func (m *Model) EmbedWith(ctx context.Context, o EmbedOptions, texts ...string) ([][]float32, error) {
	e := embedding{model: m, options: o}
	return e.texts(ctx, texts)
}

// Embed is m.Embed with the adapter. Its changes are multiplied by scale; 0 means 1.
func (a *Adapter) Embed(ctx context.Context, m *Model, scale float32, texts ...string) ([][]float32, error) {
	e := embedding{model: m, adapter: a, scale: scale}
	return e.texts(ctx, texts)
}

// LongestText returns how many tokens a text to embed may have, or a query with a document, the special ones around them included. Of a model that makes
// vectors of tokens, a query and a document are counted apart, and this is the sum of what both may have.
func (m *Model) LongestText() int {
	if l := m.files.Pipeline.Late; l != nil {
		return l.Query.Length + l.Document.Length
	}
	if most := m.files.Pipeline.MaxTokens; most > 0 {
		return min(most, m.config.ContextLength)
	}
	return m.config.ContextLength
}

// embedding makes vectors of texts, with an adapter or without.
type embedding struct {
	model   *Model
	options EmbedOptions
	adapter *Adapter
	scale   float32
	skip    int       // how many tokens of a text do not count, since they are a prompt's
	types   [][]int32 // of the texts' tokens; nil: all 0
	seen    []int     // how many of each text's first tokens are seen; nil: all
}

// texts makes the vectors.
func (e *embedding) texts(ctx context.Context, texts []string) ([][]float32, error) {
	m := e.model
	prompt, err := e.check()
	if err != nil {
		return nil, err
	}
	if prompt != "" && m.files.Pipeline.Bare {
		e.skip = len(m.tokenizer.EncodeWhole(prompt)) - min(len(m.tokenizer.around.After()), 1)
	}
	all := make([][]Token, len(texts))
	for i, text := range texts {
		tokens := m.tokenizer.EncodeWhole(prompt + text)
		if len(tokens) == 0 {
			return nil, &ParamError{fmt.Sprintf("text %d to embed", i), `""`, "one that has tokens"}
		}
		if most := m.LongestText(); len(tokens) > most {
			return nil, fmt.Errorf("embed text %d, which must be no longer than the %d tokens that the model takes: %w", i, most,
				&ContextFullError{Want: len(tokens), Room: most})
		}
		all[i] = tokens
	}
	return e.tokens(ctx, all)
}

// check refuses options that the model cannot have, and returns the prompt before the texts.
func (e *embedding) check() (prompt string, err error) {
	m, p := e.model, &e.model.files.Pipeline
	if m.Kind() != Generator && m.Kind() != Embedder {
		return "", fmt.Errorf("%w: the model makes no vectors of texts; %s", ErrUnsupported, kinds[m.Kind()].does)
	}
	if err := m.tokenizer.hasTexts(); err != nil {
		return "", err
	}
	prompt, ok := p.Prompt(e.options.Task)
	if !ok {
		return "", &ParamError{"EmbedOptions.Task", fmt.Sprintf("%.100q", e.options.Task), "one of " + strings.Join(p.Tasks(), ", ")}
	}
	if most, n := vectorSize(m), e.options.Dimensions; n < 0 || n > most {
		return "", &ParamError{"EmbedOptions.Dimensions", n, fmt.Sprintf("1 to %d, or 0 for all", most)}
	}
	return prompt, nil
}

// vectorSize returns how many elements the vectors of a model's texts have.
func vectorSize(m *Model) int {
	if n := len(m.config.Dense); n > 0 {
		return m.config.Dense[n-1].Out
	}
	return m.config.HiddenSize * len(m.files.Pipeline.Poolings())
}

// tokens makes the vectors of texts that are tokens already.
func (e *embedding) tokens(ctx context.Context, texts [][]Token) ([][]float32, error) {
	m, p := e.model, &e.model.files.Pipeline
	pooled, err := e.pool(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(m.config.Dense) > 0 && len(texts) > 0 {
		if err := project(m, pooled); err != nil {
			return nil, err
		}
	}
	vectors := make([][]float32, len(texts))
	for i := range pooled {
		sum, by := pooled[i].vector()
		if n := e.options.Dimensions; n > 0 {
			sum = sum[:n]
		}
		if p.Unscaled {
			vectors[i] = scaled(sum, by)
		} else {
			vectors[i] = unit(sum)
		}
	}
	return vectors, nil
}

// pool computes texts and pools their states.
func (e *embedding) pool(ctx context.Context, texts [][]Token) ([]pooled, error) {
	if e.model.config.Whole {
		return e.poolTexts(ctx, texts)
	}
	return e.poolSessions(ctx, texts)
}

// project replaces pooled states by what the layers of a model that follow pooling make of them.
func project(m *Model, all []pooled) error {
	made, err := m.weights.Pooled(states(all), len(all))
	if err != nil {
		return fmt.Errorf("the layers that follow pooling: %w", err)
	}
	width := len(made) / len(all)
	for i := range all {
		all[i] = pooled{parts: []pooledPart{{sum: make([]float64, width)}}}
		all[i].add(made[i*width:][:width], width)
	}
	return nil
}

// poolSessions pools the states of texts by a model that reads them token by token: each in a session, several at once.
func (e *embedding) poolSessions(ctx context.Context, texts [][]Token) ([]pooled, error) {
	m := e.model
	o := SessionOptions{Adapter: e.adapter, AdapterScale: e.scale, Snapshots: NoSnapshots}
	if m.files.Pipeline.Given || m.config.Head.Given() { // vectors are compared with those that others computed, without rounding keys and values
		o.KV = tensor.F32
	}
	all := make([]pooled, len(texts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(m.batch.Most())
	for i, tokens := range texts {
		g.Go(func() (err error) {
			o := o
			o.Capacity = len(tokens)
			if all[i], err = poolTokens(ctx, m, &o, tokens, e.skip); err != nil {
				err = fmt.Errorf("embed text %d: %w", i, err)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return all, nil
}

// poolTokens pools the states of one text's tokens but the first skip, in a session with options.
func poolTokens(ctx context.Context, m *Model, o *SessionOptions, tokens []Token, skip int) (pooled, error) {
	s, err := newSession(m, o)
	if err != nil {
		return pooled{}, err
	}
	defer s.Close()
	p := newPooled(m, skip)
	err = s.prefill(ctx, tokens, 0, func() (engine.Output, error) { return p.output(m), nil })
	return p, err
}

// pooled is the hidden states of a text's tokens, pooled in one way or in several.
type pooled struct {
	skip  int // how many of the first states do not count: those of a prompt
	seen  int // states, those that do not count included
	parts []pooledPart
}

// pooledPart is states that are pooled in one way: their sum, what each element was largest, or one of them.
type pooledPart struct {
	by    model.Pooling
	sum   []float64
	count float64   // of the states, or of their weights
	each  []float32 // all of them, if they are not pooled
}

// poolings returns the ways in which the states of a model's texts are pooled.
func poolings(m *Model) []model.Pooling {
	if m.config.Head.Given() {
		return []model.Pooling{m.config.Head.Pooling}
	}
	return m.files.Pipeline.Poolings()
}

// newPooled prepares for a text's states.
func newPooled(m *Model, skip int) pooled {
	p := pooled{skip: skip}
	for _, by := range poolings(m) {
		p.parts = append(p.parts, pooledPart{by: by, sum: make([]float64, m.config.HiddenSize)})
	}
	return p
}

// output asks for the states of a text's tokens.
func (p *pooled) output(m *Model) engine.Output {
	width := m.config.HiddenSize
	rows := make([]float32, engine.GroupRows*width)
	return engine.Output{Hide: true, Each: func(x *tensor.Tensor) error {
		part := rows[:x.Shape().NumElements()]
		if err := backend.ReadFloats(m.backend, x, part); err != nil {
			return err
		}
		p.add(part, width)
		return nil
	}}
}

// add takes the states of the next tokens, one after another.
func (p *pooled) add(states []float32, width int) {
	first := p.seen
	p.seen += len(states) / width
	if hidden := min(max(p.skip-first, 0)*width, len(states)); hidden > 0 {
		first, states = first+hidden/width, states[hidden:]
	}
	if len(states) == 0 {
		return
	}
	for i := range p.parts {
		p.parts[i].add(states, width, first)
	}
}

// add takes states, the first of them being that of a text's token number first, counted from 0.
func (p *pooledPart) add(states []float32, width, first int) {
	switch p.by {
	case model.EachPooling:
		p.each = append(p.each, states...)
		return
	case model.FirstPooling:
		if p.count > 0 {
			return
		}
		states = states[:width]
	case model.LastPooling:
		clear(p.sum)
		p.count, states = 0, states[len(states)-width:]
	case model.MaxPooling:
		for i, v := range states {
			if p.count == 0 && i < width || float64(v) > p.sum[i%width] {
				p.sum[i%width] = float64(v)
			}
		}
		p.count = 1
		return
	case model.WeightedPooling:
		for i, v := range states {
			p.sum[i%width] += float64(float64(first+i/width+1) * float64(v))
		}
		for i := range len(states) / width {
			p.count += float64(first + i + 1)
		}
		return
	}
	for i, v := range states {
		p.sum[i%width] += float64(v)
	}
	p.count += float64(len(states) / width)
}

// divisor returns what the sum is divided by.
func (p *pooledPart) divisor() float64 {
	switch {
	case p.count == 0: // no state counts: the sum is 0
		return 1
	case p.by == model.RootPooling:
		return math.Sqrt(p.count)
	}
	return p.count
}

// vector returns a vector that is to be divided by a number.
func (p *pooled) vector() (x []float64, by float64) {
	if len(p.parts) == 1 {
		return p.parts[0].sum, p.parts[0].divisor()
	}
	for i := range p.parts {
		divisor := p.parts[i].divisor()
		for _, v := range p.parts[i].sum {
			x = append(x, v/divisor)
		}
	}
	return x, 1
}

// states returns the vectors of all texts, divided.
func states(all []pooled) (list []float32) {
	for i := range all {
		list = append(list, scaled(all[i].vector())...)
	}
	return list
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
