package kvcache

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// describe fills in what the header says of a record.
func (r *record) describe(h *savedHeader) {
	if r == nil {
		return
	}
	h.Tracked, h.Heads = trackedAlike, uint32(r.heads)
	h.Queries, h.Anchors = uint32(r.tracking.Queries), uint32(r.tracking.Anchors)
	h.Recent, h.Anchored = uint32(min(r.queries.recent, r.queries.most)), uint32(r.anchors.kept)
	if r.tracking.Attention {
		h.Attention = 1
	}
}

// writeTo writes the record as the header describes it.
func (r *record) writeTo(w io.Writer, h *savedHeader) error {
	if r == nil {
		return nil
	}
	for _, p := range r.positions {
		if err := binary.Write(w, binary.LittleEndian, p); err != nil {
			return err
		}
	}
	if q := &r.queries; q.rows != nil {
		if err := writeRows(w, q.device, q.rows, q.recent-int(h.Recent), q.recent); err != nil {
			return err
		}
	}
	if err := r.anchors.writeTo(w); err != nil || !r.tracking.Attention {
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
	q, d := &r.queries, r.pages.HeadDim()
	q.recent = min(int(h.Recent), q.most)
	if err := discardFloats(reader, (int(h.Recent)-q.recent)*int(h.Heads)*d); err != nil { // the earliest
		return err
	}
	if q.rows != nil {
		if err := readRows(reader, q.device, q.rows, q.recent); err != nil {
			return err
		}
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

// batchRows is how many rows are copied between device and host at once.
const batchRows = backend.PageSlots

// writeRows writes the rows [lo, hi) of a tensor on a device, the bytes that it has in its type.
func writeRows(w io.Writer, b backend.Backend, t *tensor.Tensor, lo, hi int) error {
	bytes := make([]byte, 0, batchRows*t.Size()/t.Shape().Dim(0))
	for ; lo < hi; lo += batchRows {
		part, err := t.Slice(lo, min(lo+batchRows, hi))
		if err != nil {
			return err
		}
		if err := b.ReadBuffer(part, bytes[:part.Size()]); err != nil {
			return err
		}
		if _, err := w.Write(bytes[:part.Size()]); err != nil {
			return err
		}
	}
	return nil
}

// readRows fills the first n rows of a tensor on a device with what writeRows wrote.
func readRows(reader io.Reader, b backend.Backend, t *tensor.Tensor, n int) error {
	if n > t.Shape().Dim(0) {
		return fmt.Errorf("kvcache: %w: %d rows for %v", ErrMismatch, n, t)
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
		if err := b.CopySlice(batch, t, 0, lo*row, m*row); err != nil {
			return err
		}
		if err := b.Synchronize(); err != nil { // the batch is used again
			return err
		}
	}
	return nil
}
