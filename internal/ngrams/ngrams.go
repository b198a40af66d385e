// Package ngrams finds an earlier occurrence of the last tokens of a sequence: the search behind prompt lookup.
package ngrams

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Index holds tokens, and for each n-gram of min to max tokens in them the place after its latest occurrence. Appending a token and finding
// the longest n-gram cost O(max), whatever was appended before and, since the hash is seeded, even if an attacker chose it.
//
// A negative token separates sequences: no n-gram contains one.
//
// Invariants: each table has one slot for each n-gram of its length that has a token after it; len(table) is a power of two and at
// least twice len(tokens). Only the first math.MaxInt32 tokens are indexed.
//
// Find may be called by many goroutines at once while nobody appends.
type Index[T ~int32] struct {
	min, max int
	seed     uint64
	tokens   []T
	tables   [][]int32 // tables[k-min] is for n-grams of k tokens: open addressing, 0 for a free slot, else the index after the n-gram
	indexed  int       // the n-grams that end before here, and those that end here, are in the tables
}

// New returns an empty index of n-grams of min to max tokens, where 1 ≤ min ≤ max.
func New[T ~int32](min, max int) *Index[T] {
	return &Index[T]{min: min, max: max, seed: rand.Uint64(), tables: make([][]int32, max-min+1)}
}

// Tokens returns the tokens that were appended. The slice belongs to the index and is valid until Append or Reset.
func (x *Index[T]) Tokens() []T { return x.tokens }

// Reset forgets all tokens and keeps the memory.
func (x *Index[T]) Reset() {
	x.tokens, x.indexed = x.tokens[:0], 0
	for _, table := range x.tables {
		clear(table)
	}
}

// Append adds copies of tokens. Memory grows by doubling; if it suffices, nothing is allocated.
func (x *Index[T]) Append(tokens ...T) {
	x.grow(len(x.tokens) + len(tokens))
	x.tokens = append(x.tokens, tokens...)
	// An n-gram enters when there is a token after it: the end of the sequence does not find itself.
	for ; x.indexed+1 < min(len(x.tokens), math.MaxInt32); x.indexed++ {
		if end := x.indexed + 1; x.tokens[end] >= 0 {
			x.insert(end)
		}
	}
}

// Find looks for the longest n-gram that ends sequence and occurred before. next is the index of the token after that occurrence, of the
// latest one if there are several. length is the n-gram's length, or 0 if no n-gram of min tokens or more was found.
func (x *Index[T]) Find(sequence []T) (next, length int) {
	if len(x.tokens) == 0 {
		return 0, 0
	}
	for k, h := range x.hashes(sequence) {
		table := x.tables[k-x.min]
		slot := x.slot(table, h, sequence[len(sequence)-k:])
		if table[slot] == 0 {
			break // longer n-grams end with this one, so they did not occur either
		}
		next, length = int(table[slot]), k
	}
	return next, length
}

// insert notes that the n-grams that end before tokens[end] occur there.
func (x *Index[T]) insert(end int) {
	for k, h := range x.hashes(x.tokens[:end]) {
		table := x.tables[k-x.min]
		table[x.slot(table, h, x.tokens[end-k:end])] = int32(end)
	}
}

// hashes yields the length and the hash of each n-gram that ends a sequence, the shortest first.
func (x *Index[T]) hashes(sequence []T) func(yield func(int, uint64) bool) {
	return func(yield func(int, uint64) bool) {
		h := x.seed
		for k := 1; k <= min(x.max, len(sequence)); k++ {
			t := sequence[len(sequence)-k]
			if t < 0 {
				return
			}
			hi, lo := bits.Mul64(h^uint64(t)^0x9e3779b97f4a7c15, x.seed|1) // a step of wyhash, github.com/wangyi-fudan/wyhash
			h = hi ^ lo
			if k >= x.min && !yield(k, h) {
				return
			}
		}
	}
}

// slot returns the slot of a table that has an n-gram, or may get it.
func (x *Index[T]) slot(table []int32, hash uint64, gram []T) int {
	mask := uint64(len(table) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		end := int(table[i])
		if end == 0 || slices.Equal(x.tokens[end-len(gram):end], gram) {
			return int(i)
		}
	}
}

// grow makes room for n tokens.
func (x *Index[T]) grow(n int) {
	if n <= cap(x.tokens) {
		return
	}
	room := max(1<<bits.Len(uint(2*n-1)), 1024) // at least twice the room needed, so that a while passes before the next time
	x.tokens = append(make([]T, 0, room), x.tokens...)
	for i, old := range x.tables {
		table := make([]int32, 2*room)
		x.tables[i] = table
		for _, end := range old {
			if end == 0 {
				continue
			}
			gram := x.tokens[int(end)-x.min-i : end]
			var hash uint64
			for _, hash = range x.hashes(gram) { // the last is the whole n-gram's
			}
			table[x.slot(table, hash, gram)] = end
		}
	}
}
