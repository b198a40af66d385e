package pattern

import (
	"slices"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// A repetition of something without assertions is a repetition of an expression. With assertions, what the body may match depends on its
// situation: the character before it (the context), and the demand on the character after it. For example, (\ba|-)* matches "a-a"
// but not "aa", since no word begins between the two. With the demands left out, the matrix
// of languages between the situations before and after the body is
//
//	from \ to                  after a word character   after another
//	at the beginning           a                        -
//	after a word character     nothing                  -
//	after another character    a                        -
//
// Its closure, by Kleene's algorithm, is the loop (star). Look-aheads in the body are supported in two cases: for one character, as a
// demand on it (oneAhead), and in loops over single characters up to the end of the text (tempered).

// repeated returns what a repetition of something with assertions, followed by k, matches.
func (c *compiler) repeated(n *node, k rest) rest {
	body := n.subs[0]
	if n.most == regular.Unbounded {
		if body.looks {
			if e, ok := c.tempered(n, k); ok {
				return e
			}
			if body = body.oneAhead(); body.looks {
				if c.err == nil {
					c.err = &Error{Pattern: c.source, Construct: "a look-ahead for more than a character in an unbounded repetition", Offset: body.lookOffset(), Unsupported: true}
				}
				return k
			}
		}
		k = c.star(body, k)
	} else {
		end := k
		for range n.most - n.least {
			more := c.either(end, c.before(body, k))
			if c.err != nil || slices.Equal(more.of, k.of) {
				break
			}
			k = more
		}
	}
	for range n.least {
		before := c.before(body, k)
		if c.err != nil || slices.Equal(before.of, k.of) {
			break
		}
		k = before
	}
	return k
}

// oneAhead returns n with look-aheads for one character, or for the end of the text, as opNext.
func (n *node) oneAhead() *node {
	if !n.looks {
		return n
	}
	if n.op == opAhead {
		set, end, ok := n.subs[0].one(opEnd)
		if !ok {
			return n
		}
		next := assertion(opNext, set)
		next.negative, next.edge = n.negative, end
		return next
	}
	subs := make([]*node, len(n.subs))
	for i, s := range n.subs {
		subs[i] = s.oneAhead()
	}
	out := above(n.op, subs...)
	out.least, out.most = n.least, n.most
	return out
}

// lookOffset returns the offset in the pattern of the first look-ahead below n.
func (n *node) lookOffset() int {
	for n.op != opAhead {
		n = n.subs[slices.IndexFunc(n.subs, func(s *node) bool { return s.looks })]
	}
	return n.offset
}

// tempered compiles a repetition of one character with look-aheads before or behind it, if only the end of the text follows, as in
// ^((?!word).)*$. Then the look-aheads must hold at each character of the repetition. ok is false for all other repetitions.
func (c *compiler) tempered(n *node, k rest) (out rest, ok bool) {
	r := c.r
	if n.subs[0].op != opSeq || !k.uniform() || k.of[0] != regular.Empty {
		return k, false
	}
	var taken *node // the character
	var before, behind []*node
	for _, s := range n.subs[0].subs {
		switch {
		case s.op == opAhead && taken == nil:
			before = append(before, s)
		case s.op == opAhead:
			behind = append(behind, s)
		case taken == nil && (s.op == opSet || s.op == opText && utf8.RuneCountInString(s.text) == 1):
			taken = s
		default:
			return k, false
		}
	}
	if taken == nil {
		return k, false
	}
	parts := []regular.Expr{r.Repeat(c.language(taken), n.least, n.most)}
	char := c.char()
	chars := r.Star(char)
	refuse := func(look *node, where func(bad regular.Expr) regular.Expr) {
		ahead := c.before(look.subs[0], c.same(regular.All))
		ok = ok && ahead.uniform() // a ^ or a \b in it is too much
		bad := ahead.of[0]
		if !look.negative {
			bad = r.Not(bad)
		}
		parts = append(parts, r.Not(where(bad)))
	}
	ok = true
	for _, look := range before { // asked before a character that follows
		refuse(look, func(bad regular.Expr) regular.Expr { return r.Concat(chars, r.And(bad, r.Concat(char, regular.All))) })
	}
	for _, look := range behind { // asked after a character that was taken
		refuse(look, func(bad regular.Expr) regular.Expr { return r.Concat(chars, char, bad) })
	}
	return c.same(r.And(parts...)), ok
}

// situations are the pairs of a context and a demand that a matcher can be in between two parts of the body of a loop.
//
// A body without look-aheads leads from situation to situation: from one of them to another, it matches the texts of one language.
// A loop is then what leads from each to each over any number of others in between, which is Kleene's algorithm.
type situations struct {
	c       *compiler
	demands []demand // closed under intersection; the first one is no demand
}

// matrix says which texts lead from each situation to each; from·count+to.
type matrix []regular.Expr

func (s *situations) count() int                     { return (1 + len(s.c.blocks)) * len(s.demands) }
func (s *situations) at(context, d int) int          { return context*len(s.demands) + d }
func (s *situations) of(i int) (context, demand int) { return i / len(s.demands), i % len(s.demands) }

// star returns what any number of times body, followed by k, matches. body has no look-aheads.
func (c *compiler) star(body *node, k rest) rest {
	s := &situations{c: c, demands: []demand{c.anyNext()}}
	s.collect(body)
	for i := 0; i < len(s.demands) && c.step(); i++ {
		for _, d := range s.demands[:i] {
			if both := d & s.demands[i]; both != 0 && !slices.Contains(s.demands, both) {
				s.demands = append(s.demands, both)
			}
		}
	}
	if s.count() > 64 && c.err == nil {
		c.err = tooComplex(c.source)
	}
	if c.err != nil {
		return k
	}
	m := s.closure(s.matrix(body))
	count := s.count()
	out := k.each(func(context int, _ regular.Expr) regular.Expr {
		var ways []regular.Expr
		for to := range count {
			if e := m[s.at(context, 0)*count+to]; e != regular.None {
				behind, d := s.of(to)
				ways = append(ways, c.r.Concat(e, c.followed(k.of[behind], s.demands[d])))
			}
		}
		return c.r.Or(ways...)
	})
	return out
}

// collect notes what the assertions below n demand.
func (s *situations) collect(n *node) {
	if !n.asserts {
		return
	}
	for _, sub := range n.subs {
		s.collect(sub)
	}
	if n.op == opEnd || n.op == opLineEnd || n.op == opBoundary || n.op == opNext {
		for context := range 1 + len(s.c.blocks) {
			if d := s.c.demand(n, context); d != 0 && !slices.Contains(s.demands, d) {
				s.demands = append(s.demands, d)
			}
		}
	}
}

// identity is the matrix of the empty text.
func (s *situations) identity() matrix {
	count := s.count()
	m := make(matrix, count*count)
	for i := range count {
		m[i*count+i] = regular.Empty
	}
	return m
}

// matrix returns what n matches from situation to situation.
func (s *situations) matrix(n *node) matrix {
	c, r, count := s.c, s.c.r, s.count()
	m := make(matrix, count*count)
	if !c.step() {
		return m
	}
	c.steps += count
	if !n.asserts {
		empty, _ := c.split(n)
		for d := range s.demands {
			ends := s.ends(n, d)
			for context := range 1 + len(c.blocks) {
				i := s.at(context, d)
				for block, e := range ends {
					m[i*count+s.at(1+block, 0)] = e
				}
				if empty {
					m[i*count+i] = r.Or(m[i*count+i], regular.Empty)
				}
			}
		}
		return m
	}
	switch n.op {
	case opSeq:
		m = s.identity()
		for _, sub := range n.subs {
			m = s.product(m, s.matrix(sub))
		}
	case opAlt:
		for _, sub := range n.subs {
			m = s.sum(m, s.matrix(sub))
		}
	case opRepeat:
		body := s.matrix(n.subs[0])
		m = s.identity()
		if n.most == regular.Unbounded {
			m = s.closure(body)
		} else {
			for range n.most - n.least {
				if !c.step() {
					break
				}
				c.steps += count * count
				m = s.sum(s.identity(), s.product(body, m))
			}
		}
		for range n.least {
			if !c.step() {
				break
			}
			c.steps += count * count
			m = s.product(body, m)
		}
	default:
		for i := range count {
			context, d := s.of(i)
			if both := s.demands[d] & c.demand(n, context); both != 0 {
				m[i*count+s.at(context, slices.Index(s.demands, both))] = regular.Empty
			}
		}
	}
	return m
}

// ends returns the texts of n, which has no assertions and is not empty, that meet a demand and end with a character of each block.
func (s *situations) ends(n *node, d int) []regular.Expr {
	c, demanded := s.c, s.demands[d]
	switch {
	case demanded == c.anyNext():
	case n.op == opSet:
		for i, b := range c.blocks {
			if demanded>>(1+i)&1 == 0 {
				n = &node{op: opSet, set: n.set.Minus(b)}
			}
		}
	default:
		_, ends := c.split(n)
		for i, e := range ends {
			ends[i] = c.followed(e, demanded&^atEnd)
		}
		return ends
	}
	_, ends := c.split(n)
	return ends
}

func (s *situations) sum(a, b matrix) matrix {
	out := make(matrix, len(a))
	for i := range out {
		out[i] = s.c.r.Or(a[i], b[i])
	}
	return out
}

func (s *situations) product(a, b matrix) matrix {
	count := s.count()
	out := make(matrix, len(a))
	for i := range count {
		for via := range count {
			if a[i*count+via] == regular.None {
				continue
			}
			for j := range count {
				if b[via*count+j] != regular.None {
					out[i*count+j] = s.c.r.Or(out[i*count+j], s.c.r.Concat(a[i*count+via], b[via*count+j]))
				}
			}
		}
	}
	return out
}

// closure returns what any number of steps of m match.
func (s *situations) closure(m matrix) matrix {
	count, r := s.count(), s.c.r
	m = slices.Clone(m)
	for via := range count {
		around := r.Star(m[via*count+via])
		row := slices.Clone(m[via*count : via*count+count])
		for i := range count {
			to := m[i*count+via]
			if to == regular.None || !s.c.step() {
				continue
			}
			to = r.Concat(to, around)
			for j, from := range row {
				if from != regular.None {
					m[i*count+j] = r.Or(m[i*count+j], r.Concat(to, from))
				}
			}
		}
	}
	return s.sum(m, s.identity())
}
