package sets

import (
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsontext"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// Algebra computes sets of scalars.
type Algebra struct {
	*limits.Meter
	Language *jsontext.Language
	Arena    *regular.Arena
	quote    regular.Expr
	plain    regular.Expr // all plain decimals; None: not asked for
}

func New(m *limits.Meter, l *jsontext.Language) *Algebra {
	return &Algebra{Meter: m, Language: l, Arena: l.Arena, quote: l.Arena.Literal(`"`)}
}

// Kind tells how a set of numbers or of strings is held. The simpler ones keep what most schemas need out of the arena.
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

// Alive tells whether e has any string.
func (c *Algebra) Alive(e regular.Expr) bool {
	c.Spend(0)
	c.CheckArena()
	return c.Arena.Alive(e)
}
