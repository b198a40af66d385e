package jsonschema

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/grammar"
)

// arrayKeywords adds what the keywords of s say about arrays.
func (c *compiler) arrayKeywords(sh *shape, s *schema) {
	for i, p := range s.prefix {
		sh.elements = append(sh.elements, elementRule{i, i, is(p)})
	}
	rest := s.items
	if rest == nil && s.restItems != nil && s.alone() && s.contains == nil {
		rest = s.restItems
	}
	sh.subsets = sh.subsets || s.restItems != nil
	if rest != nil {
		sh.elements = append(sh.elements, elementRule{len(s.prefix), unlimited, is(rest)})
	}
	sh.minItems, sh.maxItems = max(sh.minItems, s.minItems), min(sh.maxItems, s.maxItems)
	if s.contains != nil {
		sh.matches = append(sh.matches, matchRule{least: s.minMatches, most: s.maxMatches, is: s.contains})
	}
	if s.unique {
		sh.unique = s
	}
}

// arrayKeywordsNot adds the ways in which an array is not what the keywords of s say.
func (c *compiler) arrayKeywordsNot(ch *choice, s *schema) {
	demand := func(f func(*shape) bool) { ch.alts = append(ch.alts, alternative{demand: f}) }
	some := func(m matchRule) {
		demand(func(sh *shape) bool { sh.matches = append(sh.matches, m); return true })
	}
	for i, p := range s.prefix {
		if !p.trivial {
			demand(func(sh *shape) bool {
				sh.minItems = max(sh.minItems, i+1)
				sh.elements = append(sh.elements, elementRule{i, i, isNot(p)})
				return true
			})
		}
	}
	rest := s.items
	if rest == nil && s.restItems != nil && !s.restItems.trivial {
		if rest = s.restItems; !s.alone() || s.contains != nil {
			c.unsupported(s, "unevaluatedItems", "the schema stands where it must not be satisfied")
		}
	}
	if rest != nil && !rest.trivial {
		some(matchRule{from: len(s.prefix), least: 1, most: unlimited, is: rest, not: true})
	}
	if s.minItems > 0 {
		demand(func(sh *shape) bool { sh.maxItems = min(sh.maxItems, s.minItems-1); return true })
	}
	if s.maxItems < unlimited {
		demand(func(sh *shape) bool { sh.minItems = max(sh.minItems, s.maxItems+1); return true })
	}
	if s.contains != nil {
		if s.minMatches > 0 {
			some(matchRule{least: 0, most: s.minMatches - 1, is: s.contains})
		}
		if s.maxMatches < unlimited {
			some(matchRule{least: s.maxMatches + 1, most: unlimited, is: s.contains})
		}
	}
	if s.unique {
		c.unsupported(s, "uniqueItems", "the schema stands where it must not be satisfied")
	}
}

// maxPrefix bounds the elements that have a schema of their own.
const maxPrefix = 10_000

// arrayForm is a shape of arrays that the grammar can follow.
type arrayForm struct {
	prefix      []*node
	rest        *node
	least, most int
}

// finishArray adds the forms of a shape without choices.
func (c *compiler) finishArray(n *node, sh *shape, forms *[]form) {
	c.evaluateItems(sh)
	own := 0
	for _, e := range sh.elements {
		own = max(own, e.from)
		if e.to < unlimited {
			own = max(own, e.to+1)
		}
	}
	for _, m := range sh.matches {
		own = max(own, m.from)
	}
	if own > maxPrefix {
		c.tooComplex(c.first(n.lits), "prefixItems")
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
		c.spend(1 + len(wide))
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
	f := &arrayForm{least: sh.minItems, most: sh.maxItems}
	for i := range own {
		m := c.node(lits(i)...)
		if c.sureEmpty(m) {
			f.most = i
			break
		}
		f.prefix = append(f.prefix, m)
	}
	if f.rest = c.node(lits(unlimited)...); f.most > own && c.sureEmpty(f.rest) {
		f.most = own
	}
	if f.least > f.most {
		return
	}
	if sh.unique != nil && f.most > 1 {
		c.finishUnique(sh, f, forms)
		return
	}
	if sh.matches = c.simplify(sh.matches, f, lits); f.least > f.most {
		return
	}
	if len(sh.matches) > 0 {
		c.finishMatches(sh, f, lits, forms)
		return
	}
	*forms = append(*forms, f)
}

// simplify leaves out the rules that every element, or none, matches.
func (c *compiler) simplify(rules []matchRule, f *arrayForm, lits func(int) []lit) []matchRule {
	var kept []matchRule
	for _, r := range rules {
		l := is(r.is)
		if r.not {
			l ^= 1
		}
		all, none := true, true
		for i := r.from; i <= len(f.prefix) && i < f.most; i++ {
			at := i
			if i == len(f.prefix) {
				at = unlimited
			}
			all = all && c.sureEmpty(c.node(append(lits(at), l^1)...))
			none = none && c.sureEmpty(c.node(append(lits(at), l)...))
		}
		switch {
		case all:
			if r.least > 0 {
				f.least = max(f.least, r.from+r.least)
			}
			if r.most < unlimited {
				f.most = min(f.most, r.from+r.most)
			}
		case none && r.least > 0:
			f.most, f.least = 0, 1
		case none:
		default:
			if !slices.Contains(kept, r) {
				kept = append(kept, r)
			}
		}
	}
	return kept
}

func (f *arrayForm) below(yield func(*node)) {
	for _, n := range f.prefix {
		yield(n)
	}
	if f.most > len(f.prefix) {
		yield(f.rest)
	}
}

// longest returns how many elements there can be.
func (f *arrayForm) longest() int {
	for i, n := range f.prefix {
		if !n.productive {
			return min(i, f.most)
		}
	}
	if !f.rest.productive {
		return min(len(f.prefix), f.most)
	}
	return f.most
}

func (f *arrayForm) settle() bool { return f.longest() >= f.least }

// arrayRule is the rule of a form. Its argument tells how many elements there were, up to a number from which on it does not matter,
// and the place between the signs.
type arrayRule struct {
	prefix      [][]grammar.Symbol
	rest        []grammar.Symbol
	least, most int
	counts      int
	id          grammar.RuleID

	open, comma, shut, close grammar.Symbol
}

func (f *arrayForm) rule(c *compiler) grammar.Symbol {
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
	a.open, a.comma, a.shut = grammar.Text(c.open[ofArrays]), grammar.Text(c.l.Comma), grammar.Text(c.shut[ofArrays])
	a.close = grammar.Text(c.r.Literal("]"))
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
	if place != atMember && count >= a.least {
		if place == atFirst {
			yield(a.close)
		} else {
			yield(a.shut)
		}
	}
}
