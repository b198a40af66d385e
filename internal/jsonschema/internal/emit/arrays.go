package emit

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/normal"
)

// arrayRule is the rule of a form. Its argument says how many elements there were, up to a number from which on it does not matter,
// and the place between the signs.
type arrayRule struct {
	prefix      [][]grammar.Symbol
	rest        []grammar.Symbol
	least, most int
	counts      int
	id          grammar.RuleID
	signs
}

func (c *emitter) array(f *normal.Array) grammar.Symbol {
	a := &arrayRule{least: f.Least, most: f.Longest(), id: c.g.Add(nil)}
	c.g.Define(a.id, a)
	for i, n := range f.Prefix {
		if i < a.most {
			a.prefix = append(a.prefix, []grammar.Symbol{c.symbol(n)})
		}
	}
	if a.most > len(f.Prefix) {
		a.rest = []grammar.Symbol{c.symbol(f.Rest)}
	}
	if a.counts = max(a.least, len(a.prefix)); a.most < limits.Unlimited {
		a.counts = a.most
	}
	a.signs = c.signs(c.arrays)
	return a.call(0, atBegin)
}

func (a *arrayRule) call(count, place int) grammar.Symbol {
	return grammar.Call(a.id, int64(min(count, a.counts)*places+place))
}

// Expand gives what may follow.
func (a *arrayRule) Expand(arg int64, yield func(...grammar.Symbol)) {
	count, place := int(arg)/places, int(arg)%places
	switch place {
	case atBegin:
		yield(a.open, a.call(0, atFirst))
		return
	case atEnd:
		if count < a.most {
			yield(a.comma, a.call(count, atMember))
		}
	default:
		if count < a.most {
			element := a.rest
			if count < len(a.prefix) {
				element = a.prefix[count]
			}
			yield(element[0], a.call(count+1, atEnd))
		}
	}
	if count >= a.least {
		a.close(place, yield)
	}
}
