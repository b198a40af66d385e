package tokenmask

import "unicode/utf8"

// slice is a part of a vocabulary that is dealt with at once: the tokens of up to length bytes with characters of some kinds. An expression
// that has at least this freedom takes them all, so that only the rest must be tried.
//
// Invariants: bits has the tokens of the slice, rest has all others; levels has the tokens of the slice by how many characters they have,
// or is nil if length is not unbounded.
type slice struct {
	freedom
	bits   []uint64
	rest   *trie
	levels *levels
}

// cut makes the slices of a vocabulary, those with more tokens first.
func (v *Vocabulary) cut() {
	const beyondASCII = odd - 1<<firstBeyondASCII
	for _, f := range []freedom{
		{kinds: anyText, length: unbounded},
		{kinds: insideString, length: unbounded},
		{kinds: mostText, length: unbounded},
		{kinds: insideString, length: 24},
		{kinds: insideString, length: longText},
		{kinds: insideString &^ beyondASCII, length: unbounded},
	} {
		v.slices = append(v.slices, &slice{freedom: f, bits: make([]uint64, v.words())})
	}
	var below [maxToken + 1]kinds
	for _, id := range v.whole.order {
		text := v.Bytes(id)
		kindsOf(text, below[:])
		for _, s := range v.slices {
			if below[0]&^s.kinds == 0 && len(text) <= s.length {
				s.bits[id/64] |= 1 << (id % 64)
			}
		}
	}
	counts := make([]uint8, v.size)
	for id := range counts {
		counts[id] = characters(v.Bytes(int32(id)))
	}
	for _, s := range v.slices {
		var rest []entry
		for _, id := range v.whole.order {
			if s.bits[id/64]>>(id%64)&1 == 0 {
				rest = append(rest, entry{text: v.Bytes(id), id: id})
			}
		}
		s.rest = newTrie(rest, false)
		if s.length == unbounded {
			s.levels = newLevels(s.bits, counts)
		}
	}
}

// slice returns the largest slice with tokens that an expression of freedom f takes, or nil.
func (v *Vocabulary) slice(f freedom) *slice {
	for _, s := range v.slices {
		if s.kinds&^f.kinds == 0 && s.length <= f.length {
			return s
		}
	}
	return nil
}

// bytes returns about how much memory the slice takes.
func (s *slice) bytes() int { return 8*len(s.bits) + s.rest.bytes() + s.levels.bytes() }

// characters returns how many characters begin in a text.
func characters(text []byte) (n uint8) {
	for _, b := range text {
		if utf8.RuneStart(b) {
			n++
		}
	}
	return n
}
