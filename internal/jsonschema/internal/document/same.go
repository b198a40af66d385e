package document

import (
	"slices"
	"strconv"
	"strings"
)

// Document is the text of a schema that was read.
type Document struct {
	Root  *Value
	sames map[string]int32 // the number of equal values, by their contents
}

// Same returns a number that equal values have in common: numbers that stand for the same, and objects with the same members in any order.
func (d *Document) Same(v *Value) int32 {
	if v.same != 0 {
		return v.same
	}
	var key []byte
	switch v.Kind {
	case Number:
		key = append(append(key, '0'), plainNumber(v.Text)...)
	case Text:
		key = append(append(key, 's'), v.Text...)
	case Array:
		key = append(key, 'a')
		for _, item := range v.Items {
			key = AppendInt32(key, d.Same(item))
		}
	case Object:
		members := slices.SortedFunc(slices.Values(v.Members), func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
		key = append(key, 'o')
		for _, m := range members {
			key = append(AppendInt32(key, int32(len(m.Name))), m.Name...)
			key = AppendInt32(key, d.Same(m.Value))
		}
	default:
		key = append(key, 'w', byte(v.Kind))
		if v.Truth {
			key = append(key, 't')
		}
	}
	id, ok := d.sames[string(key)]
	if !ok {
		id = int32(len(d.sames) + 1)
		d.sames[string(key)] = id
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

// List is the values of an enumeration.
type List struct {
	Values []*Value
	sames  map[int32]bool // Document.Same of each; nil: not asked for
}

// Among returns Document.Same of each value.
func (l *List) Among(d *Document) map[int32]bool {
	if l.sames == nil {
		l.sames = make(map[int32]bool, len(l.Values))
		for _, e := range l.Values {
			l.sames[d.Same(e)] = true
		}
	}
	return l.sames
}
