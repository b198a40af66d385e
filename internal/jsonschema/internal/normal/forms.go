package normal

import (
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// A Node's arrays and objects are a union of forms; each form is a kind of automaton that package emit makes a rule of. For example,
//
//	{"items": {"type": "integer"}, "maxItems": 2}        Array: at most 2 elements, each a node
//	{"contains": {"const": 1}, "minContains": 2}         Matches: states count the elements and the matches up to 2
//	{"uniqueItems": true, "items": {"enum": [1, 2]}}     Unique: different values out of 1 and 2
//	{"enum": [[1], {"a": 2}]}                            Values: the arrays, or the objects, in the list
//	{"properties": {"a": {}}, "required": ["a"]}         Object: the property a, and others

// Array is arrays with elements that do not depend on each other.
type Array struct {
	Prefix      []*Node // of the first elements, one each
	Rest        *Node   // of the elements after these
	Least, most int     // elements
}

func (f *Array) below(yield func(*Node)) {
	for _, n := range f.Prefix {
		yield(n)
	}
	if f.most > len(f.Prefix) {
		yield(f.Rest)
	}
}

// Longest returns how many elements there can be.
func (f *Array) Longest() int {
	for i, n := range f.Prefix {
		if !n.Productive {
			return min(i, f.most)
		}
	}
	if !f.Rest.Productive {
		return min(len(f.Prefix), f.most)
	}
	return f.most
}

// Settle is that of Form.
func (f *Array) Settle() bool { return f.Longest() >= f.Least }

// Matches is arrays with contains: elements are counted that are something. Its states are numbers of elements, up to one from which on it
// does not matter, and counts of matches.
type Matches struct {
	rules       []matchRule
	counts      []int     // each count is kept up to here
	variants    [][]*Node // of each element, the last one for all that follow: by the set of rules that it matches; nil: impossible
	least, most int
	last        int    // numbers of elements from here on are one state
	Can         []bool // by states: the array can be completed; Settle finds it
}

func (m *Matches) below(yield func(*Node)) {
	for _, nodes := range m.variants {
		for _, n := range nodes {
			if n != nil {
				yield(n)
			}
		}
	}
}

// states returns how many states there are.
func (m *Matches) states() int {
	n := m.last + 1
	for _, k := range m.counts {
		n *= k + 1
	}
	return n
}

// Next calls yield with each element that may follow in a state, and the state after it.
func (m *Matches) Next(state int, yield func(n *Node, to int)) {
	rest, at := state/(m.last+1), state%(m.last+1)
	if at >= m.most {
		return
	}
variants:
	for set, n := range m.variants[min(at, len(m.variants)-1)] {
		if n == nil || !n.Productive {
			continue
		}
		to, digit, left := 0, 1, rest
		for k, r := range m.rules {
			count := left % (m.counts[k] + 1)
			left /= m.counts[k] + 1
			if set>>k&1 != 0 {
				if r.most < limits.Unlimited && count == r.most {
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

// Accepts reports whether an array may end in a state.
func (m *Matches) Accepts(state int) bool {
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

// Settle is that of Form.
func (m *Matches) Settle() bool {
	m.Can = make([]bool, m.states())
	for state := range m.Can {
		m.Can[state] = m.Accepts(state)
	}
	for changed := true; changed; {
		changed = false
		for state := len(m.Can) - 1; state >= 0; state-- {
			if !m.Can[state] {
				m.Next(state, func(_ *Node, to int) {
					if m.Can[to] {
						m.Can[state], changed = true, true
					}
				})
			}
		}
	}
	return m.Can[0]
}

// Unique is arrays of different values out of a few.
type Unique struct {
	Values      []regular.Expr // the texts of each value
	Least, Most int            // elements
}

func (u *Unique) below(func(*Node)) {}

// Settle is that of Form.
func (u *Unique) Settle() bool { return true }

// Values is arrays or objects that are listed: those of an enumeration that satisfy the rest of the schema.
type Values struct {
	Values []*document.Value // each once
	listed map[*document.Value]bool
}

func (f *Values) below(func(*Node)) {}

// Settle is that of Form.
func (f *Values) Settle() bool { return true }

// Object is objects of properties that have names, in their order, and then members with other names. It may demand that there is some member
// that is something: each such demand is a flag.
type Object struct {
	Props []Property
	Rest  []Rest // no two have a name in common, unless they give different flags
	Least int    // members
	Most  int    // members, or limits.Unlimited
	Far   []int  // by flags that are set: how many members are needed until all are; -1: it cannot be. Settle finds it
	flags uint8  // all
}

// Property is a property with a name.
type Property struct {
	Name     string
	Node     *Node
	Required bool
}

// Rest is a set of names, and what the members with these names are.
type Rest struct {
	Names sets.Strings
	Node  *Node
	in    uint8 // the flags of the demands for these names
	gives uint8 // the flags of the demands that such a member fulfils
}

func (f *Object) below(yield func(*Node)) {
	for _, p := range f.Props {
		yield(p.Node)
	}
	for _, r := range f.Rest {
		yield(r.Node)
	}
}

// Settle is that of Form.
func (f *Object) Settle() bool {
	named, necessary := 0, 0
	for _, p := range f.Props {
		if p.Required {
			if necessary++; !p.Node.Productive {
				return false
			}
		}
		if p.Node.Productive {
			named++
		}
	}
	some := false
	for _, r := range f.Rest {
		some = some || r.Node.Productive
	}
	f.measure()
	return f.Far[0] >= 0 && necessary+f.Far[0] <= f.Most && (some || named >= f.Least) && f.Least <= f.Most
}

// measure finds out how many members are needed to fulfil all demands for some member.
func (f *Object) measure() {
	f.Far = make([]int, int(f.flags)+1)
	for i := range f.Far {
		f.Far[i] = -1
	}
	f.Far[f.flags] = 0
	for changed := true; changed; {
		changed = false
		for i := range f.Far {
			for k := range f.Rest {
				r := &f.Rest[k]
				if to := r.After(i); r.Node.Productive && r.Usable(i) && f.Far[to] >= 0 && (f.Far[i] < 0 || f.Far[i] > f.Far[to]+1) {
					f.Far[i], changed = f.Far[to]+1, true
				}
			}
		}
	}
}

// Usable reports whether such a member may come when the demands in flags are fulfilled. The member could repeat the name of the one that
// fulfilled a demand and take its place: then it must fulfil the demand too.
func (r *Rest) Usable(flags int) bool { return flags&int(r.in&^r.gives) == 0 }

// After returns the demands that are fulfilled after such a member.
func (r *Rest) After(flags int) int { return flags | int(r.gives) }
