package tokenmask

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// adapt makes the mask of e from known, the mask of reference, which is a set of bits. If both come to the same expression, all tokens that
// go on from there are the same. If e follows the reference, the tokens are the same that do not come to an end.
func (m *masks) adapt(e, reference regular.Expr, known *mask) *mask {
	v := m.vocabulary
	if m.alike(pair{e, reference}, v.height[0]) {
		return known
	}
	found := &mask{of: e, bits: slices.Clone(known.bits)}
	past, ends := known.past, known.ends // those not yet come to
	m.path[0] = pair{e, reference}
	for i := int32(1); int(i) < len(v.labels); {
		depth, label, next := v.depths[i], v.labels[i], v.end[i]
		above := m.path[depth-1]
		at := pair{regular.None, regular.None}
		if above.expr != regular.None {
			at.expr = m.arena.Next(above.expr, label)
		}
		if above.reference != regular.None {
			at.reference = m.arena.Next(above.reference, label)
		}
		switch {
		case m.alike(at, v.height[i]) || m.followed[at] && !holds(ends, i, next):
			found.past, past = moveBelow(next, found.past, past)
			found.ends, ends = moveBelow(next, found.ends, ends)
			i = next
		case at.expr == regular.None:
			for _, t := range v.within(i) {
				found.bits[t/64] &^= 1 << (t % 64)
			}
			past, ends = past[below(past, next):], ends[below(ends, next):]
			i = next
		default:
			past, ends = past[below(past, i+1):], ends[below(ends, i+1):]
			m.path[depth] = at
			if at.reference == regular.None {
				for _, t := range v.tokens(i) {
					found.bits[t/64] |= 1 << (t % 64)
				}
			}
			if m.arena.Nullable(at.expr) {
				found.ends = append(found.ends, i)
				if next > i+1 {
					found.past = append(found.past, i)
				}
			}
			i++
		}
	}
	if slices.Equal(found.past, known.past) {
		found.past, found.tail = known.past, known.tail
	}
	m.size += found.bytes()
	return found
}

// below returns how many numbers at the beginning of an ascending list are below limit.
func below(list []int32, limit int32) int {
	n := 0
	for n < len(list) && list[n] < limit {
		n++
	}
	return n
}

// moveBelow moves the numbers below limit from the beginning of from, which is ascending, to the end of to.
func moveBelow(limit int32, to, from []int32) (longer, rest []int32) {
	n := below(from, limit)
	return append(to, from[:n]...), from[n:]
}

// holds reports whether an ascending list has a number n with low ≤ n < high.
func holds(list []int32, low, high int32) bool {
	at, _ := slices.BinarySearch(list, low)
	return at < len(list) && list[at] < high
}
