// Package sets computes with sets of scalars: values that are neither arrays nor objects. Unions, intersections and complements are exact.
//
// A set is a set of words (null, true, false), one of numbers and one of strings. Sets of numbers and strings are held in the simplest Kind
// that has room for them, so that most schemas need no expressions: {"minimum": 2} and {"maximum": 5} are Simple, and so is their
// intersection. Only sets without a simpler Kind become expressions of package regular: the numbers that are not in {"minimum": 2}, or the
// strings that match a pattern and have at most 9 characters.
package sets

import (
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// Algebra computes sets of scalars. Their expressions are in Arena.
type Algebra struct {
	*limits.Meter
	Language *jsonexpr.Language
	Arena    *regular.Arena
	plain    regular.Expr // all plain decimals; regular.None: not asked for
}

// New returns an Algebra with its expressions in the arena of l.
func New(m *limits.Meter, l *jsonexpr.Language) *Algebra {
	return &Algebra{Meter: m, Language: l, Arena: l.Arena}
}

// Kind says how a set of numbers or of strings is held. None is the empty set, All has everything.
type Kind uint8

const (
	None Kind = iota
	All
	Simple // numbers within bounds; strings of some lengths
	Finite
	Expr
)

// tally counts the sets that a value is in, up to two of each kind.
type tally struct{ exact, loose uint8 }

func (t tally) with(loose bool) tally {
	if loose {
		t.loose = min(t.loose+1, 2)
	} else {
		t.exact = min(t.exact+1, 2)
	}
	return t
}

// one reports whether the value may be in exactly one of the sets.
func (t tally) one() bool { return t.exact == 1 || t.exact == 0 && t.loose > 0 }

// Alive reports whether e has any string.
func (c *Algebra) Alive(e regular.Expr) bool {
	c.Spend(0)
	c.CheckArena()
	return c.Arena.Alive(e)
}
