package kvcache

import "github.com/antigravity-go/antigravity/backend"

// window says which tokens a cache with a window may give up. A cache without a window has the zero value and gives no tokens up.
//
// With pages of 128 slots and a window of 40, the token at position 300 sees the positions 261 to 300. No token sees the first 2 pages any
// more, the positions 0 to 255, and the cache drops them. It can then go back to 295 tokens and no further: the next token, at position
// 295, sees the positions 256 to 295.
//
// dropped is a multiple of backend.PageSlots, and 0 if size is 0.
type window struct {
	size    int // positions that a token sees, its own included; 0: all
	dropped int // number of first tokens that gave their pages back
}

// unseen returns how many of the first slots, in whole pages, no token sees that is at position seen-1 or later.
func (w *window) unseen(seen int) int {
	if w.size == 0 {
		return 0
	}
	return max(seen-w.size, 0) / backend.PageSlots * backend.PageSlots
}

// least returns the shortest length to which a cache can go back that has dropped some slots.
func (w *window) least(dropped int) int {
	if dropped == 0 {
		return 0
	}
	return dropped + w.size - 1
}

// canHold reports whether a cache that has seen some tokens can have a number of slots.
func (w *window) canHold(slots, seen int) bool {
	dropped := seen - slots
	return dropped%backend.PageSlots == 0 && seen >= w.least(dropped)
}
