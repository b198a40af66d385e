package normal

import (
	"slices"
)

// memberLits returns the lits that are true of the member called name.
func (c *nodes) memberLits(sh *shape, name string) []lit {
	var lits []lit
	looked := sh.members.about(name, func(m memberRule) {
		if c.hasKey(m.keys, name) {
			lits = append(lits, m.is)
		}
	})
	for _, l := range sh.names {
		if !c.HasString(c.scalarsUnder(l).Strings, name) {
			lits = append(lits, nothing)
		}
	}
	c.Spend(1 + looked)
	return lits
}

// plausible reports whether it is not easy to see that no value has the shape.
func (c *nodes) plausible(sh *shape) bool {
	for _, name := range sh.required.list {
		if c.sureEmpty(c.node(c.memberLits(sh, name)...)) {
			return false
		}
	}
	if sh.of == ofArrays && sh.minItems > sh.maxItems || sh.of == ofObjects && (sh.minMembers > sh.maxMembers || len(sh.required.list) > sh.maxMembers) {
		return false
	}
	return true
}

// closed reports whether it is easy to see that there is no member but those that are named.
func (c *nodes) closed(sh *shape) bool {
	c.Spend(1 + len(sh.members.list)/fewRules)
	return slices.ContainsFunc(sh.members.list, func(m memberRule) bool {
		return m.keys.kind == keyRest && len(m.keys.of.ByPattern) == 0 && c.sureEmpty(c.node(m.is))
	})
}

// without returns the alternative that there is no property of a name.
func without(name string) alternative {
	return alternative{name: name, is: []lit{nothing}}
}
