package emit

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/normal"
)

// matchesRule is the rule of a normal.Matches. Its argument is a state, and the place between the signs.
type matchesRule struct {
	steps [][]step
	ends  []bool
	id    grammar.RuleID
	signs
}

// step is an element and the state after it.
type step struct {
	element grammar.Symbol
	to      int64
}

func (c *emitter) matches(m *normal.Matches) grammar.Symbol {
	r := &matchesRule{steps: make([][]step, len(m.Can)), ends: make([]bool, len(m.Can)), id: c.g.Add(nil)}
	c.g.Define(r.id, r)
	for state := range m.Can {
		r.ends[state] = m.Accepts(state)
		m.Next(state, func(n *normal.Node, to int) {
			if m.Can[to] {
				r.steps[state] = append(r.steps[state], step{c.symbol(n), int64(to)})
			}
		})
	}
	r.signs = c.signs(c.arrays)
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
	if r.ends[state] {
		r.close(place, yield)
	}
}
