package main

import (
	"context"

	"github.com/antigravity-go/antigravity/llama"
)

// writing is what -write measures: from the same prompt both caches write greedily, each going on with its own text. It sums up all
// windows.
type writing struct {
	texts     int
	tokens    int // of each text
	equal     int // tokens before the first that differs, of all texts
	same      int // texts without a difference
	surprise  sample
	reference sample
}

// written is what the tested cache writes, in the form of -json.
type written struct {
	Tokens     int     `json:"tokens"`               // of each text
	Same       float64 `json:"same"`                 // part of the texts that are what the unlimited cache writes
	Equal      float64 `json:"equal_tokens"`         // tokens before the first that differs, on average
	Perplexity float64 `json:"perplexity"`           // of the texts, as the unlimited cache foresees them
	Reference  float64 `json:"reference_perplexity"` // of the unlimited cache's own texts
}

// result sums up; nil if nothing was written.
func (w *writing) result() *written {
	if w.texts == 0 {
		return nil
	}
	r := &written{Tokens: w.tokens, Same: float64(w.same) / float64(w.texts), Equal: float64(w.equal) / float64(w.texts)}
	r.Perplexity, _ = w.surprise.perplexity()
	r.Reference, _ = w.reference.perplexity()
	return r
}

// writeBoth lets both caches write n tokens after a prompt. What the tested one has written is then judged by the unlimited one, which
// sees all of it.
func (m *measurement) writeBoth(ctx context.Context, prompt []llama.Token, n int) error {
	want, likely, err := m.greedy(ctx, m.unlimited, prompt, n)
	if err != nil {
		return err
	}
	got, _, err := m.greedy(ctx, m.tested, prompt, n)
	if err != nil {
		return err
	}
	w := &m.writing
	w.texts, w.tokens = w.texts+1, n
	equal := 0
	for equal < n && got[equal] == want[equal] {
		equal++
	}
	w.equal += equal
	if equal == n {
		w.same++
	}
	w.reference = append(w.reference, likely...)
	if err := m.unlimited.Truncate(0); err != nil {
		return err
	}
	scores, err := m.unlimited.Score(ctx, append(append([]llama.Token(nil), prompt...), got...))
	if err != nil {
		return err
	}
	for _, s := range scores[len(prompt):] {
		w.surprise = append(w.surprise, -float64(s))
	}
	return nil
}

// greedy writes n tokens after a prompt, the likeliest each time, whatever ends an answer included. It returns them with the
// surprise that each was.
func (m *measurement) greedy(ctx context.Context, s *llama.Session, prompt []llama.Token, n int) (text []llama.Token, surprise sample, err error) {
	if err := s.Truncate(0); err != nil {
		return nil, nil, err
	}
	for next := prompt; len(text) < n; next = text[len(text)-1:] {
		if err := s.Prefill(ctx, next); err != nil {
			return nil, nil, err
		}
		logits, err := s.Logits()
		if err != nil {
			return nil, nil, err
		}
		p := newPrediction(logits)
		text, surprise = append(text, p.favourite), append(surprise, -p.log(p.favourite))
	}
	return text, surprise, nil
}
