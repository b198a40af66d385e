package experiment

import (
	"context"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/examples/tools/internal/workload"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
)

// stretch is how many tokens of a prompt are read at once: after each stretch memory is looked at, and somebody may want to know how much
// is read. It costs the logits of one token.
const stretch = 1024

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
	e.sample(session, precise.Now())

	prompt := workload.Tokens(e.model, 0, c.Prompt)
	e.progress(Reading, 0, c.Prompt)
	began := precise.Now()
	for read := range slices.Chunk(prompt, stretch) {
		if err := session.Prefill(ctx, read); err != nil {
			return err
		}
		e.progress(Reading, session.Position(), c.Prompt)
		e.sample(session, precise.Now())
	}
	resumed := precise.Now()
	e.run.Reading = [2]float64{e.at(began), e.at(resumed)}

	e.run.Tokens = make([]float64, 0, c.Generate)
	err = answer(ctx, e.model, session, c.Generate, func(tokens int) {
		now := precise.Now()
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
		resumed = precise.Now()
	})
	e.sample(session, precise.Now())
	return err
}

// warmTokens is how many tokens of the prompt are computed before the clock runs, if the processor computes: one chunk of a session.
const warmTokens = 256

// warmUp computes a part of the run in a session of its own, which touches all memory once. Other devices compute all of the prompt: they
// compile programs and try which are fastest, for each number of rows, and with OpenCL that may take minutes.
func (e *experiment) warmUp(ctx context.Context) error {
	c, few := e.config, min(e.config.Generate, 4)
	read := c.Prompt
	if e.run.Machine.Device == "" {
		read = min(read, warmTokens)
	}
	session, err := e.session(e.model, read+few)
	if err != nil {
		return err
	}
	defer session.Close()
	e.progress(Warming, 0, 1)
	if err := session.Prefill(ctx, workload.Tokens(e.model, 0, read)); err != nil {
		return err
	}
	if err := answer(ctx, e.model, session, few, func(int) {}); err != nil {
		return err
	}
	if n := session.CacheLen(); e.policy != eviction.None && n > 1 {
		session.Evict(n - 1) // a policy that cannot go so low returns an error, and nothing is lost
	}
	e.progress(Warming, 1, 1)
	return nil
}

// ready opens the Config's session, and computes a token that is forgotten again: the first step of a session touches its memory.
func (e *experiment) ready(ctx context.Context) (*llama.Session, error) {
	session, err := e.session(e.model, e.config.Prompt+e.config.Generate)
	if err != nil {
		return nil, err
	}
	if err = session.Prefill(ctx, workload.Tokens(e.model, 0, 1)); err == nil {
		err = session.Truncate(0)
	}
	if err != nil {
		session.Close()
		return nil, err
	}
	return session, nil
}

// answer generates tokens, the likeliest each time, and calls came as they come.
//
// If the model ends its answer early, it goes on with the end forbidden. Until then nothing is forbidden: a mask needs all logits on the
// host, unlike most answers.
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
		if tokens > 0 {
			params.Mask = workload.Endless(model)
		}
	}
	return nil
}

// spin lets time pass in work, as a slower program would, and returns the time at its end.
func spin(ctx context.Context, from time.Time, d time.Duration) time.Time {
	for {
		now := precise.Now()
		if now.Sub(from) >= d || ctx.Err() != nil {
			return now
		}
	}
}
