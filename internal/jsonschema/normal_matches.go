package jsonschema

// Bounds of what counts matches.
const (
	maxMatches = 3
	maxStates  = 20_000
)

// finishMatches adds the form of arrays that have contains.
func (c *finisher) finishMatches(sh *shape, f *arrayForm, lits func(int) []lit, forms *[]form) {
	m := &matchesForm{rules: sh.matches, least: f.least, most: f.most}
	if m.last = max(len(f.prefix), f.least); f.most < unlimited {
		m.last = f.most
	}
	states := float64(m.last + 1)
	for _, r := range m.rules {
		count := r.least
		if r.most < unlimited {
			count = r.most
		}
		if r.least > r.most {
			return
		}
		m.counts = append(m.counts, count)
		states *= float64(count + 1)
	}
	if len(m.rules) > maxMatches || states > maxStates {
		tooComplex(m.rules[0].is, "contains")
	}
	c.spend(int(states) << len(m.rules)) // of settle
	for i := range len(f.prefix) + 1 {
		at := i
		if i == len(f.prefix) {
			at = unlimited
		}
		var nodes []*node
		for set := range 1 << len(m.rules) {
			all := lits(at)
			possible := true
			for k, r := range m.rules {
				l := is(r.is)
				if r.not {
					l = l.opposite()
				}
				switch {
				case set>>k&1 != 0:
					possible = possible && at >= r.from && r.most > 0
					all = append(all, l)
				case r.most < unlimited && at >= r.from:
					if l.positive() && r.is.loose {
						continue
					}
					all = append(all, l.opposite())
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
