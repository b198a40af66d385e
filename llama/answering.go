package llama

import (
	"cmp"
	"context"
	"errors"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/llama/internal/sampling"
)

// An answer is a loop of three steps: next chooses a token, the caller gets it as a Piece, and append computes it. A step of append may
// compute further tokens ahead: those that a constraint forces, and those that a drafter proposes. A token that was computed ahead and is
// then chosen needs no step of its own. Proposals that are not chosen are taken back. For example, after "The" a drafter proposes "cat
// sat":
//
//	next     The, from the prompt's logits
//	append   a step of three rows: The cat sat
//	next     cat, from the logits of the first row
//	append   no step: cat was computed ahead
//	next     ran, from the logits of the second row
//	append   sat is taken back; a step that begins with ran

// answering is an answer in the making: how tokens are chosen, computed and turned into pieces. Its memory is the session's, and the next
// answer uses it again.
type answering struct {
	*guarded
	params       Params
	sampler      sampling.Sampler
	answer       answer
	drafting     drafting
	constraining constraining
	ranking      deviceRanking
	run          []Token         // the tokens of one step
	tokenTime    precise.Average // the time that choosing a token and computing it takes on the model's device
}

// generate is Generate for a prompt that begins with reused tokens, which are in the cache already, and goes on with the tokens in prompt.
// If generate returns an error, it also returns the piece to deliver with that error.
func (a *answering) generate(ctx context.Context, prompt []Token, reused int, p Params, how opening, yield func(Piece) bool) (Piece, error) {
	if err := p.validate(a.sequence.model.tokenizer); err != nil {
		return Piece{}, err
	}
	if err := checkDraft(p.Draft, a.sequence.model); err != nil {
		return Piece{}, err
	}
	tools, err := p.Template.toolNames()
	if err != nil {
		return Piece{}, err
	}
	c := &a.sequence
	if o := c.options; p.Adapter != nil && (p.Adapter != o.Adapter || cmp.Or(p.AdapterScale, 1) != o.AdapterScale) {
		return Piece{}, &ParamError{"Params.Adapter", "not the session's", "nil, or that of SessionOptions with its scale; answers of a Pool choose"}
	}
	stats := Stats{PromptTokens: reused + len(prompt), ReusedTokens: reused}
	before := c.usage
	final := func() Stats {
		stats.Evictions, stats.EvictedSlots = c.usage.Evictions-before.Evictions, c.usage.EvictedSlots-before.EvictedSlots
		stats.EvictionTime = c.usage.EvictionTime - before.EvictionTime
		stats.ThoughtTokens = a.answer.thoughtTokens
		stats.DraftedTokens, stats.AcceptedTokens = a.drafting.drafted, a.drafting.accepted
		stats.CacheSlots, stats.CacheCapacity = c.slots(), c.options.Capacity
		return stats
	}
	if err := a.with(func(c *sequence) error { return c.following.want(c, wants(p.Draft)) }); err != nil {
		return Piece{}, err
	}
	a.drafting.start(p.Draft)
	began, had := precise.Now(), len(c.tokens)
	if p.Progress != nil {
		defer func(before func()) { a.progress = before }(a.progress)
		a.reportProgress(p.Progress, PromptProgress{Total: stats.PromptTokens, Reused: reused, Done: reused})
	}
	err = a.prefill(ctx, prompt, reused, nil)
	if err == nil {
		err = a.with(func(c *sequence) error {
			if err := c.ensureLogits(); err != nil || c.logits.At != engine.Nowhere {
				return err
			}
			return c.model.tokenizer.emptyPrompt()
		})
	}
	stats.PrefillTime = precise.Since(began)
	if err != nil {
		stats.PromptTokens = reused + max(len(c.tokens)-had, 0)
		return Piece{Stats: final()}, err
	}
	a.params = p
	a.sampler.Start(p.samplingOf(c.model.tokenizer))
	a.answer.begun = how.begun
	a.answer.start(c.model.tokenizer, p.Stop, how.fresh, len(tools) > 0, tools, c.tokens)
	if c.model.tokenizer.calls.Family().Tags != nil {
		a.answer.parser.Schemas(p.Template.schemas())
	}
	if how.fresh {
		p.Constraint = thinkingConstraint(c.model, p.Constraint, p.Template.Thinking, c.tokens)
	}
	defer a.constraining.stop()
	if err := a.constraining.start(p.Constraint, c.model); err != nil {
		return Piece{Stats: final()}, err
	}
	a.sampler.Allowed = a.constraining.allowed
	if err := a.with(func(c *sequence) error { c.model.batch.Join(&c.job); return nil }); err != nil {
		return Piece{Stats: final()}, err
	}
	defer func() { c.model.batch.Leave(&c.job) }() // also when the loop's body panics
	err = a.decode(ctx, &stats, final, yield)
	// The answer may end with proposals in the cache that it did not take. After Close there is nothing left to tidy up.
	tidy := a.with(func(c *sequence) error { return c.settle() })
	if err == nil && !errors.Is(tidy, ErrClosed) {
		err = tidy
	}
	if err != nil {
		last := Piece{Stats: final()}
		a.answer.finish(&last)
		return last, err
	}
	return Piece{}, nil
}

// reportProgress calls report with from, and again after each step of the prompt from now on.
func (a *answering) reportProgress(report func(PromptProgress), from PromptProgress) {
	report(from)
	others, had := a.progress, len(a.sequence.tokens)
	a.progress = func() {
		if others != nil {
			others()
		}
		now := from
		now.Done += len(a.sequence.tokens) - had
		report(now)
	}
}

// decode generates the answer token by token. Each is delivered first, and then becomes part of the conversation.
func (a *answering) decode(ctx context.Context, stats *Stats, final func() Stats, yield func(Piece) bool) error {
	for {
		began := precise.Now()
		info := ChooseInfo{Began: began}
		piece, next, err := a.next(ctx, stats, &info)
		if err != nil {
			return err
		}
		chosen := precise.Since(began)
		if c := &a.sequence; c.trace.Choose != nil {
			info.Session, info.Took, info.Position, info.Token, info.End = c.number, chosen, len(c.tokens), next, len(piece.Tokens) == 0
			info.Ahead = !info.End && c.expects(next)
			c.trace.Choose(info)
		}
		stats.DecodeTime += chosen
		if piece.Stop != 0 {
			a.answer.finish(&piece)
			piece.Stats = final()
			if len(piece.Tokens) > 0 && a.sequence.expects(next) && a.drafting.proposed(&a.sequence) {
				piece.Stats.AcceptedTokens++ // append accepts it when it has been delivered
			}
		}
		goOn := yield(piece) && piece.Stop == 0
		if len(piece.Tokens) == 0 {
			return nil
		}
		// The token was delivered, so it becomes part of the conversation even when the loop is over.
		began = precise.Now()
		if err := a.append(next, goOn, stats); err != nil {
			return err
		}
		a.tokenTime.Add(chosen + precise.Since(began))
		if err := a.maybeEvict(true); err != nil || !goOn {
			return err
		}
		stats.DecodeTime += precise.Since(began)
	}
}

// append makes a token of the answer part of the conversation. Either it is the first of the tokens that were computed ahead, or it is
// computed now. If the answer goes on, the tokens that a constraint forces next and those that a drafter proposes after them are computed
// with it.
func (a *answering) append(t Token, goOn bool, stats *Stats) error {
	return a.with(func(c *sequence) error {
		if c.expects(t) {
			if a.drafting.proposed(c) {
				a.drafting.accept()
			}
			c.accept()
			return nil
		}
		if err := c.settle(); err != nil {
			return err
		}
		top, temperature := 0, float32(0)
		if !a.sampler.Changes() && a.params.Logprobs == 0 {
			top, temperature = a.sampler.Wants(c.config.VocabSize)
		}
		a.run = append(a.run[:0], t)
		a.drafting.learn(t)
		if goOn {
			most := min(c.room(), c.options.Capacity-c.slots()) - 1
			if a.params.MaxTokens > 0 {
				most = min(most, a.params.MaxTokens-stats.GeneratedTokens)
			}
			forced, all := a.constraining.ahead(most)
			n := c.undisturbed(c.memory.Whole(), len(forced))
			if a.run = append(a.run, forced[:n]...); all && n == len(forced) {
				a.run = a.drafting.propose(a.run, c, most-n, &a.constraining)
			}
			a.constraining.overlap(c.model.batch, len(a.run))
		}
		return c.answer(a.run, top, temperature)
	})
}

// next chooses a token, or takes a forced one, and makes the piece that delivers it. It fills in info's Constraint and Forced, the former
// only if there is a Trace.Choose.
func (a *answering) next(ctx context.Context, stats *Stats, info *ChooseInfo) (Piece, Token, error) {
	if err := ctx.Err(); err != nil {
		return Piece{}, 0, err
	}
	c := &a.sequence
	over, err := a.constraining.next()
	if c.trace.Choose != nil && a.constraining.matcher != nil {
		info.Constraint = precise.Since(info.Began)
	}
	if err != nil || over {
		return Piece{Stop: EndOfTurn}, 0, err
	}
	if c.room() == 0 {
		return Piece{Stop: ContextFull}, 0, nil
	}
	token, forced, err := a.constraining.take()
	info.Forced = forced
	if err == nil && !forced {
		if token, err = a.choose(); err == nil {
			if c.model.IsEnd(token) {
				return Piece{Stop: EndOfTurn}, 0, nil
			}
			err = a.constraining.chosen(token)
		}
	}
	if err != nil {
		return Piece{}, 0, err
	}
	if forced {
		stats.ForcedTokens++
	}
	a.sampler.Accept(int32(token))
	stats.GeneratedTokens++
	piece := Piece{Tokens: []Token{token}}
	if n := a.params.Logprobs; n > 0 {
		logits, err := a.needLogits()
		if err != nil {
			return Piece{}, 0, err
		}
		piece.Logprobs = []Logprobs{logprobs(logits, token, n, c.model.tokenizer)}
	}
	switch {
	case a.answer.add(token, &piece):
		piece.Stop, piece.StopString = StopString, a.answer.filter.Stopped
	case a.params.MaxTokens > 0 && stats.GeneratedTokens == a.params.MaxTokens:
		piece.Stop = MaxTokens
	}
	return piece, token, nil
}

// choose picks the next token. If the largest logits or probabilities decide, only those are copied to the host.
func (a *answering) choose() (Token, error) {
	if err := a.with((*sequence).ensureLogits); err != nil {
		return 0, err
	}
	if !a.sampler.Changes() && a.params.Logprobs == 0 {
		if token, ok, err := a.chooseOnDevice(); ok || err != nil {
			return token, err
		}
	}
	logits, err := a.logits()
	if err != nil {
		return 0, err
	}
	token, err := a.sampler.Choose(logits, toInt32(a.sequence.tokens)) // the sequence is not locked: a mask is the program's code
	return Token(token), err
}

// chooseOnDevice picks the next token by what the device finds. ok is false, and no token chosen, if the logits are not on the device.
func (a *answering) chooseOnDevice() (t Token, ok bool, err error) {
	c, err := a.lock()
	if err != nil {
		return 0, false, err
	}
	defer a.unlock()
	if c.logits.At != engine.OnDevice {
		return 0, false, nil
	}
	c.logits.Begin()
	a.ranking = deviceRanking{c, &a.sampler}
	token, err := a.sampler.ChooseFrom(&a.ranking, c.config.VocabSize)
	return Token(token), true, err
}
