package jsonschema

import (
	"github.com/antigravity-go/antigravity/internal/jsontext"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// sets computes sets of scalars.
type sets struct {
	*meter
	l     *jsontext.Language
	r     *regular.Arena
	quote regular.Expr
	plain regular.Expr // all plain decimals; None: not asked for
}

func newSets(m *meter, l *jsontext.Language) *sets {
	return &sets{meter: m, l: l, r: l.Arena, quote: l.Arena.Literal(`"`)}
}

// setKind tells how a set of numbers or of strings is held. The simpler ones keep what most schemas need out of the arena.
type setKind uint8

const (
	setNone setKind = iota
	setAll
	setSimple // numbers within bounds; strings of some lengths
	setFinite
	setExpr
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

// alive tells whether e has any string.
func (c *sets) alive(e regular.Expr) bool {
	c.spend(0)
	c.checkArena()
	return c.r.Alive(e)
}
