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

// The values of Tracked besides 0. What was saved before heads could have different numbers of slots has 0 or trackedAlike.
const (
	trackedAlike  = 1 // all heads have Len slots in use
	trackedUnlike = 3 // the numbers of the heads' slots follow
)

// maxRecordRows is the most queries or anchors that a saved cache may hold, so that a damaged header cannot ask for much: far more than
// any policy wants.
const maxRecordRows = 1 << 16

// Save writes the slots in use, in the cache's type, and the record if there is one. It is not a format for other programs: the cache's
// shape and type are not part of it.
func (c *Cache) Save(w io.Writer) error {
	if err := c.usable(); err != nil {
		return err
	}
	header := savedHeader{Len: uint32(c.Len()), Seen: uint32(c.seen)}
	c.record.describe(&header)
	lens := make([]uint32, c.KVHeads())
	alike := true
	for head := range lens {
		lens[head] = uint32(c.HeadLen(head))
		alike = alike && lens[head] == header.Len
	}
	if !alike {
		if c.record == nil {
			return fmt.Errorf("kvcache: write a state of heads with %v slots: without a record of their positions they must have the same number", lens)
		}
		header.Tracked = trackedUnlike
	}
	if err := binary.Write(w, binary.LittleEndian, &header); err != nil {
		return err
	}
	if !alike {
		if err := binary.Write(w, binary.LittleEndian, lens); err != nil {
			return err
		}
	}
	if err := c.pages.writeTo(w); err != nil {
		return err
	}
	return c.record.writeTo(w, &header)
}

// Restore fills the empty cache with what Save wrote for a cache of the same shape and type. The cache may record less than was saved,
// not more. When Restore fails the cache must not be used any more.
func (c *Cache) Restore(reader io.Reader) error {
	if c.Len() != 0 || c.seen != 0 {
		return fmt.Errorf("kvcache: read a state into a cache with %d slots in use: it must be empty", c.Len())
	}
	var header savedHeader
	if err := binary.Read(reader, binary.LittleEndian, &header); err != nil {
		return err
	}
	if err := header.check(c); err != nil {
		return fmt.Errorf("kvcache: %w: %w", ErrMismatch, err)
	}
	lens, err := header.readLens(reader, c.KVHeads())
	if err != nil {
		return err
	}
	if c.window.size > 0 {
		c.window.dropped = int(header.Seen - header.Len)
	}
	if err := c.pages.readFrom(reader, lens); err != nil {
		return err
	}
	c.seen = int(header.Seen)
	r := c.record
	if r == nil { // what was recorded is read and thrown away
		r = &record{pages: c.pages, positions: make([][]int32, c.KVHeads())}
	}
	if r.observed = c.seen; header.Tracked == 0 {
		return nil
	}
	return r.readFrom(reader, &header)
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

// check returns an error if the header contradicts itself or what was saved does not fit the cache.
func (h *savedHeader) check(c *Cache) error {
	switch r := c.record; {
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
	case r == nil && h.Tracked == trackedUnlike && h.Len > 0:
		return fmt.Errorf("its heads have different numbers of slots, which needs a record of positions: read it with the same eviction policy")
	case r != nil && h.Len > 0 && !h.records(r):
		return fmt.Errorf("it was saved without the record that is wanted now (%+v): save with the same eviction policy", r.tracking)
	}
	return nil
}

// records reports whether the saved cache has all that a record records.
func (h *savedHeader) records(r *record) bool {
	return h.Tracked != 0 && int(h.Heads) == r.heads && (h.Attention == 1 || !r.tracking.Attention) &&
		(h.Queries > 0 || r.tracking.Queries == 0) && int64(h.Anchors) >= int64(r.tracking.Anchors)
}
