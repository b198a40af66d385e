package emit

import (
	"math"
	"math/bits"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/normal"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
)

// A form of objects is one rule of the grammar. The rule's argument is how far the object is written (objectState), so that the order of
// properties, counts and demands need no rules of their own. For example, of objects with a required property a, an optional b and no
// others, in this order, the rule has the states
//
//	at the beginning            {
//	before a                    "a": ...
//	after a                     , or }
//	after a comma               "b": ...
//	after b                     }
//
// A state is followed only if the object can still be completed from it (fits).

// objectRule is the rule of a form. Its argument is an objectState.
type objectRule struct {
	props  []ruleProperty
	rest   []ruleRest
	least  int
	most   int
	counts int // members are counted up to here; if any order is allowed, those that have no place of their own
	far    []int
	free   bool // properties may come in any order
	must   came // the required ones
	id     grammar.RuleID
	signs
}

// objectState is the part of an object that has been written.
type objectState struct {
	count int  // members; if any order is allowed, those that have no place of their own
	flags int  // which demands for some member are fulfilled
	next  int  // which property may come next
	came  came // if any order is allowed: the properties that came
	place int  // between the signs
}

// came is a set of properties. The argument of a rule has room for low; there is a rule for each value of high.
type came struct {
	low  uint64
	high uint32
}

// Bounds of came.
const (
	lowBits  = 60
	highBits = 12
	maxFree  = lowBits + highBits
)

// with returns the set with one more property.
func (a came) with(i int) came {
	if i < lowBits {
		a.low |= 1 << i
	} else {
		a.high |= 1 << (i - lowBits)
	}
	return a
}

// without returns the properties of a that are not in b.
func (a came) without(b came) came { return came{a.low &^ b.low, a.high &^ b.high} }

// count returns how many properties there are.
func (a came) count() int { return bits.OnesCount64(a.low) + bits.OnesCount32(a.high) }

// objectPart is the rule of the states with one value of came.high.
type objectPart struct {
	*objectRule
	high uint32
}

// ruleProperty is a property: its name, the colon and its value.
type ruleProperty struct {
	required bool
	needed   int // how many required ones there are from here on
	sequence []grammar.Symbol
}

// ruleRest is a member with another name.
type ruleRest struct {
	rest     *normal.Rest
	sequence []grammar.Symbol
}

func (c *emitter) object(f *normal.Object) grammar.Symbol {
	o := &objectRule{least: f.Least, most: f.Most, far: f.Far}
	for _, p := range f.Props {
		if p.Node.Productive {
			key := c.Arena.Concat(c.Language.Name(p.Name), c.Language.Colon)
			o.props = append(o.props, ruleProperty{required: p.Required, sequence: c.append(key, p.Node)})
		}
	}
	needed := 0
	for i := len(o.props) - 1; i >= 0; i-- {
		if o.props[i].required {
			needed++
		}
		o.props[i].needed = needed
	}
	for i := range f.Rest {
		r := &f.Rest[i]
		if r.Node.Productive {
			key := c.Language.String
			if r.Names.Kind != sets.All || len(f.Props) > 0 || c.Language.Raw {
				key = c.Names(r.Names)
			}
			o.rest = append(o.rest, ruleRest{r, append([]grammar.Symbol{grammar.Text(key)}, c.append(c.Language.Colon, r.Node)...)})
		}
	}
	o.id = c.g.Add(objectPart{o, 0})
	if o.counts = f.Least; f.Most < limits.Unlimited {
		o.counts = f.Most
	}
	if c.anyOrder && len(o.props) <= maxFree && min(len(o.props), lowBits)+bits.Len(uint((o.counts+1)*len(o.far))) <= lowBits+1 {
		o.free = true
		for i, p := range o.props {
			if p.required {
				o.must = o.must.with(i)
			}
		}
		for high := uint32(1); high < 1<<max(0, len(o.props)-lowBits); high++ {
			c.g.Add(objectPart{o, high})
		}
	} else if float64(o.counts+1)*float64(len(o.far))*float64(len(o.props)+1)*places > math.MaxInt64/2 {
		limits.TooComplex(limits.Unknown{}, "minProperties")
	}
	o.signs = c.signs(c.objects)
	return o.call(objectState{})
}

// call returns the symbol for a state.
func (o *objectRule) call(s objectState) grammar.Symbol {
	at, positions := int64(s.next), int64(len(o.props))+1
	if o.free {
		at, positions = int64(s.came.low), 1<<min(len(o.props), lowBits)
	}
	arg := (int64(min(s.count, o.counts))*int64(len(o.far))+int64(s.flags))*positions + at
	return grammar.Call(o.id+grammar.RuleID(s.came.high), arg*places+int64(s.place))
}

// state returns the state that an argument is.
func (o objectPart) state(arg int64) (s objectState) {
	positions := int64(len(o.props)) + 1
	if o.free {
		positions = 1 << min(len(o.props), lowBits)
	}
	s.place, arg = int(arg%places), arg/places
	if o.free {
		s.came = came{uint64(arg % positions), o.high}
	} else {
		s.next = int(arg % positions)
	}
	arg /= positions
	s.count, s.flags = int(arg)/len(o.far), int(arg)%len(o.far)
	return s
}

// needed returns how many required properties are still to come.
func (o *objectRule) needed(s objectState) int {
	if o.free {
		return o.must.without(s.came).count()
	}
	if s.next < len(o.props) {
		return o.props[s.next].needed
	}
	return 0
}

// Expand calls yield with each continuation.
func (o objectPart) Expand(arg int64, yield func(...grammar.Symbol)) {
	s := o.state(arg)
	then := s
	switch s.place {
	case atBegin:
		then.place = atFirst
		yield(o.open, o.call(then))
		return
	case atEnd:
		if then.place = atMember; o.members(s, func([]grammar.Symbol, objectState) bool { return false }) {
			yield(o.comma, o.call(then))
		}
	default:
		var room [4]grammar.Symbol
		o.members(s, func(sequence []grammar.Symbol, then objectState) bool {
			yield(append(append(room[:0], sequence...), o.call(then))...)
			return true
		})
	}
	if o.needed(s) == 0 && o.far[s.flags] == 0 && s.count+s.came.count() >= o.least {
		o.close(s.place, yield)
	}
}

// fits reports whether the object can be completed from a state.
func (o *objectRule) fits(s objectState) bool {
	total := s.count + s.came.count()
	if o.far[s.flags] < 0 || o.most < limits.Unlimited && total+o.needed(s)+o.far[s.flags] > o.most {
		return false
	}
	return len(o.rest) > 0 || total+len(o.props)-s.next-s.came.count() >= o.least
}

// members calls yield with each member that may come, and the state after it, until yield returns false. It reports whether there is one.
func (o *objectRule) members(s objectState, yield func(sequence []grammar.Symbol, then objectState) bool) bool {
	found := false
	s.place = atEnd
	for i := s.next; i < len(o.props); i++ {
		p, then := &o.props[i], s
		if o.free {
			if then.came = s.came.with(i); then == s {
				continue
			}
		} else {
			then.count, then.next = s.count+1, i+1
		}
		if o.fits(then) {
			found = true
			if !yield(p.sequence, then) {
				return true
			}
		}
		if p.required && !o.free {
			return found
		}
	}
	for i := range o.rest {
		r, then := &o.rest[i], s
		then.count, then.flags = s.count+1, r.rest.After(s.flags)
		if !o.free {
			then.next = len(o.props)
		}
		if r.rest.Usable(s.flags) && o.fits(then) {
			found = true
			if !yield(r.sequence, then) {
				return true
			}
		}
	}
	return found
}
