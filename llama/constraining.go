package llama

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/llama/internal/engine"
)

// constraining is how a session uses the Constraint of an answer: it finds the tokens that come next without a choice, and otherwise the
// tokens that may be chosen.
//
// The tokens that may be chosen are found on another goroutine while the step of the token before is computed: see overlap.
//
// Invariants while matcher is not nil and no call is under way: matcher has accepted the answer's tokens and then those of forced that were
// not taken; taken ≤ len(forced), and both are 0 if all were; more says that it is not known yet whether further ones are forced behind
// them, and then there are some that were not taken; while known, allowed, over and err say which tokens come next. While filling, the
// other goroutine alone uses matcher, set, allowed, over, err and panicked.
//
// For example, answers are {"ok":true} or {"ok":false}, and the tokens are {" ok ": true false and }:
//
//	start    look: the tokens {" ok ": are forced
//	next     no choice; take returns {"
//	         a step computes all three tokens, and overlap asks the matcher meanwhile: true and false are allowed
//	next     take returns ok, then ": without a step
//	next     a choice between true and false; chosen(true), and look: } is forced
//	next     take returns }
//	next     nothing is allowed but the end: over
type constraining struct {
	matcher Matcher // nil: anything may come next
	model   *Model  // the vocabulary and the end tokens are the model's

	forced []Token // without an alternative, in order
	taken  int     // the first of them are the answer's already
	more   bool

	known    bool
	set      TokenSet // of the tokenizer's vocabulary, in bits' memory
	bits     []uint64 // as many as the tokenizer or the model has entries, whichever has more
	allowed  []uint64 // [⌈vocab/64⌉]: the set with the end tokens, for all logits of the model; of bits
	over     bool     // the answer can only end
	err      error    // of Allowed
	panicked any      // by Allowed, on the other goroutine

	filling bool
	filled  chan struct{} // receives when filling is over
	fill    func()        // fillAside, kept to spare an allocation a token
}

// maxForced is about how many forced tokens are known in advance, and the most that a step computes behind the token that was chosen:
// with it they are as many rows as a step holds by default. More rows are not faster, and those who wait for a token of their own would
// wait longer.
const maxForced = engine.DefaultMost - 1

// start prepares for an answer of a model.
func (c *constraining) start(constraint Constraint, m *Model) error {
	c.stop()
	if constraint == nil {
		return nil
	}
	if c.filled == nil {
		c.filled, c.fill = make(chan struct{}, 1), c.fillAside
	}
	size, vocab := m.tokenizer.VocabSize(), m.config.VocabSize
	if words := (max(size, vocab) + 63) / 64; len(c.bits) != words {
		c.bits = make([]uint64, words)
	}
	clear(c.bits)
	c.set = TokenSet{words: c.bits[:(size+63)/64], size: size}
	c.allowed, c.model = c.bits[:(vocab+63)/64], m
	if c.matcher = constraint.Start(); c.matcher == nil {
		return errors.New("Params.Constraint: Start returned no Matcher")
	}
	return c.look()
}

// stop ends the answer, when nothing of it is under way on another goroutine any more, and keeps nothing but memory.
func (c *constraining) stop() {
	if c.filling {
		<-c.filled
	}
	*c = constraining{forced: c.forced[:0], bits: c.bits, filled: c.filled, fill: c.fill}
}

// look finds out which tokens are forced, when all that were known are taken.
func (c *constraining) look() error {
	c.forced, c.taken, c.more, c.known = c.forced[:0], 0, true, false
	for len(c.forced) < maxForced {
		from := len(c.forced)
		forced := c.matcher.Forced(c.forced)
		if len(forced) <= from {
			c.more = false
			return nil
		}
		c.forced = forced
		for _, t := range c.forced[from:] {
			if t < 0 || int(t) >= c.model.config.VocabSize || c.model.IsEnd(t) {
				return fmt.Errorf("Params.Constraint: token %d is forced, which is an end token or not in the vocabulary", t)
			}
			if err := c.accept(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *constraining) accept(t Token) error {
	if err := c.matcher.Accept(t); err != nil {
		return fmt.Errorf("Params.Constraint: %w", err)
	}
	return nil
}

// choice reports whether the next token is not forced.
func (c *constraining) choice() bool { return c.taken == len(c.forced) }

// take returns the next token of an answer if it is forced.
func (c *constraining) take() (t Token, ok bool, err error) {
	if c.choice() {
		return 0, false, nil
	}
	t = c.forced[c.taken]
	if c.taken++; c.choice() {
		if c.more {
			err = c.look()
		} else {
			c.forced, c.taken = c.forced[:0], 0
		}
	}
	return t, true, err
}

// chosen notes that the answer goes on with a token that was chosen.
func (c *constraining) chosen(t Token) error {
	if c.matcher == nil {
		return nil
	}
	if err := c.accept(t); err != nil {
		return err
	}
	return c.look()
}

// next finds out which tokens may be chosen, if the next token is a choice. over says that the answer can only end.
func (c *constraining) next() (over bool, err error) {
	if c.filling { // also if the next token is forced: the loop's body is to run while the matcher does not
		<-c.filled
		c.filling, c.known = false, true
		if c.panicked != nil {
			panic(c.panicked) // on the goroutine that ranges over the answer, as everything else of the program's that panics
		}
	}
	if c.matcher == nil || !c.choice() {
		return false, nil
	}
	if !c.known {
		c.ask()
		c.known = true
	}
	if c.err != nil {
		return false, fmt.Errorf("Params.Constraint: %w", c.err)
	}
	return c.over, nil
}

// errNoReturn is the error of an Allowed that ends its goroutine or panics.
var errNoReturn = errors.New("its Allowed did not return")

// ask asks the matcher which tokens may come next.
func (c *constraining) ask() {
	c.set.Clear()
	c.err = errNoReturn // until it has
	if c.err = c.matcher.Allowed(&c.set); c.err != nil {
		return
	}
	if rest := c.set.size % 64; rest != 0 {
		c.set.words[len(c.set.words)-1] &= math.MaxUint64 >> (64 - rest)
	}
	for _, t := range c.model.ends {
		c.allowed[t/64] &^= 1 << (t % 64)
	}
	empty := !slices.ContainsFunc(c.allowed, func(w uint64) bool { return w != 0 })
	switch c.over = empty && c.set.end; {
	case empty && !c.set.end:
		c.err = errors.New("it allows no token here, nor the end of the answer")
	case c.set.end:
		for _, t := range c.model.ends {
			c.allowed[t/64] |= 1 << (t % 64)
		}
	}
}

// fillAside asks the matcher on a goroutine of its own.
func (c *constraining) fillAside() {
	defer func() {
		c.panicked = recover()
		c.filled <- struct{}{}
	}()
	c.ask()
}

// leastOverlap is the shortest step during which a matcher is asked on another goroutine. Handing over takes some microseconds, which
// shorter steps would feel; and after such a step the matcher is asked just before the choice.
const leastOverlap = 500 * time.Microsecond

// overlap lets the matcher be asked, about the tokens after the forced ones, while a step of some rows is computed.
func (c *constraining) overlap(b *engine.Batch, rows int) {
	if c.matcher == nil || c.known || c.more || runtime.GOMAXPROCS(0) == 1 || b.Cost(rows) < leastOverlap {
		return
	}
	c.filling = true
	go c.fill()
}

// ahead returns the forced tokens that the next step computes behind the first of its tokens, at most most of them, and whether these
// are all that are forced.
func (c *constraining) ahead(most int) (forced []Token, all bool) {
	forced = c.forced[c.taken:]
	n := max(min(len(forced), most, maxForced), 0)
	return forced[:n], n == len(forced) && !c.more
}

// cut returns the beginning of a proposal for the tokens after the forced ones: as much of it as is allowed.
func (c *constraining) cut(proposal []Token) []Token {
	if c.matcher == nil || len(proposal) == 0 {
		return proposal
	}
	m := c.matcher.Clone()
	for i, t := range proposal {
		if m.Accept(t) != nil {
			return proposal[:i]
		}
	}
	return proposal
}
