package pattern

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// repeated returns what a repetition of something with assertions, followed by k, matches.
func (c *compiler) repeated(n *node, k rest) rest {
	body := n.subs[0]
	if n.most == regular.Unbounded {
		if body.looks {
			return c.tempered(n, k)
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

// tempered returns what a repetition of one character with look-aheads before or behind it matches where nothing but the end of the
// text follows, as in ^((?!word).)*$. Then the look-aheads are asked at each character of what is repeated.
func (c *compiler) tempered(n *node, k rest) rest {
	r := c.r
	var looks []*node // before the character, then behind it
	behind, set := 0, (*node)(nil)
	simple := n.subs[0].op == opSeq && k.uniform() && k.of[0] == regular.Empty
	var offset int
	for _, s := range n.subs[0].subs {
		switch {
		case s.op == opAhead:
			looks = append(looks, s)
			offset = s.offset
			if set == nil {
				behind++
			}
		case s.op == opSet && set == nil:
			set = s
		case s.op == opText && len(s.text) > 0 && set == nil && len([]rune(s.text)) == 1:
			set = s
		default:
			simple = false
			offset = s.lookOffset(offset)
		}
	}
	if !simple || set == nil {
		if c.err == nil {
			c.err = &Error{c.source, "a look-ahead in an unbounded repetition that something follows", n.subs[0].lookOffset(offset), true}
		}
		return k
	}
	parts := []regular.Expr{r.Repeat(c.language(set), n.least, n.most)}
	all := c.same(regular.All)
	char := c.alphabet.Char(r)
	chars := r.Star(char)
	for i, look := range looks {
		ahead := c.before(look.subs[0], all)
		if !ahead.uniform() {
			if c.err == nil {
				c.err = &Error{c.source, "a look-ahead with ^ or \\b in an unbounded repetition", look.offset, true}
			}
			return k
		}
		bad := ahead.of[0]
		if !look.negative {
			bad = r.Not(bad)
		}
		if i < behind { // asked where a character follows
			parts = append(parts, r.Not(r.Concat(chars, r.And(bad, r.Concat(char, regular.All)))))
		} else { // asked where one was taken
			parts = append(parts, r.Not(r.Concat(chars, char, bad)))
		}
	}
	return c.same(r.And(parts...))
}

// lookOffset returns where in the pattern the first look-ahead below n is, or otherwise.
func (n *node) lookOffset(otherwise int) int {
	if n.op == opAhead {
		return n.offset
	}
	for _, s := range n.subs {
		if s.looks {
			return s.lookOffset(otherwise)
		}
	}
	return otherwise
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
	if n.op == opEnd || n.op == opLineEnd || n.op == opBoundary {
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
		empty, ends := c.split(n)
		for i := range count {
			_, d := s.of(i)
			for block, e := range ends {
				m[i*count+s.at(1+block, 0)] = c.followed(e, s.demands[d]&^atEnd)
				if s.demands[d] == c.anyNext() {
					m[i*count+s.at(1+block, 0)] = e
				}
			}
			if empty {
				m[i*count+i] = r.Or(m[i*count+i], regular.Empty)
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
