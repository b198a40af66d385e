package with

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
)

// Options say how a Model answers. Nil and the zero value are the good defaults.
type Options struct {
	// Name is how frameworks call the model; "": "antigravity".
	Name string
	// Pool answers, and stays open when the Model is closed. It must be of the same model. Nil: New makes a pool.
	Pool *llama.Pool
	// Params are the parameters that requests leave open. The zero value is greedy; llama.Model.Sampling returns those that the model's authors
	// recommend. Functions and forms of answers come with requests: Params.Constraint and Params.Template.Tools must be nil.
	Params llama.Params
	// Lossy accepts schemas with keywords that cannot be guaranteed, and leaves these out. It also accepts functions for a model that writes calls
	// in a way that cannot be held to schemas. Otherwise both are errors.
	Lossy bool
	// HideSchema does not show the schema of an answer to the model. Otherwise it stands at the end of the system message.
	HideSchema bool
	// Observe follows each answer, for traces and metrics, as llama/with/otel does. It must return the pieces of answer(ctx), or of a
	// context that is derived from ctx. Nil: nobody does.
	Observe func(ctx context.Context, answer func(context.Context) iter.Seq2[llama.Piece, error]) iter.Seq2[llama.Piece, error]
}

// Model is a model for frameworks. It is safe for concurrent use.
type Model struct {
	model   *llama.Model
	pool    *llama.Pool
	options Options
}

// New makes a Model. A model that gives no answers is an error that wraps llama.ErrUnsupported; embedders take a llama.Model as it is.
func New(model *llama.Model, o *Options) (*Model, error) {
	m := &Model{model: model}
	if o != nil {
		m.options = *o
	}
	if m.options.Name == "" {
		m.options.Name = "antigravity"
	}
	if p := &m.options.Params; p.Constraint != nil || p.Template.Tools != nil {
		return nil, errors.New("with: Options.Params has functions or a form of answers: requests bring them along, so it must have neither")
	}
	if m.pool = m.options.Pool; m.pool == nil {
		pool, err := model.NewPool(nil)
		if err != nil {
			return nil, fmt.Errorf("with: a pool for the model %s: %w", m.options.Name, err)
		}
		m.pool = pool
	}
	return m, nil
}

// Name returns how frameworks call the model.
func (m *Model) Name() string { return m.options.Name }

// Sees reports whether the model takes images.
func (m *Model) Sees() bool { return m.model.Inputs().Image }

// Request returns an empty request, with the parameters of Options.
func (m *Model) Request() *Request { return &Request{Params: m.options.Params} }

// Is returns an error if a request is for another model. A request that names no model is for this one.
func (m *Model) Is(name string) error {
	if name != "" && name != m.options.Name {
		return fmt.Errorf("with: there is no model %.100q: this one is %q", name, m.options.Name)
	}
	return nil
}

// Chat answers a request, piece by piece, as llama.Pool.Chat does. A request that cannot be answered is an error before the first piece. The
// sequence can be ranged over once.
func (m *Model) Chat(ctx context.Context, r *Request) iter.Seq2[llama.Piece, error] {
	params, history, err := m.prepare(ctx, r)
	if err != nil {
		return func(yield func(llama.Piece, error) bool) {
			yield(llama.Piece{}, fmt.Errorf("with: the model %s: %w", m.options.Name, err))
		}
	}
	answer := func(ctx context.Context) iter.Seq2[llama.Piece, error] { return m.pool.Chat(ctx, history, params) }
	if m.options.Observe != nil {
		return m.options.Observe(ctx, answer)
	}
	return answer(ctx)
}

// Answer answers a request, and returns the answer as one piece, as llama.Collect does.
func (m *Model) Answer(ctx context.Context, r *Request) (llama.Piece, error) {
	return llama.Collect(m.Chat(ctx, r))
}

// Close closes the pool that New made. The llama.Model stays open.
func (m *Model) Close() error {
	if m.options.Pool != nil {
		return nil
	}
	return m.pool.Close()
}

// schemaFollows introduces a schema to the model. Flint was taught these words.
const schemaFollows = "Answer in JSON of this schema:\n"

// showSchema returns the conversation with a schema at the end of its system message.
func showSchema(history []llama.Message, schema []byte) []llama.Message {
	shown := schemaFollows + string(schema)
	if len(history) == 0 || history[0].Role != llama.RoleSystem {
		return append([]llama.Message{{Role: llama.RoleSystem, Content: shown}}, history...)
	}
	system := history[0]
	if len(system.Parts) > 0 {
		system.Parts = append(append([]llama.Part(nil), system.Parts...), llama.Part{Text: "\n\n" + shown})
	} else {
		system.Content = strings.TrimLeft(system.Content+"\n\n"+shown, "\n")
	}
	return append([]llama.Message{system}, history[1:]...)
}
