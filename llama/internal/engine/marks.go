package engine

import "slices"

// marks say after which tokens of a conversation the recurrent layers' states are kept, and which of these snapshots go first if there are too many.
//
// A snapshot saves what lies between the one before it, or the beginning, and itself: its gap. Whoever goes back behind it computes in any
// case everything that comes after; the farther back a snapshot is, the less its gap matters. Of too many snapshots that one goes whose gap is
// the smallest part of its distance from the end. In a conversation of 4000 tokens with snapshots after
//
//	100   1000   1100   3000   3600   3990
//
// the one after 1100 goes first, with 100/2900. The snapshots that stay are the closer together the later they are, and going back somewhere
// computes little more than what follows there anyway. Those where conversations branched go last.
type marks struct {
	most     int   // snapshots that are kept
	every    int   // tokens after which there is one in any case; 0: there is not
	wanted   []int // ascending positions to come
	branches []int // positions where conversations branched, or are about to
	pinned   int   // a position that is always kept, and before which nobody goes back; 0: none
}

// clone returns a copy.
func (m *marks) clone() marks {
	n := *m
	n.wanted, n.branches = slices.Clone(m.wanted), slices.Clone(m.branches)
	return n
}

// want asks for snapshots at positions to come, of which a prompt's end is the last: as many as are kept. branch is a position where conversations
// branch; 0: there is none.
func (m *marks) want(positions []int, end, branch int) {
	if m.most == 0 {
		return
	}
	m.wanted = append(m.wanted[:0], positions...)
	if branch > 0 {
		m.wanted = append(m.wanted, branch)
		m.branch(branch)
	}
	slices.Sort(m.wanted)
	m.wanted = slices.Compact(m.wanted)
	for _, at := range m.excess(m.wanted, end) {
		m.wanted = slices.DeleteFunc(m.wanted, func(w int) bool { return w == at })
	}
}

// branch notes that conversations branch at a position.
func (m *marks) branch(at int) {
	if !slices.Contains(m.branches, at) {
		m.branches = append(m.branches, at)
	}
}

// within appends to dst the positions of the snapshots of a step of rows tokens after start.
func (m *marks) within(dst []int, start, rows int) []int {
	if m.most == 0 {
		return dst
	}
	if m.every > 0 {
		for at := (start/m.every + 1) * m.every; at <= start+rows; at += m.every {
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

// passed notes that the conversation has come to n tokens, or gone back to them.
func (m *marks) passed(n int) {
	m.wanted = slices.DeleteFunc(m.wanted, func(at int) bool { return at <= n })
	if n < m.pinned {
		m.pinned = 0
	}
}

// excess returns the snapshots, of a conversation of end tokens, that are too many.
func (m *marks) excess(snapshots []int, end int) (gone []int) {
	left := slices.Clone(snapshots)
	most := m.most
	if slices.Contains(left, m.pinned) {
		most++
	}
	for len(left) > most {
		i := m.least(left, end)
		gone = append(gone, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return gone
}

// least returns the index of the snapshot that goes first.
func (m *marks) least(snapshots []int, end int) int {
	best, branches, share := -1, false, 0.0
	before := 0
	for i, at := range snapshots {
		gap := at - before
		before = at
		if at == m.pinned {
			continue
		}
		branch, part := slices.Contains(m.branches, at), float64(gap)/float64(end-at+1)
		if best < 0 || branches && !branch || branch == branches && part < share {
			best, branches, share = i, branch, part
		}
	}
	return best
}
