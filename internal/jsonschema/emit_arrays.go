package jsonschema

import "github.com/antigravity-go/antigravity/internal/grammar"

// arrayRule is the rule of a form. Its argument tells how many elements there were, up to a number from which on it does not matter,
// and the place between the signs.
type arrayRule struct {
	prefix      [][]grammar.Symbol
	rest        []grammar.Symbol
	least, most int
	counts      int
	id          grammar.RuleID
	signs
}

func (c *emitter) array(f *arrayForm) grammar.Symbol {
	a := &arrayRule{least: f.least, most: f.longest(), id: c.g.Add(nil)}
	c.g.Define(a.id, a)
	for i, n := range f.prefix {
		if i < a.most {
			a.prefix = append(a.prefix, []grammar.Symbol{c.symbol(n)})
		}
	}
	if a.most > len(f.prefix) {
		a.rest = []grammar.Symbol{c.symbol(f.rest)}
	}
	if a.counts = max(a.least, len(a.prefix)); a.most < unlimited {
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
