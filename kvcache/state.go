package kvcache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// ErrState is wrapped by the errors of ReadState about a state that is damaged or does not fit the cache.
var ErrState = errors.New("the state does not fit the cache")

// stateHeader begins a cache's state. After it come, all numbers little-endian: where heads have different numbers of slots in use, these
// numbers (uint32); the keys and then the values of the slots in use, in the cache's type, slot by slot and within a slot head by head,
// without the heads that have fewer slots; and then, if there is a record, for each KV head the positions (int32), the queries, the
// anchors, token by token, and for each KV head the attention received (float32 all of them).
type stateHeader struct {
	Len, Seen        uint32 // Len is that of the head that has most slots
	Tracked          uint8  // trackedAlike, trackedUnlike: there is a record
	Attention        uint8  // 1: the record has the attention received
	Queries, Anchors uint32 // the Tracking's: how many tokens' queries and keys are recorded at most
	Recent, Anchored uint32 // how many tokens' queries and keys follow
	Heads            uint32 // of queries; 0 without a record
}

// The values of Tracked beside 0. States from before heads could have different numbers of slots have 0 or trackedAlike.
const (
	trackedAlike  = 1 // all heads have Len slots in use
	trackedUnlike = 3 // the numbers of the heads' slots follow
)

// maxRecordRows is the most queries or anchors that a state may hold, so that a damaged header cannot ask for much: far more than
// any policy wants.
const maxRecordRows = 1 << 16

// WriteState writes the slots in use, in the cache's type, and the record if there is one. It is not a format for other programs:
// the cache's shape and type are not part of it.
func (c *Cache) WriteState(w io.Writer) error {
	if err := c.usable(); err != nil {
		return err
	}
	header := stateHeader{Len: uint32(c.Len()), Seen: uint32(c.seen)}
	r := c.record
	lens := make([]uint32, c.KVHeads())
	alike := true
	for head := range lens {
		lens[head] = uint32(c.HeadLen(head))
		alike = alike && lens[head] == header.Len
	}
	if r != nil {
		header.Tracked, header.Heads = trackedAlike, uint32(r.heads)
		header.Queries, header.Anchors = uint32(r.Queries), uint32(r.Anchors)
		header.Recent, header.Anchored = uint32(min(r.recent, r.Queries)), uint32(r.anchored)
		if r.received != nil {
			header.Attention = 1
		}
	}
	if !alike {
		if r == nil {
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
	if err := c.writeSlots(w); err != nil {
		return err
	}
	if r == nil {
		return nil
	}
	for _, p := range r.positions {
		if err := binary.Write(w, binary.LittleEndian, p); err != nil {
			return err
		}
	}
	if r.queries != nil {
		if err := c.writeRows(w, r.queries, r.recent-int(header.Recent), r.recent); err != nil {
			return err
		}
	}
	if r.anchors != nil {
		if err := r.writeAnchors(w); err != nil {
			return err
		}
	}
	if r.received == nil {
		return nil
	}
	sums, err := c.Received()
	if err != nil {
		return err
	}
	for _, row := range sums {
		if err := binary.Write(w, binary.LittleEndian, row); err != nil {
			return err
		}
	}
	return nil
}

// ReadState fills an empty cache from what WriteState wrote for a cache of the same shape and type. The cache may record less than
// the state has, not more. When ReadState fails the cache must not be used any more.
func (c *Cache) ReadState(reader io.Reader) error {
	if c.Len() != 0 || c.seen != 0 {
		return fmt.Errorf("kvcache: read a state into a cache with %d slots in use: it must be empty", c.Len())
	}
	var header stateHeader
	if err := binary.Read(reader, binary.LittleEndian, &header); err != nil {
		return err
	}
	if err := c.checkHeader(&header); err != nil {
		return fmt.Errorf("kvcache: %w: %w", ErrState, err)
	}
	lens, err := c.readLens(reader, &header)
	if err != nil {
		return err
	}
	if c.slots.Window > 0 {
		c.dropped = int(header.Seen - header.Len)
	}
	if err := c.readSlots(reader, lens); err != nil {
		return err
	}
	c.seen = int(header.Seen)
	if header.Tracked != 0 {
		if err := c.readRecord(reader, &header); err != nil {
			return err
		}
	}
	if c.record != nil {
		c.record.observed = c.seen
	}
	return nil
}

// readLens returns how many slots each head has.
func (c *Cache) readLens(reader io.Reader, h *stateHeader) ([]int, error) {
	lens := slices.Repeat([]int{int(h.Len)}, c.KVHeads())
	if h.Tracked != trackedUnlike {
		return lens, nil
	}
	list := make([]uint32, len(lens))
	if err := binary.Read(reader, binary.LittleEndian, list); err != nil {
		return nil, err
	}
	if slices.Max(list) != h.Len {
		return nil, fmt.Errorf("kvcache: %w: heads of %v slots, of which the longest has %d", ErrState, list, h.Len)
	}
	for head, n := range list {
		lens[head] = int(n)
	}
	return lens, nil
}

// checkHeader returns an error if the header contradicts itself or the state does not fit the cache.
func (c *Cache) checkHeader(h *stateHeader) error {
	switch r := c.record; {
	case h.Len > h.Seen || h.Seen > math.MaxInt32:
		return fmt.Errorf("%d slots of %d tokens", h.Len, h.Seen)
	case c.slots.Window > 0:
		if h.Tracked != 0 || !c.canHold(int(h.Len), int(h.Seen)) {
			return fmt.Errorf("%d slots of %d tokens, of a window of %d", h.Len, h.Seen, c.slots.Window)
		}
		return nil
	case int64(h.Len) > int64(c.capacity):
		return fmt.Errorf("it has %d slots, and the cache's capacity is %d: it must be at least as many", h.Len, c.capacity)
	case h.Tracked != 0 && h.Tracked != trackedAlike && h.Tracked != trackedUnlike || h.Attention > 1 || h.Recent > min(h.Queries, maxRecordRows) || h.Anchored > min(h.Anchors, maxRecordRows):
		return fmt.Errorf("header %+v", *h)
	case r == nil && h.Tracked != trackedUnlike || h.Len == 0 || r != nil && h.Tracked != 0 && int(h.Heads) == r.heads && (h.Attention == 1 || r.received == nil) &&
		(h.Queries > 0 || r.queries == nil) && int64(h.Anchors) >= int64(r.Anchors):
		return nil
	}
	if c.record == nil {
		return fmt.Errorf("its heads have different numbers of slots, which needs a record of positions: read it with the same eviction policy")
	}
	return fmt.Errorf("it was saved without the record that is wanted now (%+v): save with the same eviction policy", c.record.Tracking)
}

// readRecord reads the state's record. What the cache does not record is read and thrown away.
func (c *Cache) readRecord(reader io.Reader, h *stateHeader) error {
	r := c.record
	for head := range c.KVHeads() {
		positions := make([]int32, c.HeadLen(head))
		if err := binary.Read(reader, binary.LittleEndian, positions); err != nil {
			return err
		}
		for i, p := range positions {
			if p < 0 || uint32(p) >= h.Seen || i > 0 && p <= positions[i-1] {
				return fmt.Errorf("kvcache: %w: slot %d has position %d of %d", ErrState, i, p, h.Seen)
			}
		}
		if r != nil {
			r.positions[head] = append(r.positions[head], positions...)
		}
	}
	row := int(h.Heads) * c.HeadDim()
	if r != nil && r.queries != nil {
		skip := max(int(h.Recent)-r.Queries, 0) // the earliest queries, where the cache records fewer than the state has
		if err := discardFloats(reader, skip*row); err != nil {
			return err
		}
		r.recent = int(h.Recent) - skip
		if err := c.readRows(reader, r.queries, r.recent); err != nil {
			return err
		}
	} else if err := discardFloats(reader, int(h.Recent)*row); err != nil {
		return err
	}
	row = c.KVHeads() * c.HeadDim()
	kept := 0
	if r != nil && r.anchors != nil {
		kept = min(int(h.Anchored), r.Anchors)
		if err := r.readAnchors(reader, kept); err != nil {
			return err
		}
	}
	if err := discardFloats(reader, (int(h.Anchored)-kept)*row); err != nil || h.Attention == 0 {
		return err
	}
	if r == nil || r.received == nil {
		return discardFloats(reader, c.total())
	}
	sums := make([]float32, c.KVHeads()*c.capacity)
	for head := range c.KVHeads() {
		if err := binary.Read(reader, binary.LittleEndian, sums[head*c.capacity:][:c.HeadLen(head)]); err != nil {
			return err
		}
	}
	return r.writeReceived(sums)
}

// discardFloats reads n float32 and throws them away.
func discardFloats(r io.Reader, n int) error {
	const floatBytes = 4
	_, err := io.CopyN(io.Discard, r, floatBytes*int64(n))
	return err
}

// batchRows is how many rows are copied between device and host at once.
const batchRows = backend.PageSlots

// writeRows writes rows [lo, hi) of a tensor, the bytes that it has in its type.
func (c *Cache) writeRows(w io.Writer, t *tensor.Tensor, lo, hi int) error {
	bytes := make([]byte, 0, batchRows*t.Size()/t.Shape().Dim(0))
	for ; lo < hi; lo += batchRows {
		part, err := t.Slice(lo, min(lo+batchRows, hi))
		if err != nil {
			return err
		}
		if err := c.backend.ReadBuffer(part, bytes[:part.Size()]); err != nil {
			return err
		}
		if _, err := w.Write(bytes[:part.Size()]); err != nil {
			return err
		}
	}
	return nil
}

// readRows fills the first n rows of a tensor from what writeRows wrote.
func (c *Cache) readRows(reader io.Reader, t *tensor.Tensor, n int) error {
	if n > t.Shape().Dim(0) {
		return fmt.Errorf("kvcache: %w: %d rows for %v", ErrState, n, t)
	}
	dims := t.Shape().Dims()
	row := t.Shape().NumElements() / dims[0]
	dims[0] = batchRows
	batch, err := tensor.New(nil, t.DType(), tensor.ShapeOf(dims...))
	if err != nil {
		return err
	}
	defer batch.Free()
	for lo := 0; lo < n; lo += batchRows {
		m := min(batchRows, n-lo)
		if _, err := io.ReadFull(reader, batch.Data()[:m*batch.Size()/batchRows]); err != nil {
			return err
		}
		if err := c.backend.CopySlice(batch, t, 0, lo*row, m*row); err != nil {
			return err
		}
		if err := c.backend.Synchronize(); err != nil { // the batch is used again
			return err
		}
	}
	return nil
}

// writeAnchors writes the keys of the anchored tokens, token by token.
func (r *record) writeAnchors(w io.Writer) error {
	all := make([]float32, r.anchors.Shape().NumElements())
	if err := backend.ReadFloats(r.backend, r.anchors, all); err != nil {
		return err
	}
	d := r.anchors.Shape().Dim(-1)
	for i := range r.anchored {
		for head := range r.positions {
			if err := binary.Write(w, binary.LittleEndian, all[(head*r.Anchors+i)*d:][:d]); err != nil {
				return err
			}
		}
	}
	return nil
}

// readAnchors reads the keys of n tokens.
func (r *record) readAnchors(reader io.Reader, n int) error {
	all, d := make([]float32, r.anchors.Shape().NumElements()), r.anchors.Shape().Dim(-1)
	for i := range n {
		for head := range r.positions {
			if err := binary.Read(reader, binary.LittleEndian, all[(head*r.Anchors+i)*d:][:d]); err != nil {
				return err
			}
		}
	}
	host, err := tensor.FromFloats(all, r.anchors.Shape().Dims()...)
	if err != nil {
		return err
	}
	defer host.Free()
	if err := r.backend.CopySlice(host, r.anchors, 0, 0, len(all)); err != nil {
		return err
	}
	r.anchored = n
	return r.backend.Synchronize() // host is freed on return: the copy must be done by then
}
