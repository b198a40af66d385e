package infer

import (
	"context"
	"errors"

	"github.com/antigravity-go/antigravity/llama"
)

// Continuations are texts that may go on after a prompt: answers to choose from, labels of a text.
type Continuations struct {
	ID string `json:"id"`
	Input
	Continuations []string `json:"continuations"`
}

// Scores say how likely the model finds continuations. See llama.Session.Rank.
type Scores struct {
	ID       string    `json:"id"`       // the continuations'
	Logprobs []float64 `json:"logprobs"` // of each continuation the natural logarithm of its probability: the sum of its tokens'
	Tokens   []int     `json:"tokens"`   // how many tokens each has
	Best     int       `json:"best"`     // which one is the likeliest, the first among equals
	Model    string    `json:"model"`    // llama.Model.Fingerprint of the model
}

func (Continuations) element()                {}
func (Scores) element()                       {}
func (c Continuations) name() string          { return c.ID }
func (Continuations) concurrency(m Model) int { return 2 * m.sessions() }

// compute scores the continuations.
func (c Continuations) compute(ctx context.Context, l *loaded) (Scores, measured, error) {
	if len(c.Continuations) == 0 {
		return Scores{}, measured{}, errors.New("there are no continuations: there must be one at least")
	}
	prompt, _, err := l.tokens(c.Input, llama.TemplateOptions{})
	if err != nil {
		return Scores{}, measured{}, err
	}
	leave, err := l.reserve(ctx)
	if err != nil {
		return Scores{}, measured{}, err
	}
	defer leave()
	session, err := l.model.NewSession(&l.session)
	if err != nil {
		return Scores{}, measured{}, err
	}
	defer session.Close()
	s := Scores{ID: c.ID, Model: l.fingerprint}
	if s.Logprobs, err = session.Rank(ctx, prompt, c.Continuations...); err != nil {
		return Scores{}, measured{}, err
	}
	for i, text := range c.Continuations {
		s.Tokens = append(s.Tokens, len(l.model.Tokenizer().EncodeContinuation(text)))
		if s.Logprobs[i] > s.Logprobs[s.Best] {
			s.Best = i
		}
	}
	return s, measured{answers: []llama.Stats{{PromptTokens: len(prompt)}}}, nil
}
