package bpe

import "slices"

// maxShort is the number of symbols up to which scanning for the best pair beats keeping the pairs in a heap.
const maxShort = 40

// maxSymbols bounds a piece that is merged as a whole, so that positions fit 32 bits; longer pieces are cut.
const maxSymbols = 1 << 30

// A merger merges the symbols of pieces. It holds the memory that one call to Encode uses for each piece.
type merger struct {
	pairs *pairs
	ids   []int32          // the symbols of the present piece
	short [maxShort]symbol // memory of mergeShort
	long  []node           // memory of mergeLong
	queue []uint64         // memory of mergeLong: a heap of candidates
}

// symbol is a token of a short piece, and the token and the rank of the merge with its right neighbour. rank is noRank if there is no such
// merge.
type symbol struct {
	id, merged int32
	rank       uint32
}

// node is a token of a long piece, in a doubly linked list: prev and next are indices of nodes, or -1 at an end of the list. A node that a
// merge has removed from the list has the id -1.
type node struct{ id, prev, next int32 }

// merge appends the tokens that the symbols in m.ids merge into: the adjacent pair of the lowest rank first, the leftmost
// among equals, until no pair merges. This is byte-pair encoding as Sennrich, Haddow and Birch applied it to words
// ("Neural Machine Translation of Rare Words with Subword Units", 2016).
func (m *merger) merge(dst []int32) []int32 {
	ids := m.ids
	for len(ids) > maxSymbols {
		dst = m.mergeLong(dst, ids[:maxSymbols])
		ids = ids[maxSymbols:]
	}
	if len(ids) <= maxShort {
		return m.mergeShort(dst, ids)
	}
	return m.mergeLong(dst, ids)
}

// mergeShort is merge for at most maxShort symbols, in quadratic time.
func (m *merger) mergeShort(dst, ids []int32) []int32 {
	s := m.short[:len(ids)]
	for i, id := range ids {
		s[i].id = id
	}
	for i := range s {
		m.rate(s, i)
	}
	for {
		best, rank := 0, uint32(noRank)
		for i := range s {
			if s[i].rank < rank {
				best, rank = i, s[i].rank
			}
		}
		if rank == noRank {
			break
		}
		s[best].id = s[best].merged
		s = append(s[:best+1], s[best+2:]...)
		m.rate(s, best)
		if best > 0 {
			m.rate(s, best-1)
		}
	}
	for i := range s {
		dst = append(dst, s[i].id)
	}
	return dst
}

// rate looks up what the symbol at i and its right neighbour merge into.
func (m *merger) rate(s []symbol, i int) {
	if i+1 == len(s) {
		s[i].rank = noRank
		return
	}
	s[i].rank, s[i].merged = m.pairs.get(s[i].id, s[i+1].id)
}

// mergeLong is merge for any number n of symbols, in time n log n. The queue holds candidates: pairs that can merge. A merge
// changes the pairs on both sides, and leaves their old candidates in the queue; apply recognises such a candidate, because
// its rank is no longer that of the pair at its position.
func (m *merger) mergeLong(dst, ids []int32) []int32 {
	s := slices.Grow(m.long[:0], len(ids))
	for i, id := range ids {
		s = append(s, node{id, int32(i) - 1, int32(i) + 1})
	}
	s[len(s)-1].next = -1
	m.long = s

	m.queue = slices.Grow(m.queue[:0], len(ids))
	for i := range s[:len(s)-1] {
		if rank, _ := m.pairs.get(s[i].id, s[i+1].id); rank != noRank {
			m.queue = append(m.queue, candidate(rank, int32(i)))
		}
	}
	heapify(m.queue)
	for len(m.queue) > 0 {
		best := m.queue[0]
		m.queue = heapPop(m.queue)
		m.apply(s, uint32(best>>32), int32(best&(1<<32-1)))
	}
	for i := int32(0); i >= 0; i = s[i].next {
		dst = append(dst, s[i].id)
	}
	return dst
}

// candidate is the pair of the node at a position and the next one, as an element of the queue: the lowest rank comes first,
// and the leftmost position among equals.
func candidate(rank uint32, position int32) uint64 { return uint64(rank)<<32 | uint64(position) }

// apply merges the node at i and the next one, if the rank of this pair is still rank, and queues the new pairs on both
// sides.
func (m *merger) apply(s []node, rank uint32, i int32) {
	n := &s[i]
	if n.id < 0 || n.next < 0 {
		return
	}
	now, id := m.pairs.get(n.id, s[n.next].id)
	if now != rank {
		return
	}
	swallowed := &s[n.next]
	swallowed.id = -1
	n.id, n.next = id, swallowed.next
	if n.next >= 0 {
		s[n.next].prev = i
		m.push(s, i, n.next)
	}
	if n.prev >= 0 {
		m.push(s, n.prev, i)
	}
}

// push queues the pair of the adjacent nodes i and j.
func (m *merger) push(s []node, i, j int32) {
	if rank, _ := m.pairs.get(s[i].id, s[j].id); rank != noRank {
		m.queue = heapPush(m.queue, candidate(rank, i))
	}
}
