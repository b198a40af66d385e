package regular

// Multiples is a language of decimal digits: the digits and the fraction that, after some digits that have already been read, complete a
// multiple of a number.
//
// The digits before leave a remainder when the number that they write is divided by Of. A text with n further digits, with which the
// number in units of 10^-Scale is divided by Of without remainder, belongs to the language; a decimal that has fewer than Scale
// decimal places is filled up with zeros, one that has more must have zeros there.
type Multiples struct {
	Of        int32 // the number in units of 10^-Scale; at least 1
	Remainder int32 // of the digits before; at least 0 and less than Of
	Digits    int   // how many digits come, at most MaxDigits: exactly, or at least if More is set
	More      bool
	Scale     int  // decimal places of the number that texts are multiples of, at most MaxDigits; NoFraction: texts have no fraction
	Short     bool // no zeros follow Scale decimal places, except the one of 1.0
}

// MaxDigits bounds the digits, and the decimal places, of Multiples.
const MaxDigits = 1<<14 - 2

// NoFraction is the Scale of whole numbers, behind which no fraction may stand, not even of zeros.
const NoFraction = -1

// digit is the class of the digits.
var digit = Range('0', '9')

// Multiples returns the texts that may follow the digits before: Digits digits or more, and then an optional fraction.
func (r *Arena) Multiples(m Multiples) Expr {
	if m.Of == 1 {
		most := m.Digits
		if m.More {
			most = Unbounded
		}
		end := Empty
		if m.Scale != NoFraction {
			end = r.Optional(r.Concat(r.Literal("."), r.MultiplesFraction(m, true)))
		}
		return r.Concat(r.Repeat(r.Class(digit), m.Digits, most), end)
	}
	if !m.More && !m.exists(m.Digits+max(m.Scale, 0)) {
		return None
	}
	return r.intern(m.node(whole))
}

// MultiplesFraction returns the texts that may follow if the digits before end within the fraction: at most Scale digits, and then zeros.
// Scale counts the decimal places that are still to come. Digits and More are not used. If some is true, at least one digit must follow.
func (r *Arena) MultiplesFraction(m Multiples, some bool) Expr {
	m.Digits, m.More = 0, some
	switch {
	case !m.exists(m.Scale):
		return None
	case m.Scale == 0 && m.Short && some:
		return r.Literal("0")
	case m.Scale == 0 && some:
		return r.Repeat(r.Literal("0"), 1, Unbounded)
	case m.Scale == 0:
		return m.zeros(r)
	case m.Of > 1:
		return r.intern(m.node(places))
	case some:
		return r.Concat(r.Class(digit), r.MultiplesFraction(m.after(0, m.Scale-1), false))
	}
	return r.Concat(r.Repeat(r.Class(digit), 0, m.Scale), m.zeros(r))
}

// zeros returns what may follow Scale decimal places.
func (m Multiples) zeros(r *Arena) Expr {
	if m.Short {
		return Empty
	}
	return r.Star(r.Literal("0"))
}

// exists reports whether there are n digits that make a multiple.
func (m Multiples) exists(n int) bool {
	reach := int64(1) // 10ⁿ: the digits write a number below
	for ; n > 0 && reach < int64(m.Of); n-- {
		reach *= 10
	}
	if reach >= int64(m.Of) {
		return true
	}
	missing := (int64(m.Of) - int64(m.Remainder)*reach%int64(m.Of)) % int64(m.Of)
	return missing < reach
}

// divides reports whether n zeros make a multiple.
func (m Multiples) divides(n int) bool {
	rest := int64(m.Remainder)
	for ; n > 0 && rest != 0; n-- {
		rest = rest * 10 % int64(m.Of)
	}
	return rest == 0
}

// after returns m after digit d. scale is how many decimal places follow d.
func (m Multiples) after(d byte, scale int) Multiples {
	m.Remainder, m.Scale = int32((int64(m.Remainder)*10+int64(d))%int64(m.Of)), scale
	return m
}

// node packs m into a node: Of, Remainder, and in one number Scale, Short, and Digits, negative if More is set.
func (m Multiples) node(k kind) node {
	digits, stops := m.Digits, m.Digits == 0
	if m.More {
		digits, stops = -1-digits, k == whole && stops
	}
	scale := int32(m.Scale) << 1
	if m.Short {
		scale |= 1
	}
	return node{kind: k, plain: true, nullable: stops && m.divides(max(m.Scale, 0)),
		a: m.Of, b: m.Remainder, c: scale<<16 | int32(uint16(int16(digits)))}
}

// multiples unpacks a node.
func (n *node) multiples() Multiples {
	m := Multiples{Of: n.a, Remainder: n.b, Scale: int(n.c >> 17), Short: n.c>>16&1 != 0, Digits: int(int16(n.c))}
	if m.Digits < 0 {
		m.Digits, m.More = -1-m.Digits, true
	}
	return m
}

// afterMultiples is the derivative of a whole or places by b.
func (r *Arena) afterMultiples(n node, b byte) Expr {
	m := n.multiples()
	switch {
	case b == '.' && n.kind == whole && m.Digits == 0 && m.Scale != NoFraction:
		return r.MultiplesFraction(m, true)
	case b < '0' || b > '9':
		return None
	case n.kind == places:
		return r.MultiplesFraction(m.after(b-'0', m.Scale-1), false)
	case m.Digits == 0 && !m.More:
		return None
	}
	m.Digits = max(m.Digits-1, 0)
	return r.Multiples(m.after(b-'0', m.Scale))
}
