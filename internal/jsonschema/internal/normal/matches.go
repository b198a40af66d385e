package normal

import (
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
)

// Bounds of what counts matches.
const (
	maxMatches = 3
	maxStates  = 20_000
)

// finishMatches adds the form of arrays that have contains.
func (c *finisher) finishMatches(sh *shape, f *Array, lits func(int) []lit, forms *[]Form) {
	m := &Matches{rules: sh.matches, least: f.Least, most: f.most}
	if m.last = max(len(f.Prefix), f.Least); f.most < limits.Unlimited {
		m.last = f.most
	}
	states := float64(m.last + 1)
	for _, r := range m.rules {
		count := r.least
		if r.most < limits.Unlimited {
			count = r.most
		}
		if r.least > r.most {
			return
		}
		m.counts = append(m.counts, count)
		states *= float64(count + 1)
	}
	if len(m.rules) > maxMatches || states > maxStates {
		limits.TooComplex(c.schema(m.rules[0].is), "contains")
	}
	c.Spend(int(states) << len(m.rules)) // of settle
	for i := range len(f.Prefix) + 1 {
		at := i
		if i == len(f.Prefix) {
			at = limits.Unlimited
		}
		var nodes []*Node
		for set := range 1 << len(m.rules) {
			all := lits(at)
			possible := true
			for k, r := range m.rules {
				switch {
				case set>>k&1 != 0:
					possible = possible && at >= r.from && r.most > 0
					all = append(all, r.is)
				case r.most < limits.Unlimited && at >= r.from:
					if r.is.positive() && c.schema(r.is).Loose {
						continue
					}
					all = append(all, r.is.opposite())
				}
			}
			n := c.node(all...)
			if !possible || c.sureEmpty(n) {
				n = nil
			}
			nodes = append(nodes, n)
		}
		m.variants = append(m.variants, nodes)
	}
	*forms = append(*forms, m)
}
