package jsonschema

import "github.com/antigravity-go/antigravity/internal/regular"

// arrayForm is a shape of arrays that the grammar can follow.
type arrayForm struct {
	prefix      []*node
	rest        *node
	least, most int
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

// matchesForm is arrays in which elements are counted that are something. Its states are numbers of elements, up to one from which on it
// does not matter, and counts of matches.
type matchesForm struct {
	rules       []matchRule
	counts      []int     // each count is kept up to here
	variants    [][]*node // of each element, the last one for all that follow: by the set of rules that it matches; nil: impossible
	least, most int
	last        int // numbers of elements from here on are one state
	can         []bool
}

func (m *matchesForm) below(yield func(*node)) {
	for _, nodes := range m.variants {
		for _, n := range nodes {
			if n != nil {
				yield(n)
			}
		}
	}
}

// states returns how many states there are.
func (m *matchesForm) states() int {
	n := m.last + 1
	for _, k := range m.counts {
		n *= k + 1
	}
	return n
}

// next calls yield with each element that may follow in a state, and the state after it.
func (m *matchesForm) next(state int, yield func(n *node, to int)) {
	rest, at := state/(m.last+1), state%(m.last+1)
	if at >= m.most {
		return
	}
variants:
	for set, n := range m.variants[min(at, len(m.variants)-1)] {
		if n == nil || !n.productive {
			continue
		}
		to, digit, left := 0, 1, rest
		for k, r := range m.rules {
			count := left % (m.counts[k] + 1)
			left /= m.counts[k] + 1
			if set>>k&1 != 0 {
				if r.most < unlimited && count == r.most {
					continue variants
				}
				count = min(count+1, m.counts[k])
			}
			to += count * digit
			digit *= m.counts[k] + 1
		}
		yield(n, to*(m.last+1)+min(at+1, m.last))
	}
}

// accepts tells whether an array may end in a state.
func (m *matchesForm) accepts(state int) bool {
	rest, at := state/(m.last+1), state%(m.last+1)
	if at < m.least {
		return false
	}
	for k, r := range m.rules {
		if rest%(m.counts[k]+1) < r.least {
			return false
		}
		rest /= m.counts[k] + 1
	}
	return true
}

func (m *matchesForm) settle() bool {
	m.can = make([]bool, m.states())
	for state := range m.can {
		m.can[state] = m.accepts(state)
	}
	for changed := true; changed; {
		changed = false
		for state := len(m.can) - 1; state >= 0; state-- {
			if !m.can[state] {
				m.next(state, func(_ *node, to int) {
					if m.can[to] {
						m.can[state], changed = true, true
					}
				})
			}
		}
	}
	return m.can[0]
}

// uniqueForm is arrays of different values out of a few.
type uniqueForm struct {
	values      []regular.Expr
	least, most int
}

func (u *uniqueForm) below(func(*node)) {}

func (u *uniqueForm) settle() bool { return true }

// valuesForm is arrays or objects that are listed: those of an enumeration that satisfy the rest of the schema.
type valuesForm struct {
	values []*value
	listed map[*value]bool
}

func (f *valuesForm) below(func(*node)) {}

func (f *valuesForm) settle() bool { return true }

// objectForm is a shape of objects that the grammar can follow: properties by name in their order, then members with other names.
type objectForm struct {
	props []formProperty
	rest  []formRest
	least int // members
	most  int
	flags uint8 // which demands for some member must be fulfilled
	s     *schema
	far   []int // by flags: how many members are needed until all are set; -1: it cannot be
}

// formProperty is a property with a name.
type formProperty struct {
	name     string
	n        *node
	required bool
}

// formRest is a set of names, and what the members with these names are.
type formRest struct {
	names stringSet
	n     *node
	in    uint8 // the demands whose names these are
	gives uint8 // the demands that such a member fulfils
}

func (f *objectForm) below(yield func(*node)) {
	for _, p := range f.props {
		yield(p.n)
	}
	for _, r := range f.rest {
		yield(r.n)
	}
}

func (f *objectForm) settle() bool {
	named, necessary := 0, 0
	for _, p := range f.props {
		if p.required {
			if necessary++; !p.n.productive {
				return false
			}
		}
		if p.n.productive {
			named++
		}
	}
	some := false
	for _, r := range f.rest {
		some = some || r.n.productive
	}
	f.measure()
	return f.far[0] >= 0 && necessary+f.far[0] <= f.most && (some || named >= f.least) && f.least <= f.most
}

// measure finds out how many members are needed to fulfil all demands for some member.
func (f *objectForm) measure() {
	f.far = make([]int, int(f.flags)+1)
	for i := range f.far {
		f.far[i] = -1
	}
	f.far[f.flags] = 0
	for changed := true; changed; {
		changed = false
		for i := range f.far {
			for k := range f.rest {
				r := &f.rest[k]
				if to := r.after(i); r.n.productive && r.usable(i) && f.far[to] >= 0 && (f.far[i] < 0 || f.far[i] > f.far[to]+1) {
					f.far[i], changed = f.far[to]+1, true
				}
			}
		}
	}
}

// usable reports whether such a member may come when the demands in flags are fulfilled. The member could repeat the name of the one that
// fulfilled a demand and take its place: then it must fulfil the demand too.
func (r *formRest) usable(flags int) bool { return flags&int(r.in&^r.gives) == 0 }

// after returns the demands that are fulfilled after such a member.
func (r *formRest) after(flags int) int { return flags | int(r.gives) }
