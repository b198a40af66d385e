package jsonschema

import (
	"slices"
	"strconv"
	"strings"
)

// source is the text of a schema that was read.
type source struct {
	root  *value
	sames map[string]int32 // the number of equal values, by what they are
}

// same returns a number that equal values have in common: numbers that stand for the same, and objects with the same members in any order.
func (s *source) same(v *value) int32 {
	if v.same != 0 {
		return v.same
	}
	var key []byte
	switch v.kind {
	case number:
		key = append(append(key, '0'), plainNumber(v.text)...)
	case text:
		key = append(append(key, 's'), v.text...)
	case array:
		key = append(key, 'a')
		for _, item := range v.items {
			key = number32(key, s.same(item))
		}
	case object:
		members := slices.SortedFunc(slices.Values(v.members), func(a, b member) int { return strings.Compare(a.name, b.name) })
		key = append(key, 'o')
		for _, m := range members {
			key = append(number32(key, int32(len(m.name))), m.name...)
			key = number32(key, s.same(m.value))
		}
	default:
		key = append(key, 'w', byte(v.kind))
		if v.truth {
			key = append(key, 't')
		}
	}
	id, ok := s.sames[string(key)]
	if !ok {
		id = int32(len(s.sames) + 1)
		s.sames[string(key)] = id
	}
	v.same = id
	return id
}

// plainNumber returns a text that is the same for all writings of a number.
func plainNumber(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	mantissa, power := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		n, err := strconv.Atoi(strings.TrimPrefix(s[i+1:], "+"))
		if err != nil {
			return sign + s
		}
		mantissa, power = s[:i], n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	power -= len(fraction)
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	return sign + short + "e" + strconv.Itoa(power+len(digits)-len(short))
}

// valueList is the values of an enumeration.
type valueList struct {
	values []*value
	sames  map[int32]bool // source.same of each; nil: not asked for
}

// among returns source.same of each value.
func (l *valueList) among(s *source) map[int32]bool {
	if l.sames == nil {
		l.sames = make(map[int32]bool, len(l.values))
		for _, e := range l.values {
			l.sames[s.same(e)] = true
		}
	}
	return l.sames
}
