package kvcache

import "fmt"

// Clone returns a copy with memory of its own, on the same device. A Hadamard matrix is shared: give the copy another one
// (UseHadamard) before another session uses it.
func (c *Cache) Clone() (*Cache, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	n, err := New(c.backend, c.keys.DType(), c.capacity, c.KVHeads(), c.HeadDim())
	if err != nil {
		return nil, err
	}
	if err := n.copyFrom(c); err != nil {
		n.Free()
		return nil, fmt.Errorf("kvcache: clone %d slots: %w", c.len, err)
	}
	return n, nil
}

// copyFrom fills c, an empty cache, with what another cache of the same shape and type holds.
func (c *Cache) copyFrom(from *Cache) error {
	if r := from.record; r != nil {
		if err := c.Track(r.Tracking, r.heads, r.rotation); err != nil {
			return err
		}
		if err := c.record.copyFrom(r); err != nil {
			return err
		}
	}
	row := c.KVHeads() * c.HeadDim()
	for i, t := range c.sides() {
		if from.len == 0 {
			break
		}
		if err := c.backend.CopySlice(from.sides()[i], t, 0, 0, from.len*row); err != nil {
			return err
		}
	}
	c.len, c.seen, c.hadamard = from.len, from.seen, from.hadamard
	return nil
}
