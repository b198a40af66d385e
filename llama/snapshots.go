package llama

import (
	"context"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/kvcache"
)

// Recurrent layers cannot forget single tokens: whoever goes back in a conversation begins at a snapshot of their states (engine.States),
// and computes from there. This file chooses the places at which snapshots are worth their memory: those at which the next prompt may go on
// differently.
//
//	<|im_start|>user\nHello.<|im_end|>\n<|im_start|>assistant\nHello!<|im_end|>\n<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n
//	                                  ^                                        ^                                 ^
//
// An edited message, or another answer to a message, differs from the conversation a few tokens behind one of these ends.

// snapshotsApart is the fewest tokens between two snapshots that are worth the second one: a step with as many rows takes hardly longer
// than one.
const snapshotsApart = 16

// promptMarks returns the positions within a prompt that are worth snapshots: the ends of messages, and the prompt's own, before its last
// token, since the answer begins with that token's logits. had is how many tokens come before.
func promptMarks(m *Model, t []Token, had int) (marks []int) {
	latest := -snapshotsApart
	for i, token := range t[:max(len(t)-1, 0)] {
		if m.IsEnd(token) && i+1 >= latest+snapshotsApart {
			latest = i + 1
			marks = append(marks, had+latest)
		}
	}
	if end := len(t) - 1; end >= max(latest, 0)+snapshotsApart {
		marks = append(marks, had+end)
	}
	return marks
}

// markPrompt asks for snapshots of a prompt that is appended to the conversation.
func markPrompt(c *sequence, t []Token) {
	if had := len(c.tokens); c.model.weights.Recurrent() {
		c.memory.States.Mark(promptMarks(c.model, t, had), had+len(t))
	}
}

// catchUp computes again what recurrent layers do not have of the conversation, since a Truncate or a step that failed took them back to a
// snapshot. The results are the same.
func catchUp(ctx context.Context, c *sequence) error {
	n := c.memory.Computed()
	if n >= len(c.tokens)+len(c.ahead) {
		return nil
	}
	if n < c.evicted {
		return fmt.Errorf("%w: what recurrent layers know of %d tokens was lost, and cannot be computed again, since some of the first %d were evicted",
			kvcache.ErrBroken, len(c.tokens), c.evicted)
	}
	if err := c.memory.Cut(n); err != nil {
		return err
	}
	all := slices.Concat(c.tokens, c.ahead)
	guesses := c.job.Guesses
	c.job.Guesses = false
	defer func() { c.job.Guesses = guesses }()
	for n < len(all) {
		rows, err := c.run(ctx, all[n:], noOutput, false)
		if err != nil {
			return err
		}
		n += rows
	}
	c.latest = 0
	return nil
}

// usable returns how many of the first shared tokens of a conversation in the pool another one can begin with, if the conversation does not
// end there. If the model has recurrent layers, that is a snapshot's position. promised says that snapshots that are still to come count,
// too.
func (c *conversation) usable(shared int, promised bool) int {
	if !c.recurrent {
		return shared
	}
	n := 0
	for _, list := range [...][]int{c.snapshots, c.planned} {
		for _, at := range list {
			if at <= shared {
				n = max(n, at)
			}
		}
		if !promised {
			break
		}
	}
	return n
}

// ask asks a conversation that is being computed for a snapshot, if it has not come there.
func (c *conversation) ask(at int) {
	if c.recurrent && at > c.computed && !slices.Contains(c.asked, at) {
		c.asked, c.planned = append(c.asked, at), append(c.planned, at)
	}
}

// replaces reports whether a conversation is of as much use to others as another one that is its beginning.
func (c *conversation) replaces(beginning *conversation) bool {
	n := len(beginning.tokens)
	return len(c.tokens) == n || c.usable(n, false) > n-snapshotsApart
}
