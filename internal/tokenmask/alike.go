package tokenmask

import "github.com/antigravity-go/antigravity/internal/regular"

// loosened is an expression without the bounds of its repetitions, and for how many bytes it goes on as the one with them does.
type loosened struct {
	expr  regular.Expr
	reach int
}

// shortReach is from which reach on the mask of the expression without bounds is made first.
const shortReach = 4

// loosen returns e without the bounds of its repetitions.
//
// A text that the loosened expression can read can be completed in it with a few bytes, its completion. While the text and its completion
// together are no longer than the slack, no bound matters: e can read both of them.
func (m *masks) loosen(e regular.Expr) loosened {
	if l, ok := m.loosened[e]; ok {
		return l
	}
	expr, slack := m.arena.Loosen(e)
	l := loosened{expr, slack}
	if slack < regular.Unlimited {
		if longest, ok := m.arena.Completion(expr); ok {
			l.reach -= longest
		} else {
			l.reach = -1
		}
	}
	m.loosened[e] = l
	return l
}

// alike reports whether, for the next height bytes, p.expr and p.reference can be followed by the same texts.
func (m *masks) alike(p pair, height uint8) bool {
	if p.expr == p.reference {
		return true
	}
	if p.expr == regular.None || p.reference == regular.None {
		return false
	}
	l := m.loosen(p.expr)
	return l.expr == p.reference && l.reach >= int(height)
}

// samples are bytes by which expressions are compared: of words, of signs, and the first of two in "é" and of three in "中".
const samples = "etZ .0(\xC3\xE4"

// sampleAlike reports whether e and r go on alike after most of the samples.
func (m *masks) sampleAlike(e, r regular.Expr) bool {
	alike := 0
	for _, b := range []byte(samples) {
		if d := m.arena.Next(e, b); d != regular.None && d == m.arena.Next(r, b) {
			alike++
		}
	}
	return 2*alike > len(samples)
}

// maxFollowed is up to how many pairs of states are looked at to find out whether an expression follows another.
const maxFollowed = 1000

// goesOnAlike reports whether e goes on with the same bytes as r does, and so forth, until r may be complete, while e is not complete
// before r either. So it is if e is r with a pattern that only forbids some ends. Then a token that does not come to an end of r may come
// in e exactly if it may in r.
func (m *masks) goesOnAlike(e, r regular.Expr) bool {
	if m.arena.Nullable(r) || m.arena.Nullable(e) || e == r {
		return false
	}
	first := pair{e, r}
	if known, ok := m.followed[first]; ok {
		return known
	}
	seen, todo := map[pair]bool{first: true}, []pair{first}
	var bytes []byte
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		bytes = m.arena.Representatives(bytes[:0], p.expr, p.reference)
		for _, b := range bytes {
			next := pair{m.arena.Next(p.expr, b), m.arena.Next(p.reference, b)}
			switch {
			case m.arena.Nullable(next.reference) || next.expr == next.reference || seen[next]:
				continue
			case next.expr == regular.None || next.reference == regular.None || m.arena.Nullable(next.expr) || len(seen) == maxFollowed || m.arena.Err() != nil:
				m.followed[first] = false
				return false
			}
			seen[next] = true
			todo = append(todo, next)
		}
	}
	for p := range seen {
		m.followed[p] = true
	}
	return true
}
