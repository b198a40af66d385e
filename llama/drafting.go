package llama

import (
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
)

// drafting is how a session uses the Drafter of an answer: it asks for proposals, decides how many of their tokens to compute, and
// learns from how they turn out.
//
// Invariant: while open, the latest step's proposal began with first, drafted of its tokens were computed, and the answer has gone on
// with the first right of these.
type drafting struct {
	drafter           Drafter // nil: nothing is proposed
	drafted, accepted int     // tokens of the answer's drafts, and those of them that the answer went on with

	length          draftLength                  // of all answers of the session
	batch           *engine.Batch                // cost is computed from its costs
	certain         int                          // rows of the step that are computed with a draft or without, beyond the first
	cost, dearCosts func(rows int) time.Duration // rowCost and dearCost, kept to spare an allocation a token
	spent           precise.Average              // how long the drafter takes for a token of a proposal

	open   bool
	first  Token
	tokens int // drafted of the latest proposal
	right  int
}

// start prepares for an answer.
func (d *drafting) start(drafter Drafter) {
	d.drafter, d.drafted, d.accepted, d.open = drafter, 0, 0, false
}

// propose appends to run the tokens that the drafter expects next, at most most of them, as far as the constraint allows them and computing
// them is worth it. run is the answer's next token and the tokens that are forced after it.
func (d *drafting) propose(run []Token, c *sequence, most int, constraint *constraining) []Token {
	if d.drafter == nil {
		return run
	}
	d.batch, d.certain = c.model.batch, len(run)-1
	if d.cost == nil {
		d.cost, d.dearCosts = d.rowCost, d.dearCost
	}
	if most = min(most, maxDraft); most < 1 {
		return run
	}
	dear := d.spent.Mean*dearShare > d.cost(1)
	if dear { // decide first how many tokens are worth asking for
		if most = d.length.next(most, d.dearCosts); most == 0 {
			return run
		}
	}
	had, began := len(run), precise.Now()
	run = d.ask(run, c, most)
	took := precise.Since(began)
	proposal := run[had:]
	d.spent.Add(took / time.Duration(max(len(proposal), 1)))
	proposed := len(proposal)
	if end := slices.IndexFunc(proposal, func(t Token) bool {
		return t < 0 || int(t) >= c.model.config.VocabSize || c.model.IsEnd(t)
	}); end >= 0 {
		proposal = proposal[:end]
	}
	proposal = constraint.cut(proposal)
	if d.tokens, d.right = len(proposal), 0; !dear {
		d.tokens = d.length.next(len(proposal), d.cost)
	}
	if d.open = len(proposal) > 0; d.open {
		d.first = proposal[0]
	}
	d.drafted += d.tokens
	if c.trace.Draft != nil {
		c.trace.Draft(DraftInfo{c.number, began, took, proposed, d.tokens})
	}
	return run[:had+d.tokens]
}

// dearShare: a drafter is dear when a token of its proposals takes it more than this share of what a plain step takes. A smaller
// model is, looking a token up is not.
const dearShare = 32

// ask appends the drafter's proposal of up to most tokens to run.
func (d *drafting) ask(run []Token, c *sequence, most int) []Token {
	context := append(c.tokens, run...) // in the memory that the next token of the conversation takes anyway
	c.tokens = context[:len(c.tokens)]
	had := len(run)
	run = d.drafter.Draft(slices.Grow(run, most)[:had:had+most], context)
	return run[:min(len(run), had+most)]
}

// rowCost estimates how long a step takes that has rows rows in addition to those that are certain.
func (d *drafting) rowCost(rows int) time.Duration { return d.batch.Cost(d.certain + rows) }

// dearCost is rowCost with what the drafter takes.
func (d *drafting) dearCost(rows int) time.Duration {
	if plain := d.rowCost(rows); plain > 0 {
		return plain + time.Duration(rows-1)*d.spent.Mean
	}
	return 0
}

// learn lets length know how the latest proposal turned out, if there was one, now that next is the first token that was not accepted from it.
func (d *drafting) learn(next Token) {
	if !d.open {
		return
	}
	d.open = false
	if d.tokens == 0 && next == d.first {
		d.right = 1
	}
	d.length.observe(d.tokens, d.right)
}

// proposed reports whether the first of the tokens that were computed ahead is of the draft, and not a forced one before it.
func (d *drafting) proposed(c *sequence) bool { return d.open && len(c.ahead) <= d.tokens-d.right }

// accept notes that the answer went on with a token of the draft.
func (d *drafting) accept() {
	d.accepted++
	d.right++
}
