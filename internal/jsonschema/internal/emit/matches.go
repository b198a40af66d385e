package emit

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/normal"
)

// matchesStates are the states of a normal.Matches.
type matchesStates struct {
	steps [][]step // of each state
	end   []bool
}

// step is an element and the state after it.
type step struct {
	element grammar.Symbol
	to      int64
}

func (c *emitter) matches(m *normal.Matches) grammar.Symbol {
	r := c.list()
	s := &matchesStates{make([][]step, len(m.Can)), make([]bool, len(m.Can))}
	for state := range m.Can {
		s.end[state] = m.Accepts(state)
		m.Next(state, func(n *normal.Node, to int) {
			if m.Can[to] {
				s.steps[state] = append(s.steps[state], step{c.symbol(n), int64(to)})
			}
		})
	}
	return r.with(s)
}

func (s *matchesStates) more(state int64) bool { return len(s.steps[state]) > 0 }
func (s *matchesStates) ends(state int64) bool { return s.end[state] }

func (s *matchesStates) next(state int64, yield func(grammar.Symbol, int64)) {
	for _, n := range s.steps[state] {
		yield(n.element, n.to)
	}
}
