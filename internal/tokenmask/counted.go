package tokenmask

import (
	"math/bits"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// counted is the mask of an expression that begins with a counted repetition, "up to 40 characters and a quote", for all bounds at once.
// Each text must have one number of repetitions. For each token, counted has how many repetitions the token holds. A token that ends among
// the repetitions may come if it holds no more than the upper bound; one that goes past them, if it also holds no fewer than the lower
// bound.
//
// slice, if there is one, are tokens with characters that are a repetition each. Of the others, inside are those that end among the
// repetitions, ended those that go past them, with endedCount repetitions each. tail are the ends of tokens below the nodes at which the
// whole expression may be complete.
type counted struct {
	useful bool // false: there are too few tokens for all this to be worth it, or a text has several numbers of repetitions

	slice      *slice
	inside     *levels
	ended      []int32
	endedCount []uint8
	tail       *trie
}

// unlimited is an upper bound that no token reaches.
const unlimited = maxToken + 1

// bytes returns about how much memory it takes, without the slice.
func (c *counted) bytes() int { return 128 + c.inside.bytes() + 5*len(c.ended) + c.tail.bytes() }

// levels are tokens with a number each. It is immutable but for the sets that it remembers, and safe for concurrent use.
//
// Invariants: order has the tokens, those with smaller numbers first; those with n begin at from[n]. If there are many, bits has them as a
// set.
type levels struct {
	order []int32
	from  [unlimited + 1]int32
	bits  []uint64
	upTo  [fewCounts]atomic.Pointer[[]uint64] // those with numbers up to this one; nil: not yet asked for
}

// fewCounts are the bounds below which sets of tokens are kept.
const fewCounts = 17

// newLevels returns the tokens of a set, with a number for each entry of the vocabulary.
func newLevels(set []uint64, numbers []uint8) *levels {
	l := &levels{}
	tokens := func(yield func(id int32)) {
		for i, w := range set {
			for ; w != 0; w &= w - 1 {
				yield(int32(64*i + bits.TrailingZeros64(w)))
			}
		}
	}
	tokens(func(id int32) { l.from[int(numbers[id])+1]++ })
	for n := range len(l.from) - 1 {
		l.from[n+1] += l.from[n]
	}
	at := l.from
	l.order = make([]int32, at[len(at)-1])
	tokens(func(id int32) {
		n := numbers[id]
		l.order[at[n]] = id
		at[n]++
	})
	if len(l.order) >= manyTokens {
		l.bits = set
	}
	return l
}

// bytes returns about how much memory the levels take, at most.
func (l *levels) bytes() int {
	if l == nil {
		return 0
	}
	return 1280 + 4*len(l.order) + (1+fewCounts)*8*len(l.bits)
}

// add adds to words the tokens with numbers up to most.
func (l *levels) add(words []uint64, most int) {
	if l == nil {
		return
	}
	switch most = min(most, maxToken); {
	case l.bits == nil:
		addTokens(words, l.order[:l.from[most+1]])
	case int(l.from[most+1]) == len(l.order):
		addSet(words, l.bits)
	default:
		few := min(most, fewCounts-1)
		addSet(words, l.atMost(few))
		addTokens(words, l.order[l.from[few+1]:l.from[most+1]])
	}
}

// atMost returns the tokens with numbers up to n, as a set.
func (l *levels) atMost(n int) []uint64 {
	if set := l.upTo[n].Load(); set != nil {
		return *set
	}
	set := setOf(l.order[:l.from[n+1]], len(l.bits))
	l.upTo[n].Store(&set)
	return set
}

// setOf returns tokens as a set of this many words; addTokens and addSet add tokens to one.
func setOf(tokens []int32, words int) []uint64 {
	set := make([]uint64, words)
	addTokens(set, tokens)
	return set
}

func addTokens(words []uint64, tokens []int32) {
	for _, t := range tokens {
		words[t/64] |= 1 << (t % 64)
	}
}

func addSet(words, set []uint64) {
	words = words[:len(set)]
	for i, w := range set {
		words[i] |= w
	}
}

// count returns the counted mask of e, for all bounds of the repetition that e begins with.
func (m *masks) count(e regular.Expr) *counted {
	loose := m.arena.Recount(e, 0, regular.Unbounded)
	c, ok := m.counts[loose]
	if ok {
		return c
	}
	v := m.vocabulary
	print := m.arena.Fingerprint(loose)
	if c = v.recallCount(print); c == nil {
		if c = newCounted(v, m.arena.Clone(), e); m.arena.Err() == nil {
			v.rememberCount(print, c)
		}
	}
	m.size += c.bytes()
	m.counts[loose] = c
	return c
}

// newCounted is masks.count, in an arena that nobody uses after it: the expressions for all the counts are of no further use.
func newCounted(v *Vocabulary, arena *regular.Arena, e regular.Expr) *counted {
	type spot struct {
		expr  regular.Expr
		count int
		ended bool
	}
	begin := arena.Recount(e, 0, unlimited)
	if _, clear := arena.Again(begin); !clear || arena.Nullable(begin) {
		return &counted{}
	}
	single := singles(arena, begin, arena.Recount(e, 0, unlimited-1))
	c := &counted{slice: v.slice(freedom{kinds: single, length: unbounded})}
	t := v.whole
	if c.slice != nil {
		t = c.slice.rest
	}
	inside, counts := make([]uint64, v.words()), make([]uint8, v.size)
	tokens := 0
	take := func(id int32, count int) {
		inside[id/64] |= 1 << (id % 64)
		counts[id] = uint8(count)
		tokens++
	}
	var tails []entry
	var path [maxToken + 1]spot
	path[0].expr = begin
	again := map[regular.Expr]regular.Class{} // see regular.Arena.Again
	for i := int32(1); int(i) < len(t.labels); {
		depth := t.depths[i]
		above := path[depth-1]
		s := arena.Next(above.expr, t.labels[i])
		if s == regular.None {
			i = t.end[i]
			continue
		}
		at := spot{s, above.count, above.ended}
		if !at.ended {
			on, known := again[above.expr]
			if !known {
				clear := false
				if on, clear = arena.Again(above.expr); !clear {
					return &counted{}
				}
				again[above.expr] = on
			}
			if at.ended = !on.Has(t.labels[i]); !at.ended {
				_, most, ok := arena.Counted(s)
				if !ok || most > unlimited-above.count || most < unlimited-above.count-1 {
					return &counted{}
				}
				at.count = unlimited - most
			}
		}
		path[depth] = at
		here := t.tokens(i)
		next := i + 1
		plain := !at.ended && next < t.end[i] && t.kinds[i]&^single == 0 && s == arena.Recount(begin, 0, unlimited-at.count)
		if plain { // all below is repetitions
			next = t.end[i]
			for _, id := range t.within(i)[len(here):] {
				take(id, at.count+int(characters(v.Bytes(id)[depth:])))
			}
		}
		if at.ended {
			c.ended = append(c.ended, here...)
			for range here {
				c.endedCount = append(c.endedCount, uint8(at.count))
			}
		} else {
			for _, id := range here {
				take(id, at.count)
			}
		}
		if arena.Nullable(s) {
			for _, id := range t.within(i)[len(here):] {
				tails = append(tails, newEntry(v.Bytes(id)[depth:], id, uint8(at.count)))
			}
		}
		i = next
	}
	if c.slice == nil && tokens < manyTokens || len(tails) > maxTails || arena.Err() != nil {
		return &counted{}
	}
	c.useful = true
	c.inside = newLevels(inside, counts)
	if len(tails) > 0 {
		sortEntries(tails)
		c.tail = newTrie(tails, true)
	}
	return c
}

// singles returns the kinds of characters that each lead from begin to next.
func singles(arena *regular.Arena, begin, next regular.Expr) (k kinds) {
	for i, bytes := range begins {
		if leads(arena, begin, next, bytes) {
			k |= 1 << i
		}
	}
	return k
}

// leads reports whether each character that begins with one of these bytes leads from begin to next.
func leads(arena *regular.Arena, begin, next regular.Expr, bytes regular.Class) bool {
	var known map[visit]bool
	var after func(v visit, bytes regular.Class) bool
	after = func(v visit, bytes regular.Class) bool {
		for rest := bytes; rest != (regular.Class{}); {
			b := rest.Lowest()
			rest = rest.Without(b)
			to := visit{arena.Next(v.expr, b), v.at.after(b), 0}
			if to.at == start {
				if to.expr != next {
					return false
				}
				continue
			}
			fits, ok := known[to]
			if !ok {
				if known == nil {
					known = map[visit]bool{}
				}
				fits = to.expr != regular.None && after(to, regular.Range(to.at.low, to.at.high))
				known[to] = fits
			}
			if !fits {
				return false
			}
		}
		return true
	}
	return after(visit{expr: begin}, bytes)
}

// allow adds to words the tokens that may come if between least and most repetitions are to be read, and then the symbols of then.
func (c *counted) allow(v *Vocabulary, least, most int, machine *grammar.Machine, then grammar.Set, words []uint64) {
	most = min(most, unlimited)
	if c.slice != nil {
		c.slice.levels.add(words, most)
	}
	c.inside.add(words, most)
	for i, t := range c.ended {
		if n := int(c.endedCount[i]); n >= least && n <= most {
			words[t/64] |= 1 << (t % 64)
		}
	}
	if c.tail != nil {
		c.tail.allow(machine, machine.After(then), words, least, most)
	}
}
