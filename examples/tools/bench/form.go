package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// constraintMode says how far an answer is held to the form of -schema.
type constraintMode int

const (
	free     constraintMode = iota // not at all
	fitting                        // it fits, and tokens without an alternative are not chosen
	unforced                       // it fits, and every token is chosen
)

// String returns what the form adds to a test's name.
func (h constraintMode) String() string { return [...]string{"", "+schema", "+schema-unforced"}[h] }

// form is the form that answers are to have.
type form struct {
	constraint llama.Constraint
	guide      llama.LogitMask // nil: the model chooses
}

// newForm reads a schema and, unless its path is empty, the document that answers are led along.
func newForm(model *llama.Model, schema, document string) (*form, error) {
	text, err := os.ReadFile(schema)
	if err != nil {
		return nil, err
	}
	f := &form{}
	if f.constraint, err = constrain.JSONSchema(model.Tokenizer(), text); err != nil {
		return nil, fmt.Errorf("%s: %w", schema, err)
	}
	if document == "" {
		return f, nil
	}
	if text, err = os.ReadFile(document); err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, fmt.Errorf("%s: %w", document, err)
	}
	f.guide = newGuide(model, compact.String())
	return f, nil
}

// of returns the constraint of answers, and what leads them.
func (f *form) of(h constraintMode) (llama.Constraint, llama.LogitMask) {
	switch h {
	case fitting:
		return f.constraint, f.guide
	case unforced:
		return unforcing{f.constraint}, f.guide
	}
	return nil, nil
}

// unforcing is a constraint that foretells nothing.
type unforcing struct{ llama.Constraint }

func (c unforcing) Start() llama.Matcher { return unforcedMatcher{c.Constraint.Start()} }

type unforcedMatcher struct{ llama.Matcher }

func (m unforcedMatcher) Forced(dst []llama.Token) []llama.Token { return dst }
func (m unforcedMatcher) Clone() llama.Matcher                   { return unforcedMatcher{m.Matcher.Clone()} }

// newGuide returns a mask that makes the tokens likeliest that write a text, and then those that end an answer. It is safe for
// concurrent use.
func newGuide(model *llama.Model, text string) llama.LogitMask {
	tokenizer := model.Tokenizer()
	next := map[int]llama.Token{} // by how many bytes are written
	var token []byte
	at := 0
	for _, t := range tokenizer.EncodeContinuation(text) {
		next[at] = t
		token = tokenizer.AppendBytes(token[:0], t)
		at += len(token)
	}
	return llama.LogitMaskFunc(func(generated []llama.Token, logits []float32) error {
		var written []byte
		for _, t := range generated {
			written = tokenizer.AppendBytes(written, t)
		}
		if len(written) >= len(text) {
			for t := range logits {
				if model.IsEnd(llama.Token(t)) {
					logits[t] = math.MaxFloat32
				}
			}
			return nil
		}
		t, ok := next[len(written)]
		if !ok { // forced tokens cut the text elsewhere
			t = tokenizer.EncodeContinuation(text[len(written):])[0]
		}
		logits[t] = math.MaxFloat32
		return nil
	})
}
