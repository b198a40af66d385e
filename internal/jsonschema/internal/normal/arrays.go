package normal

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
)

// maxPrefix bounds the elements that have a schema of their own.
const maxPrefix = 10_000

// finishArray adds the forms of a shape without choices.
func (c *finisher) finishArray(n *Node, sh *shape, forms *[]Form) {
	c.evaluateItems(sh)
	own := 0
	for _, e := range sh.elements {
		own = max(own, e.from)
		if e.to < limits.Unlimited {
			own = max(own, e.to+1)
		}
	}
	for _, m := range sh.matches {
		own = max(own, m.from)
	}
	if own > maxPrefix {
		limits.TooComplex(c.first(n.lits), "prefixItems")
	}
	own = min(own, sh.maxItems)
	single := map[int][]int{} // the rules of one element, and those of more, as places in sh.elements in ascending order
	var wide []int
	for i, e := range sh.elements {
		if e.from == e.to {
			single[e.from] = append(single[e.from], i)
		} else {
			wide = append(wide, i)
		}
	}
	lits := func(i int) []lit {
		c.Spend(1 + len(wide))
		var about []int
		for _, e := range wide {
			if sh.elements[e].from <= i && i <= sh.elements[e].to {
				about = append(about, e)
			}
		}
		if own := single[i]; own != nil {
			about = append(about, own...)
			slices.Sort(about)
		}
		lits := make([]lit, len(about), len(about)+1)
		for k, e := range about {
			lits[k] = sh.elements[e].is
		}
		return lits
	}
	f := &Array{Least: sh.minItems, most: sh.maxItems}
	for i := range own {
		m := c.node(lits(i)...)
		if c.sureEmpty(m) {
			f.most = i
			break
		}
		f.Prefix = append(f.Prefix, m)
	}
	if f.Rest = c.node(lits(limits.Unlimited)...); f.most > own && c.sureEmpty(f.Rest) {
		f.most = own
	}
	if f.Least > f.most {
		return
	}
	if sh.unique != nil && f.most > 1 {
		c.finishUnique(sh, f, forms)
		return
	}
	if sh.matches = c.simplify(sh.matches, f, lits); f.Least > f.most {
		return
	}
	if len(sh.matches) > 0 {
		c.finishMatches(sh, f, lits, forms)
		return
	}
	*forms = append(*forms, f)
}

// simplify leaves out the rules that every element matches, or no element.
func (c *finisher) simplify(rules []matchRule, f *Array, lits func(int) []lit) []matchRule {
	var kept []matchRule
	for _, r := range rules {
		all, none := true, true
		for i := r.from; i <= len(f.Prefix) && i < f.most; i++ {
			at := i
			if i == len(f.Prefix) {
				at = limits.Unlimited
			}
			all = all && c.sureEmpty(c.node(append(lits(at), r.is.opposite())...))
			none = none && c.sureEmpty(c.node(append(lits(at), r.is)...))
		}
		switch {
		case all:
			if r.least > 0 {
				f.Least = max(f.Least, r.from+r.least)
			}
			if r.most < limits.Unlimited {
				f.most = min(f.most, r.from+r.most)
			}
		case none && r.least > 0:
			f.most, f.Least = 0, 1
		case none:
		default:
			if !slices.Contains(kept, r) {
				kept = append(kept, r)
			}
		}
	}
	return kept
}
