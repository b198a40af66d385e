// Package marks chooses the snapshots that a conversation keeps: the tokens after which the states of recurrent layers stay.
package marks

import "slices"

// Marks say after which tokens of a conversation the recurrent layers' states are kept, and which of these snapshots go first if there are
// too many.
//
// Going back to a place means computing the tokens after it, and besides those between it and the snapshot before. If a snapshot is given
// up, the worst place is just before the next one, at r: computing begins at the snapshot before, at q, and takes (end−q)/(end−r) times as
// long as necessary. Of too many snapshots, the one with the least such factor goes. In a conversation of 4000 tokens with snapshots after
//
//	100   1000   1100   3000   3600   3990
//
// it is the one after 100, with 4000/3000; the one after 1000 would leave 3900/2900, the one after 1100 3000/1000. The snapshots that stay
// are the closer together the later they are. Those where conversations branched go last.
type Marks struct {
	Most     int   // snapshots that are kept, apart from Pinned and Held
	Every    int   // tokens after which there is one in any case; 0: there is not
	Pinned   int   // a position that is always kept, and before which nobody goes back; 0: no position
	Held     int   // a position that is always kept; 0: no position
	wanted   []int // ascending positions to come
	branches []int // positions where conversations branched, or are about to
}

// Clone returns a copy.
func (m *Marks) Clone() Marks {
	n := *m
	n.wanted, n.branches = slices.Clone(m.wanted), slices.Clone(m.branches)
	return n
}

// Want asks for snapshots at positions of a prompt that ends at end: as many as are kept.
func (m *Marks) Want(positions []int, end int) {
	if m.Most == 0 || len(positions) == 0 {
		return
	}
	m.wanted = append(m.wanted, positions...)
	slices.Sort(m.wanted)
	m.wanted = slices.Compact(m.wanted)
	for _, at := range m.Excess(m.wanted, max(end, m.wanted[len(m.wanted)-1])) {
		m.wanted = slices.DeleteFunc(m.wanted, func(w int) bool { return w == at })
	}
}

// Branch notes that conversations branch at a position, in one of seen tokens.
func (m *Marks) Branch(at, seen int) {
	if m.Most == 0 {
		return
	}
	if !slices.Contains(m.branches, at) {
		m.branches = append(m.branches, at)
	}
	if at > seen {
		m.Want([]int{at}, at)
	}
}

// Within appends to dst the positions of the snapshots of a step of rows tokens after start.
func (m *Marks) Within(dst []int, start, rows int) []int {
	if m.Most == 0 {
		return dst
	}
	if m.Every > 0 {
		for at := (start/m.Every + 1) * m.Every; at <= start+rows; at += m.Every {
			dst = append(dst, at)
		}
	}
	for _, at := range m.wanted {
		if at > start && at <= start+rows {
			dst = append(dst, at)
		}
	}
	slices.Sort(dst)
	return slices.Compact(dst)
}

// Passed forgets what the conversation has behind it at n tokens, with some snapshots.
func (m *Marks) Passed(snapshots []int, n int) {
	m.wanted = slices.DeleteFunc(m.wanted, func(at int) bool { return at <= n })
	m.branches = slices.DeleteFunc(m.branches, func(at int) bool { return at <= n && !slices.Contains(snapshots, at) })
}

// Cut notes that the conversation has gone back to n tokens, and that positions to come after them do not come.
func (m *Marks) Cut(n int) {
	beyond := func(at int) bool { return at > n }
	m.wanted, m.branches = slices.DeleteFunc(m.wanted, beyond), slices.DeleteFunc(m.branches, beyond)
	if m.Pinned > n {
		m.Pinned = 0
	}
	if m.Held > n {
		m.Held = 0
	}
}

// Stays reports whether the snapshot at a position is not given up as long as there are others.
func (m *Marks) Stays(at int) bool { return m.fixed(at) || slices.Contains(m.branches, at) }

// fixed reports whether the snapshot at a position is not given up.
func (m *Marks) fixed(at int) bool { return at == m.Pinned || at == m.Held }

// Excess returns the snapshots, of a conversation of end tokens, that are too many.
func (m *Marks) Excess(snapshots []int, end int) (gone []int) {
	left := slices.Clone(snapshots)
	fixed := 0
	for _, at := range left {
		if m.fixed(at) {
			fixed++
		}
	}
	for len(left)-fixed > m.Most {
		i := m.least(left, end)
		gone = append(gone, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return gone
}

// least returns the index of the snapshot that goes first.
func (m *Marks) least(snapshots []int, end int) int {
	best, branches, worst := -1, false, 0.0
	before := 0
	for i, at := range snapshots {
		from, next := before, end
		if i+1 < len(snapshots) {
			next = snapshots[i+1]
		}
		before = at
		if m.fixed(at) {
			continue
		}
		branch, times := slices.Contains(m.branches, at), float64(end-from+1)/float64(end-next+1)
		if best < 0 || branches && !branch || branch == branches && times < worst {
			best, branches, worst = i, branch, times
		}
	}
	return best
}
