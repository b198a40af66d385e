package kvcache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/antigravity-go/antigravity/tensor"
)

// ErrState is wrapped by the errors of ReadState about a state that is damaged or does not fit the cache.
var ErrState = errors.New("the state does not fit the cache")

// stateHeader begins a cache's state. After it come, all numbers little-endian: the keys and the values of the slots in use, in the
// cache's type, and then, if there is a record, for each KV head the positions (int32), the queries, the anchors, and for each KV
// head the attention received (float32 all of them).
type stateHeader struct {
	Len, Seen        uint32
	Tracked          uint8  // 1: there is a record
	Attention        uint8  // 1: the record has the attention received
	Queries, Anchors uint32 // the Tracking's: how many tokens' queries and keys are recorded at most
	Recent, Anchored uint32 // how many tokens' queries and keys follow
	Heads            uint32 // of queries; 0 without a record
}

// maxRecordRows is the most queries or anchors that a state may hold, so that a damaged header cannot ask for much: far more than
// any policy wants.
const maxRecordRows = 1 << 16

// WriteState writes the slots in use, in the cache's type, and the record if there is one. It is not a format for other programs:
// the cache's shape and type are not part of it.
func (c *Cache) WriteState(w io.Writer) error {
	if err := c.usable(); err != nil {
		return err
	}
	header := stateHeader{Len: uint32(c.len), Seen: uint32(c.seen)}
	r := c.record
	if r != nil {
		header.Tracked, header.Heads = 1, uint32(r.heads)
		header.Queries, header.Anchors = uint32(r.Queries), uint32(r.Anchors)
		header.Recent, header.Anchored = uint32(min(r.recent, r.Queries)), uint32(r.anchored)
		if r.received != nil {
			header.Attention = 1
		}
	}
	if err := binary.Write(w, binary.LittleEndian, &header); err != nil {
		return err
	}
	for _, t := range c.sides() {
		if err := c.writeRows(w, t, 0, c.len); err != nil {
			return err
		}
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
		if err := c.writeRows(w, r.anchors, 0, r.anchored); err != nil {
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
	if c.len != 0 || c.seen != 0 {
		return fmt.Errorf("kvcache: read a state into a cache with %d slots in use: it must be empty", c.len)
	}
	var header stateHeader
	if err := binary.Read(reader, binary.LittleEndian, &header); err != nil {
		return err
	}
	if err := c.checkHeader(&header); err != nil {
		return fmt.Errorf("kvcache: %w: %w", ErrState, err)
	}
	n := int(header.Len)
	for _, t := range c.sides() {
		if err := c.readRows(reader, t, n); err != nil {
			return err
		}
	}
	if header.Tracked == 1 {
		if err := c.readRecord(reader, &header); err != nil {
			return err
		}
	}
	c.len, c.seen = n, int(header.Seen)
	if c.record != nil {
		c.record.observed = c.seen
	}
	return nil
}

// checkHeader returns an error if the header contradicts itself or the state does not fit the cache.
func (c *Cache) checkHeader(h *stateHeader) error {
	switch r := c.record; {
	case h.Len > h.Seen || h.Seen > math.MaxInt32:
		return fmt.Errorf("%d slots of %d tokens", h.Len, h.Seen)
	case int64(h.Len) > int64(c.capacity):
		return fmt.Errorf("it has %d slots, and the cache's capacity is %d: it must be at least as many", h.Len, c.capacity)
	case h.Tracked > 1 || h.Attention > 1 || h.Recent > min(h.Queries, maxRecordRows) || h.Anchored > min(h.Anchors, maxRecordRows):
		return fmt.Errorf("header %+v", *h)
	case r == nil || h.Len == 0 || h.Tracked == 1 && int(h.Heads) == r.heads && (h.Attention == 1 || r.received == nil) &&
		(h.Queries > 0 || r.queries == nil) && int64(h.Anchors) >= int64(r.Anchors):
		return nil
	}
	return fmt.Errorf("it was saved without the record that is wanted now (%+v): save with the same eviction policy", c.record.Tracking)
}

// readRecord reads the state's record. What the cache does not record is read and thrown away.
func (c *Cache) readRecord(reader io.Reader, h *stateHeader) error {
	r, n := c.record, int(h.Len)
	positions := make([]int32, n)
	for head := range c.KVHeads() {
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
		if err := c.readRows(reader, r.anchors, kept); err != nil {
			return err
		}
		r.anchored = kept
	}
	if err := discardFloats(reader, (int(h.Anchored)-kept)*row); err != nil || h.Attention == 0 {
		return err
	}
	if r == nil || r.received == nil {
		return discardFloats(reader, c.KVHeads()*n)
	}
	sums := make([]float32, c.KVHeads()*c.capacity)
	for head := range c.KVHeads() {
		if err := binary.Read(reader, binary.LittleEndian, sums[head*c.capacity:][:n]); err != nil {
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
const batchRows = 64

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
