package llama

import "slices"

// drafting is how an answer uses its Drafter.
type drafting struct {
	drafter           Drafter // nil: nothing is proposed
	drafted, accepted int     // tokens proposed and computed, and those of them that the answer went on with
}

// start prepares for an answer.
func (d *drafting) start(drafter Drafter) { *d = drafting{drafter: drafter} }

// propose appends to run, which is the token that the answer goes on with, what the drafter expects to come next: no more than the
// conversation has room for, nor than left tokens where left is positive, the rest of Params.MaxTokens.
func (d *drafting) propose(run []Token, c *sequence, left int) []Token {
	if d.drafter == nil {
		return run
	}
	most := min(8, c.room()-1, c.options.Capacity-c.slots()-1)
	if left != 0 {
		most = min(most, left)
	}
	if most < 1 {
		return run
	}
	context := append(c.tokens, run...) // in the memory that the next token of the conversation takes anyway
	c.tokens = context[:len(c.tokens)]
	run = d.drafter.Draft(run, context)
	run = run[:min(len(run), 1+most)]
	if end := slices.IndexFunc(run[1:], func(t Token) bool {
		return t < 0 || int(t) >= c.model.config.VocabSize || c.model.IsEnd(t)
	}); end >= 0 {
		run = run[:1+end]
	}
	d.drafted += len(run) - 1
	return run
}
