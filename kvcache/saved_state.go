package kvcache

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/antigravity-go/antigravity/backend"

	"github.com/antigravity-go/antigravity/tensor"
)

// A saved state is, all numbers little-endian: the number of tokens and the number of snapshots (uint32); the value's tensors (float32),
// unless there are no tokens; and for each snapshot its position (uint32) and its tensors, unless these are the value's.

// Save writes the state and the snapshots at wanted positions. It is not a format for other programs: the tensors' shapes are not
// part of it.
func (s *State) Save(w io.Writer, wanted func(at int) bool) error {
	if err := s.Settle(); err != nil {
		return err
	}
	var some []snapshot
	for _, k := range s.snapshots {
		if wanted(k.at) {
			some = append(some, k)
		}
	}
	if err := binary.Write(w, binary.LittleEndian, [2]uint32{uint32(s.at), uint32(len(some))}); err != nil {
		return err
	}
	if err := s.writeTo(w, s.value); err != nil {
		return err
	}
	for _, k := range some {
		if err := binary.Write(w, binary.LittleEndian, uint32(k.at)); err != nil {
			return err
		}
		if k.at == s.at {
			continue
		}
		if err := s.writeTo(w, k.value); err != nil {
			return err
		}
	}
	return nil
}

// writeTo writes the tensors of a value.
func (h *held) writeTo(w io.Writer, v *value) error {
	if v == nil {
		return nil
	}
	data := make([]byte, v.flat.Size())
	if err := h.pool.device.ReadBuffer(v.flat, data); err != nil {
		return fmt.Errorf("kvcache: read a state: %w", err)
	}
	_, err := w.Write(data)
	return err
}

// Restore fills the empty state with what Save wrote for a state of the same shapes. When Restore fails the state must not be used any
// more.
func (s *State) Restore(r io.Reader) error {
	if s.seen != 0 {
		return fmt.Errorf("kvcache: read a state into one of %d tokens: it must be empty", s.seen)
	}
	var header [2]uint32
	if err := binary.Read(r, binary.LittleEndian, &header); err != nil {
		return err
	}
	if header[0] > math.MaxInt32 || header[1] > header[0] {
		return fmt.Errorf("kvcache: %w: %d snapshots of %d tokens", ErrMismatch, header[1], header[0])
	}
	seen := int(header[0])
	if seen == 0 {
		return nil
	}
	var err error
	if s.value, err = s.readFrom(r); err != nil {
		return err
	}
	s.seen, s.at = seen, seen
	for before := 0; header[1] > 0; header[1]-- {
		var at uint32
		if err := binary.Read(r, binary.LittleEndian, &at); err != nil {
			return err
		}
		if int64(at) <= int64(before) || int64(at) > int64(seen) {
			return fmt.Errorf("kvcache: %w: a snapshot of %d tokens after one of %d, of %d tokens", ErrMismatch, at, before, seen)
		}
		before = int(at)
		if before == seen {
			s.snapshots = append(s.snapshots, snapshot{seen, s.pool.share(s.value)})
			continue
		}
		v, err := s.readFrom(r)
		if err != nil {
			return err
		}
		s.snapshots = append(s.snapshots, snapshot{before, v})
	}
	return nil
}

// readFrom returns a value that holds what writeTo wrote.
func (h *held) readFrom(r io.Reader) (v *value, err error) {
	host, err := tensor.New(nil, tensor.F32, tensor.ShapeOf(h.layout.size)) // no device: the host
	if err != nil {
		return nil, err
	}
	defer host.Free()
	if _, err := io.ReadFull(r, host.Data()); err != nil {
		return nil, err
	}
	if v, err = h.pool.take(h.layout); err != nil {
		return nil, err
	}
	if err = h.pool.device.Run(&backend.CopySlice{Src: host, Dst: v.flat, N: h.layout.size}); err == nil {
		err = h.pool.device.Synchronize() // the host's memory is given back
	}
	if err != nil {
		h.pool.give(v)
		return nil, fmt.Errorf("kvcache: write a state: %w", err)
	}
	return v, nil
}
