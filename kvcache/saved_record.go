package kvcache

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/backend"
)

// writeTo writes the record as the header describes it: nothing, unless it is on.
func (r *record) writeTo(w io.Writer) error {
	for _, p := range r.positions {
		if err := binary.Write(w, binary.LittleEndian, p); err != nil {
			return err
		}
	}
	if err := r.queries.writeTo(w); err != nil {
		return err
	}
	if err := r.anchors.writeTo(w); err != nil || r.received.sums == nil {
		return err
	}
	sums, err := r.Received()
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

// readFrom fills an empty record, of as many positions as there are slots in use, with what writeTo wrote. What the record does not record
// is read and thrown away.
func (r *record) readFrom(reader io.Reader, h *savedHeader) error {
	for head := range r.positions {
		positions := make([]int32, r.pages.HeadLen(head))
		if err := binary.Read(reader, binary.LittleEndian, positions); err != nil {
			return err
		}
		for i, p := range positions {
			if p < 0 || uint32(p) >= h.Seen || i > 0 && p <= positions[i-1] {
				return fmt.Errorf("kvcache: %w: slot %d has position %d of %d", ErrMismatch, i, p, h.Seen)
			}
		}
		r.positions[head] = positions
	}
	d := r.pages.HeadDim()
	skip := max(int(h.Recent)-r.queries.most, 0) // the earliest queries, if the cache records fewer than were saved
	if err := discardFloats(reader, skip*int(h.Heads)*d); err != nil {
		return err
	}
	if err := r.queries.readFrom(reader, int(h.Recent)-skip); err != nil {
		return err
	}
	if err := r.anchors.readFrom(reader, int(h.Anchored)); err != nil {
		return err
	}
	if err := discardFloats(reader, (int(h.Anchored)-r.anchors.kept)*len(r.positions)*d); err != nil || h.Attention == 0 {
		return err
	}
	if r.received.sums == nil {
		return discardFloats(reader, r.pages.total())
	}
	sums, width := make([]float32, r.received.sums.Shape().NumElements()), r.received.sums.Shape().Dim(1)
	for head, p := range r.positions {
		if err := binary.Read(reader, binary.LittleEndian, sums[head*width:][:len(p)]); err != nil {
			return err
		}
	}
	return r.received.write(sums)
}

// discardFloats reads n float32 and throws them away.
func discardFloats(r io.Reader, n int) error {
	const floatBytes = 4
	_, err := io.CopyN(io.Discard, r, floatBytes*int64(n))
	return err
}

// writeTo writes the rows that count.
func (q *queries) writeTo(w io.Writer) error {
	part, err := q.latest(q.most)
	if err != nil || part == nil {
		return err
	}
	x := make([]float32, part.Shape().NumElements())
	if err := backend.ReadFloats(q.device, part, x); err != nil {
		return err
	}
	return binary.Write(w, binary.LittleEndian, x)
}

// readFrom reads n rows, at most most.
func (q *queries) readFrom(reader io.Reader, n int) error {
	if n == 0 {
		return nil
	}
	part, err := q.rows.Slice(0, n)
	if err != nil {
		return err
	}
	x := make([]float32, part.Shape().NumElements())
	if err := binary.Read(reader, binary.LittleEndian, x); err != nil {
		return err
	}
	q.recent = n
	return writeFloats(q.device, part, x)
}

// writeTo writes the kept keys, token by token.
func (a *anchors) writeTo(w io.Writer) error {
	if a.keys == nil {
		return nil
	}
	all := make([]float32, a.keys.Shape().NumElements())
	if err := backend.ReadFloats(a.pages.Backend(), a.keys, all); err != nil {
		return err
	}
	return a.each(all, a.kept, func(key []float32) error { return binary.Write(w, binary.LittleEndian, key) })
}

// readFrom reads the keys of n tokens, or of the first most of them.
func (a *anchors) readFrom(reader io.Reader, n int) error {
	if a.keys == nil {
		return nil
	}
	all := make([]float32, a.keys.Shape().NumElements())
	a.kept = min(n, a.most)
	if err := a.each(all, a.kept, func(key []float32) error { return binary.Read(reader, binary.LittleEndian, key) }); err != nil {
		return err
	}
	return writeFloats(a.pages.Backend(), a.keys, all)
}

// each calls f with the key of each head of the first n tokens, token by token, in all, the keys on the host.
func (a *anchors) each(all []float32, n int, f func(key []float32) error) error {
	d := a.pages.HeadDim()
	for i := range n {
		for head := range a.pages.KVHeads() {
			if err := f(all[(head*a.most+i)*d:][:d]); err != nil {
				return err
			}
		}
	}
	return nil
}
