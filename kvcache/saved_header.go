package kvcache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// ErrMismatch is wrapped by the errors of Restore about a saved cache that is damaged or does not fit.
var ErrMismatch = errors.New("the state does not fit the cache")

// savedHeader begins a saved cache. After it come, all numbers little-endian: if heads have different numbers of slots in use, these
// numbers (uint32); the keys and then the values of the slots in use, in the cache's type, slot by slot and within a slot head by head,
// without the heads that have fewer slots; and then, if there is a record, for each KV head the positions (int32), the queries, the
// anchors, token by token, and for each KV head the attention received (float32 all of them).
type savedHeader struct {
	Len, Seen        uint32 // Len is that of the head that has most slots
	Tracked          uint8  // trackedAlike, trackedUnlike: there is a record
	Attention        uint8  // 1: the record has the attention received
	Queries, Anchors uint32 // the Tracking's: how many tokens' queries and keys are recorded at most
	Recent, Anchored uint32 // how many tokens' queries and keys follow
	Heads            uint32 // of queries; 0 without a record
}

// The values of Tracked besides 0. Caches saved before heads could have different numbers of slots have 0 or trackedAlike.
const (
	trackedAlike  = 1 // all heads have Len slots in use
	trackedUnlike = 3 // the numbers of the heads' slots follow
)

// maxRecordRows is the most queries or anchors that a saved cache may hold, so that a damaged header cannot ask for much: far more than
// any policy wants.
const maxRecordRows = 1 << 16

// describe fills in what the header says of a record that is on.
func (h *savedHeader) describe(r *record) {
	h.Tracked, h.Heads = trackedAlike, uint32(r.heads)
	h.Queries, h.Anchors = uint32(r.tracking.Queries), uint32(r.tracking.Anchors)
	h.Recent, h.Anchored = uint32(min(r.queries.recent, r.queries.most)), uint32(r.anchors.kept)
	if r.tracking.Attention {
		h.Attention = 1
	}
}

// has reports whether the saved cache has all that a record records.
func (h *savedHeader) has(r *record) bool {
	t := &r.tracking
	return h.Tracked != 0 && int(h.Heads) == r.heads && (h.Attention == 1 || !t.Attention) && (h.Queries > 0 || t.Queries == 0) && int64(h.Anchors) >= int64(t.Anchors)
}

// readLens returns how many slots each head has.
func (h *savedHeader) readLens(reader io.Reader, kvHeads int) ([]int, error) {
	lens := slices.Repeat([]int{int(h.Len)}, kvHeads)
	if h.Tracked != trackedUnlike {
		return lens, nil
	}
	list := make([]uint32, len(lens))
	if err := binary.Read(reader, binary.LittleEndian, list); err != nil {
		return nil, err
	}
	if slices.Max(list) != h.Len {
		return nil, fmt.Errorf("kvcache: %w: heads of %v slots, of which the longest has %d", ErrMismatch, list, h.Len)
	}
	for head, n := range list {
		lens[head] = int(n)
	}
	return lens, nil
}

// check returns an error if the header contradicts itself or the saved cache does not fit c.
func (h *savedHeader) check(c *Cache) error {
	switch r := &c.record; {
	case h.Len > h.Seen || h.Seen > math.MaxInt32:
		return fmt.Errorf("%d slots of %d tokens", h.Len, h.Seen)
	case c.window.size > 0:
		if h.Tracked != 0 || !c.window.canHold(int(h.Len), int(h.Seen)) {
			return fmt.Errorf("%d slots of %d tokens, of a window of %d", h.Len, h.Seen, c.window.size)
		}
		return nil
	case int64(h.Len) > int64(c.capacity):
		return fmt.Errorf("it has %d slots, and the cache's capacity is %d: it must be at least as many", h.Len, c.capacity)
	case h.Tracked != 0 && h.Tracked != trackedAlike && h.Tracked != trackedUnlike || h.Attention > 1 || h.Recent > min(h.Queries, maxRecordRows) || h.Anchored > min(h.Anchors, maxRecordRows):
		return fmt.Errorf("header %+v", *h)
	case !r.on() && h.Tracked == trackedUnlike && h.Len > 0:
		return fmt.Errorf("its heads have different numbers of slots, which needs a record of positions: read it with the same eviction policy")
	case r.on() && h.Len > 0 && !h.has(r):
		return fmt.Errorf("it was saved without the record that is wanted now (%+v): save with the same eviction policy", r.tracking)
	}
	return nil
}
