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
	draft    int // tokens that an oracle proposes at a time; 0: no proposals
	mode     constraintMode
}

func (g generation) describe() result {
	return result{Test: "tg" + strconv.Itoa(g.tokens) + g.mode.String(), Sessions: g.sessions, Draft: g.draft}
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
	if g.draft > 0 {
		if err := prepareDrafts(ctx, list, g.draft); err != nil {
			return sample{}, err
		}
	}
	m.begin()
	defer m.end()
	began := precise.Now()
	if err := runAll(ctx, list, (*answerer).answer); err != nil {
		return sample{}, err
	}
	took := precise.Since(began)
	b.setting.Memory = b.model.MemoryUsage()
	tokens, accepted, forced := 0, 0, 0
	for _, a := range list {
		tokens += a.tokens
		accepted += a.accepted
		forced += a.forced
	}
	return sample{rate: float64(tokens) / took.Seconds(), perStep: float64(tokens) / float64(tokens-accepted), forced: float64(forced) / float64(tokens)}, nil
}

// prepareDrafts prepares for drafts: first the answers are generated without any, for the oracle to know them, and then with those of the
// oracle, for the sessions to find out how many are worth computing.
func prepareDrafts(ctx context.Context, list []*answerer, draft int) error {
	if err := runAll(ctx, list, (*answerer).answer); err != nil {
		return err
	}
	for _, a := range list {
		a.drafter = oracle{a.session.Tokens(), draft}
		if err := a.rewind(ctx); err != nil {
			return err
		}
	}
	if err := runAll(ctx, list, (*answerer).answer); err != nil {
		return err
	}
	for _, a := range list {
		if err := a.rewind(ctx); err != nil {
			return err
		}
	}
	return nil
}

// runAll lets all do something at once, each on a goroutine.
func runAll(ctx context.Context, list []*answerer, do func(*answerer, context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, a := range list {
		group.Go(func() error { return do(a, ctx) })
	}
	return group.Wait()
}

// oracle is a Drafter that knows what a conversation is going to be.
type oracle struct {
	text []llama.Token // the conversation to its end
	most int           // tokens proposed at a time
}

// Draft appends what comes after the context.
func (o oracle) Draft(dst, context []llama.Token) []llama.Token {
	at := min(len(context), len(o.text))
	return append(dst, o.text[at:min(at+o.most, len(o.text))]...)
}

// answerer is a session that generates an answer.
type answerer struct {
	session    *llama.Session
	start      []llama.Token // what the session holds before the answer
	tokens     int           // of the answer
	endless    llama.LogitMask
	drafter    llama.Drafter    // nil: nothing is proposed
	accepted   int              // proposals that the latest answer went on with
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
	a.accepted, a.forced = 0, 0
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
