package tokenmask

import (
	"slices"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// counted is the mask of an expression that begins with a counted repetition, "up to 40 characters and a quote", for all bounds at once.
// Each text must have one number of repetitions. For each token, counted has how many repetitions the token holds. A token that ends among
// the repetitions may come if it holds no more than the upper bound; one that goes past them, if it also holds no fewer than the lower
// bound.
//
// Invariants: order holds the tokens of bits, those with fewer repetitions first; those that hold n begin at from[n]. ended are the tokens
// that go past the repetitions, and endedCount how many of these each holds. tail are the ends of tokens below the nodes at which the whole
// expression may be complete.
type counted struct {
	bits  []uint64 // nil: there are too few tokens for all this to be worth it, or a text has several numbers of repetitions
	order []int32
	from  [unlimited + 2]int32

	ended      []int32
	endedCount []uint8
	tail       *tails

	upTo [fewCounts]atomic.Pointer[[]uint64] // the tokens that hold up to this many repetitions; nil: not yet asked for
}

// unlimited is an upper bound that no token reaches, fewCounts the bounds below which sets of tokens are kept.
const (
	unlimited = maxToken + 1
	fewCounts = 17
)

// bytes returns about how much memory it takes.
func (c *counted) bytes() int {
	return 2048 + (1+fewCounts)*8*len(c.bits) + 4*len(c.order) + 5*len(c.ended) + c.tail.bytes()
}

// count returns the counted mask of e, for all bounds of the repetition that e begins with.
func (m *masks) count(e regular.Expr) *counted {
	loose := m.arena.Recount(e, 0, regular.Unbounded)
	c, ok := m.counts[loose]
	if ok {
		return c
	}
	if v := m.vocabulary; loose < v.own {
		v.mu.Lock()
		if c = v.counts[loose]; c == nil {
			c = v.count(m.arena.Clone(), e)
			v.counts[loose] = c
		}
		v.mu.Unlock()
	} else {
		print := m.arena.Fingerprint(loose)
		if c = v.recallCount(print); c == nil {
			if c = v.count(m.arena.Clone(), e); m.arena.Err() == nil {
				v.rememberCount(print, c)
			}
		}
		m.size += c.bytes()
	}
	m.counts[loose] = c
	return c
}

// count is masks.count, in an arena that nobody uses after it: the expressions for all the counts are of no further use.
func (v *Vocabulary) count(arena *regular.Arena, e regular.Expr) *counted {
	var plain mask
	var counts []uint8 // of each node that is come to: how many repetitions lead there
	var nodes, past []int32
	var pastCounts []uint8
	c := &counted{}
	type place struct {
		expr  regular.Expr
		count int
		ended bool
	}
	var path [maxToken + 1]place
	path[0].expr = arena.Recount(e, 0, unlimited)
	again := map[regular.Expr]regular.Class{} // see regular.Arena.Again
	for i := int32(1); int(i) < len(v.labels); {
		above := path[v.depths[i]-1]
		s := arena.Next(above.expr, v.labels[i])
		if s == regular.None {
			i = v.end[i]
			continue
		}
		at := place{s, above.count, above.ended}
		if !at.ended {
			on, known := again[above.expr]
			if !known {
				clear := false
				if on, clear = arena.Again(above.expr); !clear {
					return c
				}
				again[above.expr] = on
			}
			if at.ended = !on.Has(v.labels[i]); !at.ended {
				_, most, ok := arena.Counted(s)
				if !ok || most > unlimited-above.count || most < unlimited-above.count-1 {
					return c
				}
				at.count = unlimited - most
			}
		}
		path[v.depths[i]] = at
		if tokens := v.tokens(i); len(tokens) > 0 {
			plain.add(v, tokens)
			nodes, counts = append(nodes, i), append(counts, uint8(at.count))
			if at.ended {
				for _, t := range tokens {
					c.ended, c.endedCount = append(c.ended, t), append(c.endedCount, uint8(at.count))
				}
			}
		}
		if v.end[i] > i+1 && arena.Nullable(s) {
			past, pastCounts = append(past, i), append(pastCounts, uint8(at.count))
		}
		i++
	}
	if plain.bits == nil || arena.Err() != nil {
		return c
	}
	c.bits = plain.bits
	byCount := make([]int32, len(nodes))
	for i := range byCount {
		byCount[i] = int32(i)
	}
	slices.SortStableFunc(byCount, func(a, b int32) int { return int(counts[a]) - int(counts[b]) })
	n := 0
	for _, i := range byCount {
		for ; n <= int(counts[i]); n++ {
			c.from[n] = int32(len(c.order))
		}
		c.order = append(c.order, v.tokens(nodes[i])...)
	}
	for ; n < len(c.from); n++ {
		c.from[n] = int32(len(c.order))
	}
	c.tail = newCountedTails(v, past, pastCounts)
	return c
}

// allow adds to words the tokens that may come if between least and most repetitions are to be read, and then the symbols of then. scratch
// is memory, which it returns.
func (c *counted) allow(v *Vocabulary, least, most int, machine *grammar.Machine, then grammar.Set, words, scratch []uint64) []uint64 {
	most = min(most, unlimited)
	inside := c.bits
	switch {
	case most < fewCounts:
		inside = c.atMost(most)
	case int(c.from[most+1]) < len(c.order):
		scratch = append(scratch[:0], c.bits...)
		inside = scratch
		for _, t := range c.order[c.from[most+1]:] {
			inside[t/64] &^= 1 << (t % 64)
		}
	}
	if least > 0 {
		if len(scratch) == 0 || &inside[0] != &scratch[0] {
			scratch = append(scratch[:0], inside...)
			inside = scratch
		}
		for i, t := range c.ended {
			if int(c.endedCount[i]) < least {
				inside[t/64] &^= 1 << (t % 64)
			}
		}
	}
	for i, w := range inside {
		words[i] |= w
	}
	if c.tail != nil {
		c.tail.allow(machine, machine.After(then), words, least, most)
	}
	return scratch
}

// atMost returns the tokens that hold up to n repetitions, as a set.
func (c *counted) atMost(n int) []uint64 {
	if set := c.upTo[n].Load(); set != nil {
		return *set
	}
	set := make([]uint64, len(c.bits))
	for _, t := range c.order[:c.from[n+1]] {
		set[t/64] |= 1 << (t % 64)
	}
	c.upTo[n].Store(&set)
	return set
}
