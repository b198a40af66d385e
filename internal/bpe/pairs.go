package bpe

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// noRank is the rank of two tokens that do not merge; every merge's rank is below it.
const noRank = math.MaxUint32

// pairs maps two adjacent tokens to the token that they merge into: a hash table with open addressing and linear probing,
// because merging does little else than look pairs up. The multiplier is drawn at random, so that a hostile file cannot
// choose its merges to collide.
//
// Invariants: len(slots) is a power of two, 2^(64-shift), and at least a third of the slots are free, so that a search ends.
type pairs struct {
	slots      []pair
	multiplier uint64 // odd
	shift      int
}

// pair is a slot of the table.
type pair struct {
	key  uint64 // left token in the upper half, right token + 1 in the lower; 0 for a free slot
	rank uint32 // lower merges first
	id   int32
}

// newPairs returns a table with room for n merges.
func newPairs(n int) *pairs {
	width := max(bits.Len(uint(n+n/2)), 2) // at most two thirds full
	return &pairs{
		slots:      make([]pair, 1<<width),
		multiplier: rand.Uint64() | 1,
		shift:      64 - width,
	}
}

// pairKey is pair.key.
func pairKey(left, right int32) uint64 { return uint64(left)<<32 | uint64(right+1) }

// find returns the slot that holds key, or the free slot in which key belongs.
func (p *pairs) find(key uint64) *pair {
	mask := uint64(len(p.slots) - 1)
	for i := key * p.multiplier >> p.shift; ; i = (i + 1) & mask {
		if s := &p.slots[i&mask]; s.key == key || s.key == 0 {
			return s
		}
	}
}

// set makes left and right merge into id. A pair that is set again takes the later rank, as in Hugging Face's tokenizers.
func (p *pairs) set(left, right int32, rank uint32, id int32) {
	key := pairKey(left, right)
	*p.find(key) = pair{key, rank, id}
}

// get returns what left and right merge into, and noRank when they do not.
func (p *pairs) get(left, right int32) (rank uint32, id int32) {
	s := p.find(pairKey(left, right))
	if s.key == 0 {
		return noRank, 0
	}
	return s.rank, s.id
}
