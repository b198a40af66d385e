package emit

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/normal"
)

// arrayStates are the states of a normal.Array: how many elements there were, up to a number from which on it does not matter.
type arrayStates struct {
	prefix      []grammar.Symbol
	rest        grammar.Symbol // of the elements after prefix, if there may be any
	least, most int64
	counts      int64
}

func (c *emitter) array(f *normal.Array) grammar.Symbol {
	r := c.list()
	most := f.Longest()
	a := &arrayStates{least: int64(f.Least), most: int64(most)}
	for _, n := range f.Prefix[:min(len(f.Prefix), most)] {
		a.prefix = append(a.prefix, c.symbol(n))
	}
	if most > len(f.Prefix) {
		a.rest = c.symbol(f.Rest)
	}
	if a.counts = max(a.least, int64(len(a.prefix))); most < limits.Unlimited {
		a.counts = a.most
	}
	return r.with(a)
}

func (a *arrayStates) more(count int64) bool { return count < a.most }
func (a *arrayStates) ends(count int64) bool { return count >= a.least }

func (a *arrayStates) next(count int64, yield func(grammar.Symbol, int64)) {
	if count < a.most {
		element := a.rest
		if count < int64(len(a.prefix)) {
			element = a.prefix[count]
		}
		yield(element, min(count+1, a.counts))
	}
}
