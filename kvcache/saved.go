package kvcache

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Save writes the slots in use, in the cache's type, and the record if there is one. It is not a format for other programs: the cache's
// shape and type are not part of it.
func (c *Cache) Save(w io.Writer) error {
	if err := c.usable(); err != nil {
		return err
	}
	header := savedHeader{Len: uint32(c.Len()), Seen: uint32(c.seen)}
	if c.record.on() {
		header.describe(&c.record)
	}
	lens := make([]uint32, c.KVHeads())
	alike := true
	for head := range lens {
		lens[head] = uint32(c.HeadLen(head))
		alike = alike && lens[head] == header.Len
	}
	if !alike {
		if !c.record.on() {
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
	return c.record.writeTo(w)
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
	r := &c.record
	if !r.on() { // the saved record is read and thrown away
		r = &record{pages: c.pages, positions: make([][]int32, c.KVHeads())}
	}
	if r.observed = c.seen; header.Tracked == 0 {
		return nil
	}
	return r.readFrom(reader, &header)
}
