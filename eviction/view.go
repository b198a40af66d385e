package eviction

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/kvcache"
)

// View is what policies see of one layer's cache. kvcache.Cache implements it; a test can do so with plain slices. A head is
// always a KV head, and a slot is the place of a token's key and value in a head: slot 0 is the earliest, and all heads hold the
// latest token in their last slot. Slices that a View returns are the caller's unless the method says otherwise. A
// cache need not record what the policy's Tracking does not ask for: the methods that would return it then return an error or nil.
type View interface {
	// Len returns the number of slots that the head with the most slots has in use.
	Len() int
	// HeadLen returns the number of slots that a head has in use: Len in all heads, unless a policy gave heads different shares.
	HeadLen(head int) int
	// Seen returns the number of tokens so far, evicted ones included: the position of the next token.
	Seen() int
	// KVHeads returns the number of heads.
	KVHeads() int
	// HeadDim returns the number of elements of a key and of a value.
	HeadDim() int
	// Positions returns the position of the token in each slot of a head, ascending. The slice is the cache's own: it must not be
	// changed, and is valid until the cache changes. It is nil if nothing is recorded.
	Positions(head int) []int32
	// EachKey calls f for every slot of a head, in order, with its key [HeadDim], to which RoPE has been applied. The slice is valid
	// during the call of f.
	EachKey(head int, f func(slot int, key []float32)) error
	// Each is EachKey with the slot's value [HeadDim] too.
	Each(head int, f func(slot int, key, value []float32)) error
	// Received returns the attention that each slot has received from all queries that have seen it, summed over the queries and over
	// the query heads that share the KV head: [KVHeads][HeadLen].
	Received() ([][]float32, error)
	// RecentAttention returns the attention that the queries of the latest tokens, up to window of them, give to each slot, summed as
	// Received is: [KVHeads][HeadLen], and the number of queries.
	RecentAttention(window int) (sums [][]float32, queries int, err error)
	// RecentQueries returns the queries of the latest tokens, up to window of them, in the order of the tokens. A token's row has the
	// queries of all query heads one after the other, [heads·HeadDim], with RoPE applied; head h of KVHeads is shared by the same
	// number of consecutive query heads, in order.
	RecentQueries(window int) ([][]float32, error)
	// Rotation returns the model's RoPE, nil if nothing is recorded.
	Rotation() kvcache.Rotation
	// Backend returns the device on which the cache lives, for policies that have arithmetic to do.
	Backend() backend.Backend
}

// Cache is a View that can also give slots up, as a Manager needs it. kvcache.Cache implements it.
type Cache interface {
	View
	// Keep gives up all slots but those listed, which move to the front: slots is what Policy.Evict returned.
	Keep(slots [][]int) error
	// MemoryUsage returns the bytes of the keys and values in use.
	MemoryUsage() int64
}

// usedSlots returns the number of slots in use in all heads together.
func usedSlots(v View) (n int) {
	for h := range v.KVHeads() {
		n += v.HeadLen(h)
	}
	return n
}

// even reports whether all heads have the same number of slots in use.
func even(v View) bool {
	for h := range v.KVHeads() {
		if v.HeadLen(h) != v.Len() {
			return false
		}
	}
	return true
}

// earlier is a cache as it was some tokens ago, in the numbers that Policy.ShouldEvict may go by.
type earlier struct {
	View
	back int // tokens that were not there yet, at most HeadLen of each head; negative: -back more are there
}

func (e *earlier) Len() int             { return e.View.Len() - e.back }
func (e *earlier) HeadLen(head int) int { return e.View.HeadLen(head) - e.back }
func (e *earlier) Seen() int            { return e.View.Seen() - e.back }
