// Package document reads the text of a schema. Equal JSON values become one Value, so that a part that stands in a schema twice is read
// once.
package document

import (
	"math/big"

	"github.com/antigravity-go/antigravity/internal/numbers"
)

// Kind is what a JSON value is.
type Kind uint8

const (
	Null Kind = iota
	Boolean
	Number
	Text
	Array
	Object
)

// Value is a JSON value. Values with equal texts (without white space) are one Value, so that a part that stands in a schema twice is read
// once.
type Value struct {
	Kind    Kind
	id      int32  // different values have different ones
	same    int32  // of equal values: see Document.Same; 0: not asked for
	Truth   bool   // of a boolean
	Text    string // of a string: its characters; of a number: as it is written
	Items   []*Value
	Members []Member
	index   map[string]*Value // of the members, if there are many and one was asked for
}

// Member is a member of an object. Members stand in the order in which they were written; of a name that comes twice, the first
// place and the last value count.
type Member struct {
	Name  string
	Value *Value
}

// Get returns the value of a member, or nil.
func (v *Value) Get(name string) *Value {
	if v.Kind != Object {
		return nil
	}
	if len(v.Members) > fewMembers {
		if v.index == nil {
			v.index = make(map[string]*Value, len(v.Members))
			for _, m := range v.Members {
				v.index[m.Name] = m.Value
			}
		}
		return v.index[name]
	}
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// fewMembers is up to how many members are looked at one by one.
const fewMembers = 8

// Rational returns the number that a value is, or nil if it is no number or has too many digits.
func Rational(v *Value) *big.Rat {
	if v.Kind != Number {
		return nil
	}
	r, err := numbers.Parse(v.Text)
	if err != nil {
		return nil
	}
	return r
}

// AppendInt32 appends the bytes of n.
func AppendInt32(dst []byte, n int32) []byte {
	return append(dst, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}
