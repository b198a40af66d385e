package pattern

import (
	"slices"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/charset"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// The tree is compiled from its end: before(n, k) returns the language of the texts that n followed by k matches. For example, (?!ab)[a-z]+
// as a whole is compiled so (All has every text):
//
//	nothing                       ε
//	[a-z]+, then nothing          [a-z]+
//	(?!ab), then [a-z]+           [a-z]+ without ab·All
//
// An assertion about the character before a place makes the language depend on that character: the context. All characters are divided into
// blocks that assertions do not distinguish, so that there is one language for each block and one for the beginning of the text. Before
// \bcat, with the blocks of word characters and of all others, they are
//
//	at the beginning of the text          cat
//	after a character of a word           nothing
//	after any other character             cat

// compiler makes expressions of trees.
//
// A context is the character before a place in the text: 0 is the beginning of the text, and 1+i a character of blocks[i].
type compiler struct {
	r        *regular.Arena
	alphabet Alphabet
	source   string
	blocks   []charset.Set // a partition of all characters: assertions do not distinguish the characters of a block
	sets     []spelled     // the sets that were met first
	steps    int
	err      error
}

// spelled is a set and its expression.
type spelled struct {
	set  charset.Set
	expr regular.Expr
}

// rest is the language of the texts that may follow, for each context.
type rest struct {
	of []regular.Expr
	// open says that the expressions may have All in them: of the strings that they have, only those count that the
	// alphabet can write. All is used rather than these because a union with All is simply All: once a text has matched,
	// nothing is left of the pattern.
	open bool
}

// newCompiler returns a compiler for a tree.
func newCompiler(r *regular.Arena, a Alphabet, source string, tree *node) *compiler {
	c := &compiler{r: r, alphabet: a, source: source, blocks: []charset.Set{charset.All()}}
	c.partition(tree, false)
	return c
}

// set returns the expression of one character of a set.
func (c *compiler) set(set charset.Set) regular.Expr {
	for _, s := range c.sets {
		if slices.Equal(s.set, set) {
			return s.expr
		}
	}
	e := c.alphabet.Set(c.r, set)
	if len(c.sets) < 16 {
		c.sets = append(c.sets, spelled{set, e})
	}
	return e
}

// char returns the expression of any character.
func (c *compiler) char() regular.Expr { return c.set(charset.All()) }

// partition refines the blocks so that each assertion below n holds for all characters of a block or for no character of it. In a loop,
// that includes look-aheads for one character.
func (c *compiler) partition(n *node, loop bool) {
	if !n.asserts {
		return
	}
	set := n.set
	switch n.op {
	case opLineBegin, opLineEnd, opBoundary, opBehind:
	case opAhead:
		var ok bool
		if set, _, ok = n.subs[0].one(opEnd); ok && loop {
			break
		}
		fallthrough
	default:
		for _, s := range n.subs {
			c.partition(s, loop || n.op == opRepeat && n.most == regular.Unbounded)
		}
		return
	}
	const most = 32
	var blocks []charset.Set
	for _, b := range c.blocks {
		for _, part := range []charset.Set{b.And(set), b.Minus(set)} {
			if len(part) > 0 {
				blocks = append(blocks, part)
			}
		}
	}
	if len(blocks) > most {
		c.err = tooComplex(c.source)
		return
	}
	c.blocks = blocks
}

// inside reports whether the character of a context is in set.
func (c *compiler) inside(context int, set charset.Set) bool {
	return context > 0 && set.Has(c.blocks[context-1][0].Low)
}

// whole returns the texts that the tree matches as a whole.
func (c *compiler) whole(tree *node) (regular.Expr, error) {
	k := c.before(tree, c.same(regular.Empty))
	return c.finish(k.of[0], k.open)
}

// somewhere returns the texts that the tree matches somewhere.
func (c *compiler) somewhere(tree *node) (regular.Expr, error) {
	k := c.same(regular.All)
	k.open = true
	k = c.before(tree, k)
	if k.uniform() && k.of[0] == regular.All {
		return c.finish(regular.All, true)
	}
	if slices.Max(k.of[1:]) == regular.None { // None is the smallest
		return c.finish(k.of[0], k.open)
	}
	char := c.char()
	chars := c.r.Star(char)
	if k.uniform() {
		return c.finish(c.r.Concat(chars, k.of[0]), k.open)
	}
	ways := []regular.Expr{k.of[0]}
	switch later := k.of[1:]; {
	case slices.Max(later) != slices.Min(later):
		for i, b := range c.blocks {
			ways = append(ways, c.r.Concat(chars, c.set(b), later[i]))
		}
	default:
		ways = append(ways, c.r.Concat(chars, char, later[0]))
	}
	return c.finish(c.r.Or(ways...), k.open)
}

// finish returns e, less what the alphabet cannot write.
func (c *compiler) finish(e regular.Expr, open bool) (regular.Expr, error) {
	if open {
		e = c.r.And(c.r.Star(c.char()), e)
	}
	if c.err == nil && c.r.Err() != nil {
		c.err = tooComplex(c.source)
	}
	if c.err != nil {
		return regular.None, c.err
	}
	return e, nil
}

// same returns e for each context.
func (c *compiler) same(e regular.Expr) rest {
	k := rest{of: make([]regular.Expr, 1+len(c.blocks))}
	for i := range k.of {
		k.of[i] = e
	}
	return k
}

// uniform reports whether the context does not matter.
func (k rest) uniform() bool { return slices.Min(k.of) == slices.Max(k.of) }

// each returns what f makes of each context's expression.
func (k rest) each(f func(context int, e regular.Expr) regular.Expr) rest {
	out := rest{make([]regular.Expr, len(k.of)), k.open}
	for i, e := range k.of {
		out.of[i] = f(i, e)
	}
	return out
}

// either returns the union of k and l.
func (c *compiler) either(k, l rest) rest {
	out := k.each(func(i int, e regular.Expr) regular.Expr { return c.r.Or(e, l.of[i]) })
	out.open = k.open || l.open
	return out
}

// step counts the nodes that are compiled, and reports whether there may be more.
func (c *compiler) step() bool {
	if c.steps++; c.steps > maxSteps && c.err == nil || c.r.Err() != nil {
		c.err = tooComplex(c.source)
	}
	return c.err == nil
}

// before returns what n followed by k matches.
func (c *compiler) before(n *node, k rest) rest {
	if !c.step() {
		return k
	}
	r := c.r
	if !n.asserts {
		if k.uniform() {
			if n.op == opRepeat && n.least == 0 && n.most == regular.Unbounded && n.subs[0].any() && (k.of[0] == regular.Empty || k.open && k.of[0] == regular.All) {
				all := c.same(regular.All)
				all.open = true
				return all
			}
			all := c.same(r.Concat(c.language(n), k.of[0]))
			all.open = k.open
			return all
		}
		empty, ends := c.split(n)
		var ways []regular.Expr
		for i, e := range ends {
			ways = append(ways, r.Concat(e, k.of[1+i]))
		}
		after := r.Or(ways...)
		return k.each(func(_ int, e regular.Expr) regular.Expr {
			if empty {
				return r.Or(after, e)
			}
			return after
		})
	}
	switch n.op {
	case opSeq:
		for i := len(n.subs) - 1; i >= 0; i-- {
			k = c.before(n.subs[i], k)
		}
		return k
	case opAlt:
		all := c.same(regular.None)
		for _, s := range n.subs {
			all = c.either(all, c.before(s, k))
		}
		return all
	case opRepeat:
		return c.repeated(n, k)
	case opAhead:
		all := c.same(regular.All)
		all.open = true
		ahead := c.before(n.subs[0], all)
		return k.each(func(i int, e regular.Expr) regular.Expr {
			if n.negative {
				return r.And(e, r.Not(ahead.of[i]))
			}
			return r.And(e, ahead.of[i])
		})
	}
	out := k.each(func(i int, e regular.Expr) regular.Expr { return c.followed(e, c.demand(n, i)) })
	out.open = k.open && n.op != opEnd
	return out
}

// A demand on the next character: bit 0 stands for the end of the text, bit 1+i for a character of blocks[i].
type demand uint64

const atEnd demand = 1

// anyNext demands nothing.
func (c *compiler) anyNext() demand { return 1<<(1+len(c.blocks)) - 1 }

// demand returns what an assertion demands of the following text in a context; it is 0 if the assertion does not hold.
func (c *compiler) demand(n *node, context int) demand {
	next := demand(0)
	for i := range c.blocks {
		if c.inside(1+i, n.set) {
			next |= 1 << (1 + i)
		}
	}
	holds := false
	switch n.op {
	case opEnd:
		return atEnd
	case opLineEnd:
		return next | atEnd
	case opBoundary:
		if c.inside(context, n.set) == n.negative {
			return next
		}
		return c.anyNext() &^ next
	case opNext:
		if n.edge {
			next |= atEnd
		}
		if n.negative {
			next = c.anyNext() &^ next
		}
		return next
	case opBegin:
		holds = context == 0
	case opLineBegin:
		holds = context == 0 || c.inside(context, n.set)
	case opBehind:
		holds = (context == 0 && n.edge || c.inside(context, n.set)) != n.negative
	}
	if holds {
		return c.anyNext()
	}
	return 0
}

// followed returns the strings of e that meet a demand.
func (c *compiler) followed(e regular.Expr, d demand) regular.Expr {
	switch d {
	case 0:
		return regular.None
	case c.anyNext():
		return e
	case atEnd:
		if c.r.Nullable(e) {
			return regular.Empty
		}
		return regular.None
	}
	ways := []regular.Expr{c.r.Concat(c.firsts(d), regular.All)}
	if d&atEnd != 0 {
		ways = append(ways, regular.Empty)
	}
	return c.r.And(e, c.r.Or(ways...))
}

// firsts returns the characters that meet a demand.
func (c *compiler) firsts(d demand) regular.Expr {
	var set charset.Set
	for i, b := range c.blocks {
		if d>>(1+i)&1 != 0 {
			set = set.Or(b)
		}
	}
	return c.set(set)
}

// language returns what n matches, which has no assertions.
func (c *compiler) language(n *node) regular.Expr {
	if !c.step() {
		return regular.None
	}
	switch n.op {
	case opSet:
		return c.set(n.set)
	case opText:
		return c.alphabet.Text(c.r, n.text)
	case opRepeat:
		return c.r.Repeat(c.language(n.subs[0]), n.least, n.most)
	}
	subs := make([]regular.Expr, len(n.subs))
	for i, s := range n.subs {
		subs[i] = c.language(s)
	}
	if n.op == opSeq {
		return c.r.Concat(subs...)
	}
	return c.r.Or(subs...)
}

// split returns whether n, which has no assertions, matches the empty text, and the texts that it matches which end with a
// character of each block.
func (c *compiler) split(n *node) (empty bool, ends []regular.Expr) {
	r := c.r
	ends = make([]regular.Expr, len(c.blocks))
	if !c.step() {
		return false, ends
	}
	if len(c.blocks) == 1 && n.op <= opText {
		ends[0] = c.language(n)
		return false, ends
	}
	switch n.op {
	case opSet:
		for i, b := range c.blocks {
			ends[i] = c.set(n.set.And(b))
		}
	case opText:
		last, _ := utf8.DecodeLastRuneInString(n.text)
		for i, b := range c.blocks {
			if b.Has(last) {
				ends[i] = c.language(n)
			}
		}
	case opSeq:
		empty = true
		all := regular.Empty
		for _, s := range n.subs {
			without, its := c.split(s)
			for i := range ends {
				e := r.Concat(all, its[i])
				if without {
					e = r.Or(e, ends[i])
				}
				ends[i] = e
			}
			empty = empty && without
			all = r.Concat(all, c.language(s))
		}
	case opAlt:
		for _, s := range n.subs {
			without, its := c.split(s)
			for i := range ends {
				ends[i] = r.Or(ends[i], its[i])
			}
			empty = empty || without
		}
	case opRepeat:
		if n.most == 0 {
			return true, ends
		}
		without, its := c.split(n.subs[0])
		most := n.most
		if most != regular.Unbounded {
			most--
		}
		before := r.Repeat(c.language(n.subs[0]), max(n.least-1, 0), most)
		for i := range ends {
			ends[i] = r.Concat(before, its[i])
		}
		empty = without || n.least == 0
	}
	return empty, ends
}
