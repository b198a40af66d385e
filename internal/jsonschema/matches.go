package jsonschema

import "github.com/antigravity-go/antigravity/internal/grammar"

// Bounds of what counts matches.
const (
	maxMatches = 3
	maxStates  = 20_000
)

// matchesForm is arrays in which elements are counted that are something. Its states are numbers of elements, up to one from which on it
// does not matter, and counts of matches.
type matchesForm struct {
	rules       []matchRule
	counts      []int     // each count is kept up to here
	variants    [][]*node // of each element, the last one for all that follow: by the set of rules that it matches; nil: impossible
	least, most int
	last        int // numbers of elements from here on are one state
	can         []bool
}

// finishMatches adds the form of arrays that have contains.
func (c *compiler) finishMatches(sh *shape, f *arrayForm, lits func(int) []lit, forms *[]form) {
	m := &matchesForm{rules: sh.matches, least: f.least, most: f.most}
	if m.last = max(len(f.prefix), f.least); f.most < unlimited {
		m.last = f.most
	}
	states := float64(m.last + 1)
	for _, r := range m.rules {
		count := r.least
		if r.most < unlimited {
			count = r.most
		}
		if r.least > r.most {
			return
		}
		m.counts = append(m.counts, count)
		states *= float64(count + 1)
	}
	if len(m.rules) > maxMatches || states > maxStates {
		c.tooComplex(m.rules[0].is, "contains")
	}
	c.spend(int(states) << len(m.rules)) // of settle
	for i := range len(f.prefix) + 1 {
		at := i
		if i == len(f.prefix) {
			at = unlimited
		}
		var nodes []*node
		for set := range 1 << len(m.rules) {
			all := lits(at)
			possible := true
			for k, r := range m.rules {
				l := is(r.is)
				if r.not {
					l ^= 1
				}
				switch {
				case set>>k&1 != 0:
					possible = possible && at >= r.from && r.most > 0
					all = append(all, l)
				case r.most < unlimited && at >= r.from:
					if l&1 == 0 && r.is.loose {
						continue
					}
					all = append(all, l^1)
				}
			}
			n := c.node(all...)
			if !possible || c.sureEmpty(n) {
				n = nil
			}
			nodes = append(nodes, n)
		}
		m.variants = append(m.variants, nodes)
	}
	*forms = append(*forms, m)
}

func (m *matchesForm) below(yield func(*node)) {
	for _, nodes := range m.variants {
		for _, n := range nodes {
			if n != nil {
				yield(n)
			}
		}
	}
}

// states returns how many states there are.
func (m *matchesForm) states() int {
	n := m.last + 1
	for _, k := range m.counts {
		n *= k + 1
	}
	return n
}

// next calls yield with each element that may follow in a state, and the state after it.
func (m *matchesForm) next(state int, yield func(n *node, to int)) {
	rest, at := state/(m.last+1), state%(m.last+1)
	if at >= m.most {
		return
	}
variants:
	for set, n := range m.variants[min(at, len(m.variants)-1)] {
		if n == nil || !n.productive {
			continue
		}
		to, digit, left := 0, 1, rest
		for k, r := range m.rules {
			count := left % (m.counts[k] + 1)
			left /= m.counts[k] + 1
			if set>>k&1 != 0 {
				if r.most < unlimited && count == r.most {
					continue variants
				}
				count = min(count+1, m.counts[k])
			}
			to += count * digit
			digit *= m.counts[k] + 1
		}
		yield(n, to*(m.last+1)+min(at+1, m.last))
	}
}

// accepts tells whether an array may end in a state.
func (m *matchesForm) accepts(state int) bool {
	rest, at := state/(m.last+1), state%(m.last+1)
	if at < m.least {
		return false
	}
	for k, r := range m.rules {
		if rest%(m.counts[k]+1) < r.least {
			return false
		}
		rest /= m.counts[k] + 1
	}
	return true
}

func (m *matchesForm) settle() bool {
	m.can = make([]bool, m.states())
	for state := range m.can {
		m.can[state] = m.accepts(state)
	}
	for changed := true; changed; {
		changed = false
		for state := len(m.can) - 1; state >= 0; state-- {
			if !m.can[state] {
				m.next(state, func(_ *node, to int) {
					if m.can[to] {
						m.can[state], changed = true, true
					}
				})
			}
		}
	}
	return m.can[0]
}

// matchesRule is the rule of a matchesForm. Its argument is a state, and the place between the signs.
type matchesRule struct {
	steps [][]step
	ends  []bool
	id    grammar.RuleID

	open, comma, shut, close grammar.Symbol
}

// step is an element and the state after it.
type step struct {
	element grammar.Symbol
	to      int64
}

func (m *matchesForm) rule(c *compiler) grammar.Symbol {
	r := &matchesRule{steps: make([][]step, len(m.can)), ends: make([]bool, len(m.can)), id: c.g.Add(nil)}
	c.g.Define(r.id, r)
	for state := range m.can {
		r.ends[state] = m.accepts(state)
		m.next(state, func(n *node, to int) {
			if m.can[to] {
				r.steps[state] = append(r.steps[state], step{c.symbol(n), int64(to)})
			}
		})
	}
	r.open, r.comma, r.shut = grammar.Text(c.open[ofArrays]), grammar.Text(c.l.Comma), grammar.Text(c.shut[ofArrays])
	r.close = grammar.Text(c.r.Literal("]"))
	return grammar.Call(r.id, atBegin)
}

// Expand gives what may follow.
func (r *matchesRule) Expand(arg int64, yield func(...grammar.Symbol)) {
	state, place := arg/places, int(arg)%places
	switch place {
	case atBegin:
		yield(r.open, grammar.Call(r.id, atFirst))
		return
	case atEnd:
		if len(r.steps[state]) > 0 {
			yield(r.comma, grammar.Call(r.id, state*places+atMember))
		}
	default:
		for _, s := range r.steps[state] {
			yield(s.element, grammar.Call(r.id, s.to*places+atEnd))
		}
	}
	if place != atMember && r.ends[state] {
		if place == atFirst {
			yield(r.close)
		} else {
			yield(r.shut)
		}
	}
}
