package tokenmask

import "github.com/antigravity-go/antigravity/internal/regular"

// A pattern with a greatest length is an intersection: (pattern & character{0,40}), and then a quote. Its states are pairs, one for each state of
// the pattern and each length that is left: a thousand if the pattern has twenty. So the length is not part of the expression while a
// mask is found, but a number. A token may come if the pattern without its length can read it, and can then be completed with as many
// characters as are left. For example, with 3 characters left of a text of words,
//
//	token   left    the fewest characters that complete it
//	 ab     0       0: allowed
//	 a b    -1      refused
//	  a      0      0: allowed
//	 a       0      1: after a blank comes a word. Refused

// spot is a place in a text with a limited length. While the text is inside of the intersection, expr is the intersection's rest without its
// greatest length, unit the rest of the character that is being read, or that of all characters to come, and left how many may begin. Behind
// it, expr is the rest of the part that follows, and unit is None.
type spot struct {
	expr, unit regular.Expr
	left       int
	need       int // how many characters more must begin to complete the text
}

// need is the question how many characters complete a text: see masks.needed.
type need struct{ expr, unit regular.Expr }

const (
	manyNeeded = 1 << 30 // too many states were looked at
	mostNeeded = 300     // how many are
)

// inside is a limited expression without its limit. roomy is a mask of it that no token's length has taken part in, if up to enough
// characters may follow.
type inside struct{ expr, unit, behind regular.Expr }

type roomy struct {
	mask   *mask
	enough int
}

// limited makes the mask of an expression with a greatest length. It returns nil if e is not one, or if the next byte alone does not say
// whether a text goes on inside or behind the part of that length.
func (m *masks) limited(e regular.Expr) *mask {
	l, ok := m.arena.Limited(e)
	if !ok {
		return nil
	}
	at := inside{l.Inside, l.Unit, l.Behind}
	if known, ok := m.roomy[at]; ok && known.enough <= l.Most {
		return known.mask
	}
	w := limitedWalk{masks: m, Limited: l, units: m.arena.Star(l.Unit)}
	w.path[0] = spot{l.Inside, w.units, l.Most, w.needed(l.Inside, w.units)}
	found := m.walk(&w)
	if w.bad || m.arena.Err() != nil {
		return nil
	}
	if !w.cut {
		const roomyBytes = 60
		m.roomy[at] = roomy{found, w.enough}
		m.size += roomyBytes
	}
	return found
}

// limitedWalk is a walk with spots as states.
type limitedWalk struct {
	*masks
	regular.Limited
	units  regular.Expr // any number of characters
	path   [maxToken + 1]spot
	bad    bool // a text could be read in two ways, or too many states were looked at
	cut    bool // a token was refused because of its length
	enough int  // what Most must be at least for the tokens that were taken
}

// fits reports whether texts that need this many characters beyond those at s, to be completed, too, may come.
func (w *limitedWalk) fits(s spot, characters int) bool {
	if characters > s.left {
		w.cut = true
		return false
	}
	w.enough = max(w.enough, w.Most-s.left+characters)
	return true
}

func (w *limitedWalk) slice() *slice {
	f, top := w.free(w.Inside), int(w.vocabulary.whole.height[0])
	longest, slack, ok := w.completes(w.Inside)
	if !ok {
		return nil
	}
	if reach := min(w.Most, slack) - longest; reach < top {
		f.length = min(f.length, reach)
	}
	s := w.vocabulary.slice(f)
	if s != nil {
		w.fits(w.path[0], min(s.length, top)+longest)
	}
	return s
}

// completes returns up to how many bytes complete e, wherever a text has come to, if that is known or soon found. Text and completion together
// have up to slack bytes.
func (w *limitedWalk) completes(e regular.Expr) (longest, slack int, ok bool) {
	if w.arena.Effort() > w.masks.enough { // finding out takes as much work as a freedom
		return 0, 0, false
	}
	loose, slack := w.arena.Loosen(e)
	longest, ok = w.arena.Completion(loose)
	return longest, slack, ok
}

func (w *limitedWalk) only(uint8) (b byte, ok bool) { return 0, false }

func (w *limitedWalk) step(depth uint8, b byte) bool {
	s := w.path[depth-1]
	if s.unit == regular.None {
		s.expr = w.arena.Next(s.expr, b)
		w.path[depth] = s
		return s.expr != regular.None
	}
	inside := w.arena.Next(s.expr, b)
	if w.arena.Nullable(s.expr) {
		if behind := w.arena.Next(w.Behind, b); behind != regular.None {
			w.bad = w.bad || inside != regular.None
			w.path[depth] = spot{expr: behind}
			return true
		}
	}
	if inside == regular.None {
		return false
	}
	if s.unit == w.units {
		s.left--
	}
	unit := w.arena.Next(s.unit, b)
	if inside != s.expr || unit != s.unit {
		s.expr, s.unit, s.need = inside, unit, w.needed(inside, unit)
	}
	if s.unit == regular.None || s.unit != w.units && w.arena.Nullable(s.unit) {
		w.bad = true
		return false
	}
	w.path[depth] = s
	return w.fits(s, s.need)
}

func (w *limitedWalk) complete(depth uint8) bool {
	s := w.path[depth]
	if s.unit == regular.None {
		return w.arena.Nullable(s.expr)
	}
	return w.arena.Nullable(s.expr) && w.arena.Nullable(w.Behind)
}

func (w *limitedWalk) all(depth uint8, t *trie, node int32) ([]int32, bool) {
	if !t.large(node) {
		return nil, false
	}
	s := w.path[depth]
	if s.unit == regular.None {
		if w.keeps(s.expr, t.kinds[node]) || w.free(s.expr).has(t, node) {
			return t.within(node), true
		}
		return nil, false
	}
	height := int(t.height[node])
	if s.unit == w.units && w.keeps(s.expr, t.kinds[node]) {
		if height+s.need <= s.left {
			w.fits(s, height+s.need)
			return t.within(node), true
		}
		w.chosen = w.chosen[:0]
		for _, id := range t.within(node) {
			below := w.vocabulary.Bytes(id)[depth:]
			if len(below)+s.need <= s.left || int(characters(below))+s.need <= s.left {
				w.chosen = append(w.chosen, id)
			}
		}
		w.cut = true // or it is as if
		return w.chosen, true
	}
	if longest, slack, ok := w.completes(s.expr); ok && height+longest <= min(s.left, slack) && w.free(s.expr).has(t, node) {
		w.fits(s, height+longest)
		return t.within(node), true
	}
	return nil, false
}

// needed returns how many characters must at least begin to complete a text inside: expr is its rest, unit that of a character.
func (w *limitedWalk) needed(expr, unit regular.Expr) int {
	at := need{expr, unit}
	if n, ok := w.needs[at]; ok {
		return int(n)
	}
	n := w.fewest(at)
	if w.arena.Err() == nil {
		const needBytes = 40
		w.needs[at] = int32(n)
		w.size += needBytes
	}
	return n
}

// fewest is needed without a memory. It goes from state to state, those first that need fewer characters. The repetition of characters is an
// operand of expr, so that bytes of one part of expr lead to one state of unit.
func (w *limitedWalk) fewest(from need) int {
	seen := map[need]bool{}
	now, later := []need{from}, []need(nil)
	for count := 0; len(now) > 0; count++ {
		for len(now) > 0 {
			at := now[len(now)-1]
			now = now[:len(now)-1]
			if seen[at] {
				continue
			}
			seen[at] = true
			if w.arena.Nullable(at.expr) {
				return count
			}
			if len(seen) > mostNeeded {
				w.bad = true
				return manyNeeded
			}
			for _, b := range w.arena.Representatives(w.bytes[:0], at.expr, everyByte) {
				to := need{w.arena.Next(at.expr, b), w.arena.Next(at.unit, b)}
				switch {
				case to.expr == regular.None || to.unit == regular.None:
				case at.unit == w.units:
					later = append(later, to)
				default:
					now = append(now, to)
				}
			}
		}
		now, later = later, now
	}
	return manyNeeded
}

// everyByte is the class of all bytes.
var everyByte = regular.Class{}.Not()
