package experiment

import (
	"context"
	"math"
	"time"

	"github.com/antigravity-go/antigravity/llama"
)

// measure reads the prompt and writes the answer, with the clock running.
func (e *experiment) measure(ctx context.Context) error {
	if err := e.warmUp(ctx); err != nil {
		return err
	}
	session, err := e.ready(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	c := e.config
	e.evicted.begin()
	defer func() { e.run.Evictions = e.evicted.end(e) }()
	defer func() { e.run.Memory = e.memory.list }()
	e.memory.cache = session.CacheUsage().PeakBytes // of the token that is forgotten
	e.sample(session, time.Now())

	e.progress(Reading, 0, c.Prompt)
	began := time.Now()
	if err := session.Prefill(ctx, arbitrary(e.model, c.Prompt)); err != nil {
		return err
	}
	resumed := time.Now()
	e.run.Reading = [2]float64{e.at(began), e.at(resumed)}
	e.progress(Reading, c.Prompt, c.Prompt)
	e.sample(session, resumed)

	e.run.Tokens = make([]float64, 0, c.Generate)
	err = answer(ctx, e.model, session, c.Generate, func(tokens int) {
		now := time.Now()
		if c.Handicap > 0 {
			now = spin(ctx, now, time.Duration(c.Handicap*float64(now.Sub(resumed))))
		}
		for range tokens {
			e.run.Tokens = append(e.run.Tokens, e.at(now))
		}
		e.progress(Generating, len(e.run.Tokens), c.Generate)
		if e.memory.due(now) {
			e.sample(session, now)
		}
		resumed = time.Now()
	})
	e.sample(session, time.Now())
	return err
}

// warmUp computes a few tokens, which touches the weights and makes the backend ready.
func (e *experiment) warmUp(ctx context.Context) error {
	session, err := e.model.NewSession(&llama.SessionOptions{KV: e.kv})
	if err != nil {
		return err
	}
	defer session.Close()
	const few = 2
	if session.Capacity() < 2*few {
		return nil
	}
	if err := session.Prefill(ctx, arbitrary(e.model, few)); err != nil {
		return err
	}
	return answer(ctx, e.model, session, few, func(int) {})
}

// ready opens the Config's session, and computes a token that is forgotten again: the first step of a session touches its memory.
func (e *experiment) ready(ctx context.Context) (*llama.Session, error) {
	session, err := e.session(e.model, e.config.Prompt+e.config.Generate)
	if err != nil {
		return nil, err
	}
	if err = session.Prefill(ctx, arbitrary(e.model, 1)); err == nil {
		err = session.Truncate(0)
	}
	if err != nil {
		session.Close()
		return nil, err
	}
	return session, nil
}

// answer generates tokens, the likeliest each time, and tells when some have come.
//
// Where the model ends its answer early, it goes on with the end forbidden. Until then nothing is forbidden: a mask needs all logits on the
// host, which is not how most answers are generated.
func answer(ctx context.Context, model *llama.Model, session *llama.Session, tokens int, came func(tokens int)) error {
	params := llama.Params{}
	for tokens > 0 {
		params.MaxTokens = tokens
		for piece, err := range session.Generate(ctx, nil, params) {
			if err == nil && piece.Stop == llama.ContextFull {
				err = llama.ErrContextFull
			}
			if err != nil {
				return err
			}
			if len(piece.Tokens) > 0 {
				tokens -= len(piece.Tokens)
				came(len(piece.Tokens))
			}
		}
		params.Mask = endless(model)
	}
	return nil
}

// endless returns a mask that forbids what ends an answer.
func endless(model *llama.Model) llama.LogitMask {
	var ends []llama.Token
	for t := range llama.Token(model.Config().VocabSize) {
		if model.IsEnd(t) {
			ends = append(ends, t)
		}
	}
	return llama.LogitMaskFunc(func(_ []llama.Token, logits []float32) error {
		for _, t := range ends {
			logits[t] = float32(math.Inf(-1))
		}
		return nil
	})
}

// tokenStep is the difference of neighbouring tokens' ids in a prompt: a prime, so that nearly every token occurs before one repeats.
const tokenStep = 7919

// arbitrary returns the first n tokens of an endless series.
func arbitrary(model *llama.Model, n int) []llama.Token {
	tokens := make([]llama.Token, n)
	for i := range tokens {
		tokens[i] = llama.Token(int64(i) * tokenStep % int64(model.Config().VocabSize))
	}
	return tokens
}

// spin lets time pass in work, as a slower program would, and returns the time at its end.
func spin(ctx context.Context, from time.Time, d time.Duration) time.Time {
	for {
		now := time.Now()
		if now.Sub(from) >= d || ctx.Err() != nil {
			return now
		}
	}
}
