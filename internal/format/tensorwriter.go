package format

import (
	"bufio"
	"fmt"
	"io"
	"math"
)

// Section is the part of a file that holds one tensor's data.
type Section struct {
	Name string // of the tensor
	Size int64  // bytes, without padding
}

// Pad returns how many bytes bring n up to a multiple of alignment.
func Pad(n, alignment int64) int64 { return (alignment - n%alignment) % alignment }

// Offsets returns the beginning of each section if they follow one another from 0, each padded to a multiple of alignment, and the end of
// the last one, its padding included. An end that does not fit an int64 is an error.
func Offsets(sections []Section, alignment int64) (offsets []int64, end int64, err error) {
	offsets = make([]int64, len(sections))
	for i, s := range sections {
		offsets[i] = end
		if s.Size < 0 || s.Size > math.MaxInt64-alignment-end {
			return nil, 0, fmt.Errorf("%s: its %d bytes make the file too large", s.Name, s.Size)
		}
		end += s.Size + Pad(s.Size, alignment)
	}
	return offsets, end, nil
}

// TensorWriter writes the data of the tensors that a file's header has announced, in the same order. Data are written in
// pieces of any size, so that a file may be larger than memory, and each tensor is padded with zeros to the format's
// alignment. Call Begin for each tensor, Write its bytes, and Close at the end. An error is final: every later call returns
// it.
type TensorWriter struct {
	w         *bufio.Writer
	sections  []Section
	alignment int64
	next      int   // index of the section after the current one
	missing   int64 // bytes that the current section still lacks
	err       error
}

// NewTensorWriter writes header to w, and returns a writer of the sections that follow it.
func NewTensorWriter(w io.Writer, header []byte, sections []Section, alignment int64) (*TensorWriter, error) {
	t := &TensorWriter{w: bufio.NewWriterSize(w, 1<<16), sections: sections, alignment: alignment}
	if _, err := t.w.Write(header); err != nil {
		return nil, fmt.Errorf("writing the header: %w", err)
	}
	return t, nil
}

// Begin starts the data of the tensor with this name, which must be the next in order; the one before must be complete.
func (t *TensorWriter) Begin(name string) error {
	if err := t.complete(); err != nil {
		return err
	}
	if t.next == len(t.sections) {
		return t.fail(fmt.Errorf("tensor %q comes after the last of %d", name, len(t.sections)))
	}
	if want := t.sections[t.next].Name; name != want {
		return t.fail(fmt.Errorf("tensor %q comes out of order: the header has %q here", name, want))
	}
	t.missing = t.sections[t.next].Size
	t.next++
	return nil
}

// Write appends to the data of the current tensor. If the tensor then had more bytes than the header announced, it writes
// nothing and returns an error.
func (t *TensorWriter) Write(p []byte) (int, error) {
	if t.err != nil || len(p) == 0 {
		return 0, t.err
	}
	if int64(len(p)) > t.missing {
		return 0, t.fail(fmt.Errorf("%d bytes are more than the %d that %s lacks", len(p), t.missing, t.current()))
	}
	n, err := t.w.Write(p)
	t.missing -= int64(n)
	if err != nil {
		return n, t.fail(fmt.Errorf("writing %s: %w", t.current(), err))
	}
	if t.missing > 0 {
		return n, nil
	}
	return n, t.pad()
}

// WriteTensor writes the whole data of the tensor with this name: Begin and Write in one.
func (t *TensorWriter) WriteTensor(name string, data []byte) error {
	if err := t.Begin(name); err != nil {
		return err
	}
	_, err := t.Write(data)
	return err
}

// Close writes the buffered rest. Missing or incomplete tensors are an error. The underlying writer stays open.
func (t *TensorWriter) Close() error {
	if err := t.complete(); err != nil {
		return err
	}
	if t.next < len(t.sections) {
		return t.fail(fmt.Errorf("%d of %d tensors were not written, the first of them %q",
			len(t.sections)-t.next, len(t.sections), t.sections[t.next].Name))
	}
	if err := t.w.Flush(); err != nil {
		return t.fail(fmt.Errorf("writing the last tensor: %w", err))
	}
	return nil
}

// complete returns an error unless the current tensor has all its bytes.
func (t *TensorWriter) complete() error {
	if t.err == nil && t.missing > 0 {
		return t.fail(fmt.Errorf("%s still lacks %d of %d bytes", t.current(), t.missing, t.sections[t.next-1].Size))
	}
	return t.err
}

// pad writes the zeros that follow the current tensor's last byte.
func (t *TensorWriter) pad() error {
	for range Pad(t.sections[t.next-1].Size, t.alignment) {
		if err := t.w.WriteByte(0); err != nil {
			return t.fail(fmt.Errorf("padding %s: %w", t.current(), err))
		}
	}
	return nil
}

// current names the part that was begun last, for messages.
func (t *TensorWriter) current() string {
	if t.next == 0 {
		return "the header"
	}
	return fmt.Sprintf("tensor %q", t.sections[t.next-1].Name)
}

func (t *TensorWriter) fail(err error) error {
	t.err = err
	return err
}
