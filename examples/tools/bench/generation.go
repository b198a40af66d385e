package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/workload"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
	"golang.org/x/sync/errgroup"
)

// generation is the test of generating: sessions sessions do it at once, each on a goroutine, after prompts that differ, or that differ in
// the last token alone.
type generation struct {
	tokens   int // of each answer
	sessions int
	drafts   drafts
	mode     constraintMode
}

func (g generation) describe() result {
	return result{Test: "tg" + strconv.Itoa(g.tokens) + g.mode.String(), Sessions: g.sessions, Draft: g.drafts.oracle, Drafter: g.drafts.name, Accept: g.drafts.accept}
}

func (g generation) constrained() bool { return g.mode != free }

func (g generation) measureOnce(ctx context.Context, b *bench, m meter) (sample, error) {
	list := make([]*answerer, g.sessions)
	for i := range list {
		a, err := b.newAnswerer(ctx, i, g.tokens, list[0])
		if err != nil {
			return sample{}, err
		}
		defer a.session.Close()
		a.constraint, a.guide = b.form.of(g.mode)
		list[i] = a
	}
	plain := 0.
	if g.drafts.any() {
		var err error
		if plain, err = prepareDrafts(ctx, list, g.drafts, b.model.Config().VocabSize); err != nil {
			return sample{}, err
		}
	}
	m.begin()
	defer m.end()
	took, err := timed(ctx, list)
	if err != nil {
		return sample{}, err
	}
	b.setting.Memory = b.model.MemoryUsage()
	tokens, drafted, accepted, forced := 0, 0, 0, 0
	for _, a := range list {
		tokens += a.tokens
		drafted += a.drafted
		accepted += a.accepted
		forced += a.forced
	}
	return sample{
		rate: float64(tokens) / took, perStep: float64(tokens) / float64(tokens-accepted), forced: float64(forced) / float64(tokens),
		drafted: float64(drafted), accepted: float64(accepted), ofPlain: plain / took,
	}, nil
}

// timed lets all generate their answers, each on a goroutine, and returns how many seconds that took.
func timed(ctx context.Context, list []*answerer) (float64, error) {
	began := precise.Now()
	err := runAll(ctx, list, (*answerer).answer)
	return precise.Since(began).Seconds(), err
}

// runAll lets all do something at once, each on a goroutine.
func runAll(ctx context.Context, list []*answerer, do func(*answerer, context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, a := range list {
		group.Go(func() error { return do(a, ctx) })
	}
	return group.Wait()
}

// answerer is a session that generates an answer.
type answerer struct {
	session    *llama.Session
	start      []llama.Token // what the session holds before the answer
	tokens     int           // of the answer
	endless    llama.LogitMask
	drafter    llama.Drafter    // nil: nothing is proposed
	drafted    int              // proposals that were computed for the latest answer
	accepted   int              // those of them that it went on with
	constraint llama.Constraint // nil: no constraint
	guide      llama.LogitMask  // leads the choices under the constraint; nil: the model chooses
	forced     int              // tokens of the latest answer that had no alternative
	seed       uint64           // of the draws of the answer's tokens; 0: they are the likeliest ones
}

// newSession returns a session for conversations of a length.
func (b *bench) newSession(tokens int) (*llama.Session, error) {
	if most := b.model.Config().ContextLength; tokens > most {
		return nil, cli.Usagef("-depth %d makes conversations of up to %d tokens, and the model was trained for %d", b.depth, tokens, most)
	}
	return b.model.NewSession(&llama.SessionOptions{Capacity: tokens, KV: b.kv, Chunk: b.chunk})
}

// newAnswerer returns the i-th session of a test, which has read its prompt: the depth, and one token more, since nothing can be
// generated after no token. With -forks all but the first are forks of the first, but for that one token, and each draws its own answer.
func (b *bench) newAnswerer(ctx context.Context, i, tokens int, first *answerer) (*answerer, error) {
	length := b.depth + 1
	a := &answerer{start: workload.Tokens(b.model, i*length, (i+1)*length), tokens: tokens, endless: b.endless}
	if b.forks {
		a.seed = uint64(i) + 1
	}
	unread := a.start
	var err error
	if b.forks && i > 0 {
		copy(a.start, first.start[:b.depth])
		unread = a.start[b.depth:]
		a.session, err = first.session.Fork()
	} else {
		a.session, err = b.newSession(length + tokens)
	}
	if err != nil {
		return nil, err
	}
	if err = a.session.Truncate(length - len(unread)); err == nil {
		err = a.session.Prefill(ctx, unread)
	}
	if err != nil {
		a.session.Close()
		return nil, err
	}
	return a, nil
}

// answer generates the answer.
func (a *answerer) answer(ctx context.Context) error {
	return a.follow(ctx, func() bool { return true })
}

// follow is answer with a function that is called when a token has come, and returns whether to go on.
//
// If the model ends its answer early, it goes on with the end forbidden or, under a constraint, with another document. Until then nothing
// is forbidden: a mask needs all logits on the host, unlike most answers.
func (a *answerer) follow(ctx context.Context, came func() (more bool)) error {
	a.drafted, a.accepted, a.forced = 0, 0, 0
	params := llama.Params{MaxTokens: a.tokens, Draft: a.drafter, Constraint: a.constraint, Mask: a.guide}
	if a.seed != 0 {
		params.Temperature, params.TopK, params.Seed = 1, 40, a.seed
	}
	for params.MaxTokens > 0 {
		left := params.MaxTokens
		for piece, err := range a.session.Generate(ctx, nil, params) {
			if err == nil && piece.Stop == llama.ContextFull {
				err = llama.ErrContextFull
			}
			if err != nil {
				return err
			}
			a.drafted += piece.Stats.DraftedTokens
			a.accepted += piece.Stats.AcceptedTokens
			a.forced += piece.Stats.ForcedTokens
			left -= len(piece.Tokens)
			if len(piece.Tokens) > 0 && !came() {
				return nil
			}
		}
		params.MaxTokens = left
		if a.constraint == nil {
			params.Mask = a.endless
		}
	}
	return nil
}

// rewind goes back to the moment before the answer.
func (a *answerer) rewind(ctx context.Context) error {
	last := len(a.start) - 1
	if err := a.session.Truncate(last); err != nil {
		return fmt.Errorf("go back to before the answer: %w", err)
	}
	return a.session.Prefill(ctx, a.start[last:])
}
