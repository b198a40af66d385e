package normal

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
)

// brancher goes through the choices of shapes.
type brancher struct {
	*finisher
}

// expand returns the forms of the arrays or objects of n.
func (c *brancher) expand(n *Node, of int) []Form {
	sh := &shape{of: of, maxMembers: limits.Unlimited, maxItems: limits.Unlimited}
	for _, l := range n.lits {
		if !c.assume(sh, l) {
			return nil
		}
	}
	var forms []Form
	c.branch(n, sh, &forms)
	return forms
}

// shapeSteps is how much work a copy of a shape is.
const shapeSteps = 16

// branch follows the choices that are left, the narrowest first.
func (c *brancher) branch(n *Node, sh *shape, forms *[]Form) {
	for {
		best := -1
		for i := 0; i < len(sh.choices); i++ {
			ch := &sh.choices[i]
			kept, settled := c.narrow(sh, ch.alts)
			if settled {
				sh.choices = slices.Delete(sh.choices, i, i+1)
				i--
				if best > i {
					best--
				}
				continue
			}
			ch.alts = kept
			if len(kept) == 0 {
				return
			}
			if best < 0 || len(kept) < len(sh.choices[best].alts) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		ch := sh.choices[best]
		sh.choices = slices.Delete(sh.choices, best, best+1)
		if len(ch.alts) == 1 {
			if !c.take(sh, ch.alts[0]) {
				return
			}
			continue
		}
		for _, a := range ch.alts {
			c.branched(ch.s, ch.keyword)
			c.Spend(shapeSteps + len(sh.choices) + (len(sh.seen.list)+len(sh.required.list))/fewRules)
			next := sh.clone()
			if c.take(next, a) && c.plausible(next) {
				c.branch(n, next, forms)
			}
		}
		return
	}
	c.branched(c.first(n.lits), "anyOf")
	c.finish(n, sh, forms)
}

// narrow returns those of some alternatives that may be true, and whether one of them is true already.
func (c *brancher) narrow(sh *shape, alts []alternative) (kept []alternative, settled bool) {
	kept = alts // which copies of the shape share
	for i := range alts {
		possible, implied := c.weigh(sh, &alts[i])
		switch {
		case implied:
			return kept, true
		case !possible && len(kept) == len(alts):
			kept = slices.Clone(alts[:i])
		case possible && len(kept) < len(alts):
			kept = append(kept, alts[i])
		}
	}
	return kept, false
}

// weigh reports whether an alternative may be true, and whether it is true already. It only finds contradictions that are cheap to find.
func (c *brancher) weigh(sh *shape, a *alternative) (possible, implied bool) {
	c.Spend(2 + len(a.lits) + len(a.require))
	possible, implied = true, a.demand == nil
	for _, l := range a.lits {
		if sh.seen.has(l.opposite()) {
			return false, false
		}
		implied = implied && sh.seen.has(l)
	}
	for _, name := range a.require {
		if !sh.required.has(name) {
			implied = false
			if !slices.Contains(a.is, nothing) && slices.Contains(c.memberLits(sh, name), nothing) {
				return false, false
			}
		}
	}
	if a.is == nil {
		return possible, implied
	}
	c.work++
	lits := c.memberLits(sh, a.name)
	if sh.required.has(a.name) || slices.Contains(a.require, a.name) {
		if c.sureEmpty(c.node(append(slices.Clip(lits), a.is...)...)) {
			return false, false
		}
	}
	for _, l := range a.is {
		implied = implied && c.implied(lits, l)
	}
	return possible, implied
}

// take makes an alternative true.
func (c *brancher) take(sh *shape, a alternative) bool {
	if a.demand != nil {
		a.demand(sh)
	}
	for _, name := range a.require {
		sh.required.add(name)
	}
	for _, l := range a.is {
		sh.members.add(memberRule{keys{kind: keyNamed, name: a.name}, l})
	}
	for _, l := range a.lits {
		if !c.assume(sh, l) {
			return false
		}
	}
	return true
}

// finish adds the forms of a shape without choices.
func (c *brancher) finish(n *Node, sh *shape, forms *[]Form) {
	if len(sh.values) > 0 {
		c.finite(n, sh, forms)
		return
	}
	if !c.plausible(sh) {
		return
	}
	if sh.of == ofArrays {
		c.finishArray(n, sh, forms)
	} else {
		c.finishObject(n, sh, forms)
	}
}
