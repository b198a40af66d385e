package tokenmask

import (
	"math"
	"math/bits"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// freedom says that an expression can go on with any text of characters of these kinds that has up to length bytes, and then still be
// completed. For example, of the rest of a string of at most 40 characters
//
//	[^"\\\x00-\x1f]{0,40}"
//
// kinds has all characters but the quote, the backslash and controls, and length is 39. If some kinds must be left out since texts with them are
// refused after a while, as those that have a certain word in them, brief says how long texts of all characters that strings have may be.
type freedom struct {
	kinds  kinds
	length int
	brief  int
}

// unbounded is the length of a freedom without an end.
const unbounded = math.MaxInt32

// has reports whether an expression with this freedom can go on with every text below a node.
func (f freedom) has(t *trie, node int32) bool {
	height := int(t.height[node])
	return t.kinds[node]&^f.kinds == 0 && height <= f.length || height <= f.brief && t.kinds[node]&^insideString == 0
}

// large reports whether it pays to find out whether an expression can go on with every text below a node.
func (t *trie) large(node int32) bool {
	return t.end[node]-node >= largeTree && t.kinds[node]&^insideString == 0
}

const (
	largeTree  = 40     // nodes
	broad      = 16     // by how many bytes an expression must begin for its freedom, or keeping its mask, to be worth anything
	shortText  = 6      // a freedom of fewer bytes does not count
	longText   = 12     // a freedom of this length is of use
	fewVisited = 96     // how many states are looked at to find a freedom of longText bytes
	maxVisited = 400    // how many are looked at at most
	mostEffort = 60_000 // how much work finding freedoms for one mask may be, in the units of Arena.Effort
)

// visit is a state of an expression, its place in a character, and the kind of this character.
type visit struct {
	expr regular.Expr
	at   place
	kind kinds
}

// arrival is a visit, and the kind of the character, or the part of one, before it.
type arrival struct {
	visit
	after kinds
}

// free returns the freedom of an expression, or less.
func (m *masks) free(e regular.Expr) freedom {
	f, ok := m.freedoms[e]
	if ok {
		return f
	}
	if m.arena.Effort() > m.enough {
		return freedom{}
	}
	if m.arena.First(e).Len() >= broad {
		if loose, reach := m.loosen(e); loose != e {
			f = m.free(loose)
			f.length, f.brief = min(f.length, reach), min(f.brief, reach)
		} else {
			f = m.search(e)
		}
	}
	if m.arena.Err() != nil {
		return freedom{}
	}
	m.setFree(e, f)
	return f
}

func (m *masks) setFree(e regular.Expr, f freedom) {
	const freedomBytes = 40
	m.freedoms[e] = f
	m.size += freedomBytes
}

// loosen returns e without the bounds of its long repetitions, and for how many bytes it goes on as e does; e itself if it has no such bounds
// or few tokens.
//
// A text that the loosened expression can read can be completed in it with a few bytes. While the text and its completion together are no
// longer than the slack, no bound matters: e can read both of them.
func (m *masks) loosen(e regular.Expr) (loose regular.Expr, reach int) {
	loose, slack := m.arena.Loosen(e)
	if loose == e || m.arena.First(loose).Len() < broad {
		return e, unbounded
	}
	if longest, ok := m.arena.Completion(loose); ok && slack-longest >= shortText {
		return loose, slack - longest
	}
	return e, unbounded
}

// search finds the freedom of an expression by its states. It tries all texts of all kinds at once, byte by byte: the states that these
// come to are few. If one of them cannot go on with some kinds, these are left out, or the kind that leads there if fewer tokens have it.
// For example, after the quote at its end a string cannot go on at all: the quote is left out. If there are too many states, or
// the texts that can be read are short, only the kinds of words are tried.
func (m *masks) search(e regular.Expr) freedom {
	f := freedom{}
	if !m.tired {
		f = m.narrow(e, anyText)
	}
	if f.length < longText {
		if g := m.narrow(e, inWords); g.length >= longText {
			g.brief = f.brief
			f, m.tired = g, true
		}
	}
	if f.length == unbounded && f.kinds&mostText == mostText { // so has every state that was come to
		for v := range m.visited {
			if _, ok := m.freedoms[v.expr]; !ok && v.at == start {
				m.setFree(v.expr, freedom{kinds: f.kinds, length: f.length})
			}
		}
	}
	return f
}

// narrow leaves kinds out of k until e can go on with all texts of the rest, up to some length.
func (m *masks) narrow(e regular.Expr, k kinds) freedom {
	brief := 0
	for k != 0 {
		refused, length := m.spread(e, k)
		if refused == 0 {
			return freedom{k, length, brief}
		}
		if k&insideString == insideString {
			brief = max(brief, length)
		}
		k &^= refused
	}
	return freedom{brief: brief}
}

// spread follows the texts of kinds k from e. It returns kinds that are soon refused, if there are such kinds, and the length up to which all
// texts can be read.
func (m *masks) spread(e regular.Expr, k kinds) (refused kinds, length int) {
	clear(m.visited)
	now, next := append(m.visits[0][:0], arrival{visit: visit{expr: e}}), m.visits[1][:0]
	defer func() { m.visits = [2][]arrival{now, next} }()
	m.visited[now[0].visit] = struct{}{}
	length = unbounded
	for depth := 0; len(now) > 0 && depth < length; depth++ {
		next = next[:0]
		for _, from := range now {
			if from.at == start {
				if known, ok := m.freedoms[from.expr]; ok && k&^known.kinds == 0 && known.length >= shortText {
					length = min(length, known.length+depth)
					continue
				}
			}
			var dead kinds
			for i := range begins {
				kind, bytes := kinds(1)<<i, begins[i]
				if from.at != start {
					kind, bytes = from.kind, regular.Range(from.at.low, from.at.high)
				} else if k&kind == 0 {
					continue
				}
				for _, b := range m.arena.Representatives(m.bytes[:0], from.expr, bytes) {
					to := visit{m.arena.Next(from.expr, b), from.at.after(b), kind}
					if to.expr == regular.None {
						dead |= kind
						continue
					}
					if to.at == start {
						to.kind = 0
					}
					if _, ok := m.visited[to]; !ok {
						m.visited[to] = struct{}{}
						next = append(next, arrival{to, kind})
					}
				}
				if from.at != start {
					break
				}
			}
			if m.arena.Err() != nil || m.arena.Effort() > m.enough {
				return k, 0
			}
			if dead != 0 {
				if depth >= shortText {
					return 0, depth
				}
				refused |= from.refuse(dead)
			}
		}
		if refused != 0 {
			return refused, depth
		}
		if n := len(m.visited); n > maxVisited || n > fewVisited && depth >= longText {
			if length = min(length, depth+1); length < shortText {
				return k, 0
			}
			return 0, length
		}
		now, next = next, now
	}
	return 0, length
}

// refuse returns the kinds that are left out because these cannot follow.
func (a arrival) refuse(dead kinds) kinds {
	if a.at == start && (a.after == 0 || weight(dead) <= weight(a.after)) {
		return dead
	}
	return a.after
}

// weight returns about how many tokens have characters of some kinds, in percent.
func weight(k kinds) (n int) {
	const letters, capitals = 10, 5
	for i := range kindTable {
		if k>>i&1 == 0 {
			continue
		}
		switch kindTable[i] {
		case "af", "gz", "  ":
			n += letters
		case "AF", "GZ", "\xc3\xdf", "\xe4\xec":
			n += capitals
		default:
			n++
		}
	}
	return n
}

// loops are kinds of characters with which an expression goes on as before: each of them leads from it to itself. Only those in known were
// asked for.
type loops struct{ known, kept kinds }

// keeps reports whether each character of kinds k leads from e to e itself, so that e can go on with any text of them.
func (m *masks) keeps(e regular.Expr, k kinds) bool {
	l := m.loops[e]
	asked := k &^ l.known
	if asked == 0 || k&l.known&^l.kept != 0 {
		return k&^l.kept == 0
	}
	for ; asked != 0; asked &= asked - 1 {
		kind := bits.TrailingZeros32(uint32(asked))
		l.known |= 1 << kind
		if kind == len(begins) || !leads(m.arena, e, e, begins[kind]) {
			break
		}
		l.kept |= 1 << kind
	}
	if m.arena.Err() != nil {
		return false
	}
	m.loops[e] = l
	return k&^l.kept == 0
}
