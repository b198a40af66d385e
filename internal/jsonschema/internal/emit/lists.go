package emit

import "github.com/antigravity-go/antigravity/internal/grammar"

// listRule is the rule of arrays. Its argument is a state, with all that must be remembered of the elements so far, and the place between
// the signs. The state 0 is that of no elements.
type listRule struct {
	states
	id grammar.RuleID
	signs
}

// states says which elements may come in an array.
type states interface {
	// more reports whether an element may follow in a state.
	more(state int64) bool
	// next calls yield with each element that may follow in a state, and the state after it.
	next(state int64, yield func(element grammar.Symbol, to int64))
	// ends reports whether the array may end in a state.
	ends(state int64) bool
}

// list returns a new rule of the grammar. The caller sets its states.
func (c *emitter) list() *listRule {
	r := &listRule{id: c.g.Add(nil), signs: c.signs(c.arrays)}
	c.g.Define(r.id, r)
	return r
}

// with sets the states of r, and returns the symbol of the arrays.
func (r *listRule) with(s states) grammar.Symbol {
	r.states = s
	return r.call(0, atBegin)
}

func (r *listRule) call(state, place int64) grammar.Symbol {
	return grammar.Call(r.id, state*places+place)
}

// Expand calls yield with each continuation.
func (r *listRule) Expand(arg int64, yield func(...grammar.Symbol)) {
	state, place := arg/places, int(arg%places)
	switch place {
	case atBegin:
		yield(r.open, r.call(0, atFirst))
		return
	case atEnd:
		if r.more(state) {
			yield(r.comma, r.call(state, atMember))
		}
	default:
		r.next(state, func(element grammar.Symbol, to int64) { yield(element, r.call(to, atEnd)) })
	}
	if r.ends(state) {
		r.close(place, yield)
	}
}
