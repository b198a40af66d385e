package host

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
)

// Conversations that begin alike share the pages of their beginning: forks do, and conversations of a server with one system message. If each
// attends to these pages by itself, a step reads and unpacks them once for each conversation; together, the step does so once. A row's
// result for a tile does not depend on other rows, and is merged in the order of tiles either way: sharing changes no bit.
//
// Example: A, B and C share the pages 7 4 9, and A and B also page 2. Sorted by pages they are
//
//	A  7 4 9 2 …
//	B  7 4 9 2 …
//	C  7 4 9 5 …
//
// A and B save reading 4 pages. With C, three conversations that share 3 pages save 2·3 = 6: so the three are a prefix, of 3 tiles.

// prefixes lists the runs of an attention that share pages, in groups.
//
// Invariants: the runs of a prefix are at least two, and have at most as many tokens as a block; each is in one prefix, has few tokens and no
// window. tiles may differ between heads, since policies remove slots of each head by itself, and may be 0 for some.
type prefixes struct {
	list  []prefix
	order []int32 // the runs, in the order of their pages; its parts are the prefixes' runs
	tiles []int32 // [prefixes, KVHeads]: how many tiles all runs of the prefix share
}

// prefix is some runs that share the pages of their first tiles.
type prefix struct {
	runs   []int32
	tokens int // of all runs
	tiles  int // index of the first of prefixes.tiles
	joints int // index of the first joint: [KVHeads, runs]
}

// reset forgets the prefixes, and keeps their memory.
func (p *prefixes) reset() {
	clear(p.list)
	p.list, p.order, p.tiles = p.list[:0], p.order[:0], p.tiles[:0]
}

// leastShared is how many tiles must be shared, times the query heads that share a KV head: if many heads share a tile's keys already, a
// tile gains little, and joining the parts of a row costs about as much as this number of tiles gains.
const leastShared = 2

// fewTokens is how many tokens a run has at most to be in a prefix: those of a draft, or tokens without an alternative. More make use enough of
// each tile by themselves.
const fewTokens = 8

// find groups runs of few tokens by the pages that they share. group is the query heads that share a KV head.
func (p *prefixes) find(runs []attended, group int) {
	for i := range runs {
		if s := &runs[i]; s.tokens <= fewTokens && s.window == 0 && !s.together && s.full(0) > 0 {
			p.order = append(p.order, int32(i))
		}
	}
	if len(p.order) < 2 {
		return
	}
	slices.SortFunc(p.order, func(i, j int32) int {
		x, y := &runs[i], &runs[j]
		at := x.shared(y, 0)
		if at == min(x.full(0), y.full(0)) {
			return cmp.Or(cmp.Compare(x.full(0), y.full(0)), cmp.Compare(i, j))
		}
		return comparePages(x.heads[0].Pages[at], y.heads[0].Pages[at])
	})
	most := blockTokens(group)
	for lo := 0; lo < len(p.order); {
		first := &runs[p.order[lo]]
		n, tiles, tokens := 1, first.full(0), first.tokens
		for lo+n < len(p.order) {
			next := &runs[p.order[lo+n]]
			with := min(tiles, first.shared(next, 0))
			if with < leastShared*group || with*n < tiles*(n-1) || tokens+next.tokens > most || next.cap != first.cap {
				break
			}
			n, tiles, tokens = n+1, with, tokens+next.tokens
		}
		if n > 1 {
			p.add(runs, p.order[lo:lo+n])
		}
		lo += n
	}
}

// add adds a prefix of some of the runs.
func (p *prefixes) add(runs []attended, which []int32) {
	added := prefix{runs: which, tiles: len(p.tiles)}
	first := &runs[which[0]]
	for head := range first.heads {
		tiles := first.full(head)
		for _, run := range which[1:] {
			tiles = first.sharedUpTo(tiles, &runs[run], head)
		}
		p.tiles = append(p.tiles, int32(tiles))
	}
	for _, run := range which {
		runs[run].shares = true
		added.tokens += runs[run].tokens
	}
	p.list = append(p.list, added)
}

// comparePages orders pages by the addresses of their slabs, and by their index.
func comparePages(x, y backend.Page) int {
	return cmp.Or(cmp.Compare(uintptr(unsafe.Pointer(x.Slab)), uintptr(unsafe.Pointer(y.Slab))), cmp.Compare(x.Index, y.Index))
}

// full returns how many tiles of a head the run's first token sees as a whole.
func (s *attended) full(head int) int { return (s.len(head) - s.tokens + 1) / asm.TileKeys }

// shared returns how many of a head's full tiles, from the first on, two runs share.
func (s *attended) shared(other *attended, head int) int {
	return s.sharedUpTo(s.full(head), other, head)
}

// sharedUpTo is shared, at most a number of tiles.
func (s *attended) sharedUpTo(most int, other *attended, head int) int {
	x, y := s.heads[head].Pages, other.heads[head].Pages
	most = min(most, other.full(head))
	for i := range most {
		if x[i] != y[i] {
			return i
		}
	}
	return most
}

// cutPrefixes adds the pieces of all prefixes: those of shared tiles, and then, for each run, that of its own tiles.
func (a *attention) cutPrefixes(c cuts) {
	for i := range a.prefixes.list {
		p := &a.prefixes.list[i]
		p.joints = len(a.joints)
		for head := range a.KVHeads {
			tiles, pieces := a.prefixes.tiles[p.tiles+head], len(a.pieces)
			all := a.share(piece{
				run: p.runs[0], head: int32(head), hi: tiles, prefix: int32(i), joint: int32(len(a.joints)), joints: int32(len(p.runs)),
			}, p.tokens*a.group, c, true)
			for _, run := range p.runs {
				tokens := a.runs[run].tokens
				a.joints = append(a.joints, joint{run: run, head: int32(head), tokens: int32(tokens), pieces: int32(len(a.pieces) - pieces), parts: [2]part{all}})
				all.first += tokens * a.group
			}
		}
	}
	for i := range a.prefixes.list {
		p := &a.prefixes.list[i]
		for k, run := range p.runs {
			for head := range a.KVHeads {
				s, number, pieces := &a.runs[run], p.joints+head*len(p.runs)+k, len(a.pieces)
				own := a.share(piece{
					run: run, head: int32(head), last: int32(s.tokens), lo: a.prefixes.tiles[p.tiles+head], hi: int32(s.tiles(head)), prefix: alone,
					joint: int32(number), joints: 1,
				}, s.tokens*a.group, c, false)
				a.joints[number].pieces += int32(len(a.pieces) - pieces)
				a.joints[number].parts[1] = own
			}
		}
	}
}

// loadPrefix prepares the queries of a prefix's tokens for one KV head, and returns how many rows that are.
func (a *attention) loadPrefix(l *lane, p *prefix, head int) (rows int) {
	rows = p.tokens * a.group
	a.prepare(l, &a.runs[p.runs[0]], rows)
	at := 0
	for _, run := range p.runs {
		s := &a.runs[run]
		for r := range s.tokens * a.group {
			a.loadRow(l, at+r, a.row(a.q, s, head, 0, r))
		}
		at += s.tokens * a.group
	}
	return rows
}
