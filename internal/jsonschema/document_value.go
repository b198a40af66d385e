package jsonschema

import (
	"math/big"

	"github.com/antigravity-go/antigravity/internal/numbers"
)

// kind is what a JSON value is.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// value is a JSON value. Equal texts of values (without white space) are one value, so that what is said twice in a schema is read
// once.
type value struct {
	kind    kind
	id      int32  // different values have different ones
	same    int32  // of equal values: see source.same; 0: not asked for
	truth   bool   // of a boolean
	text    string // of a string: its characters; of a number: as it is written
	items   []*value
	members []member
	index   map[string]*value // of the members, if there are many and one was asked for
}

// member is a member of an object. Members stand in the order in which they were written; of a name that comes twice, the first
// place and the last value count.
type member struct {
	name  string
	value *value
}

// get returns the value of a member, or nil.
func (v *value) get(name string) *value {
	if v.kind != object {
		return nil
	}
	if len(v.members) > fewMembers {
		if v.index == nil {
			v.index = make(map[string]*value, len(v.members))
			for _, m := range v.members {
				v.index[m.name] = m.value
			}
		}
		return v.index[name]
	}
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// fewMembers is up to how many members are looked at one by one.
const fewMembers = 8

// rational returns the number that a value is, or nil where it is none or has too many digits.
func rational(v *value) *big.Rat {
	if v.kind != number {
		return nil
	}
	r, err := numbers.Parse(v.text)
	if err != nil {
		return nil
	}
	return r
}

// number32 appends the bytes of n.
func number32(dst []byte, n int32) []byte {
	return append(dst, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}
