package format

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

var threeSections = []Section{{"a", 3}, {"empty", 0}, {"b", 8}}

func newTestWriter(t *testing.T, w io.Writer) *TensorWriter {
	t.Helper()
	tw, err := NewTensorWriter(w, []byte("head"), threeSections, 4)
	if err != nil {
		t.Fatal(err)
	}
	return tw
}

func TestTensorWriter(t *testing.T) {
	var got bytes.Buffer
	w := newTestWriter(t, &got)
	err := errors.Join(w.Begin("a"), write(w, "12"), write(w, ""), write(w, "3"), write(w, ""),
		w.WriteTensor("empty", nil), w.WriteTensor("b", []byte("abcdefgh")), w.Close())
	if err != nil {
		t.Fatal(err)
	}
	if want := "head123\x00abcdefgh"; got.String() != want {
		t.Errorf("wrote %q, want %q", got.String(), want)
	}
}

func write(w io.Writer, s string) error {
	_, err := io.WriteString(w, s)
	return err
}

func TestTensorWriterRefuses(t *testing.T) {
	tests := []struct {
		name  string
		do    func(w *TensorWriter) error
		wants string
	}{
		{"data before Begin", func(w *TensorWriter) error { return write(w, "x") }, "lacks"},
		{"another order", func(w *TensorWriter) error { return w.Begin("b") }, "out of order"},
		{"too many bytes", func(w *TensorWriter) error { return w.WriteTensor("a", []byte("1234")) }, "more than the 3"},
		{"too few bytes", func(w *TensorWriter) error {
			return errors.Join(w.WriteTensor("a", []byte("12")), w.Begin("empty"))
		}, "lacks 1 of 3"},
		{"nothing", (*TensorWriter).Close, "3 of 3 tensors"},
		{"one tensor too many", func(w *TensorWriter) error {
			return errors.Join(w.WriteTensor("a", []byte("123")), w.Begin("empty"), w.WriteTensor("b", make([]byte, 8)), w.Begin("c"))
		}, "after the last"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestWriter(t, io.Discard)
			err := tt.do(w)
			if err == nil || !strings.Contains(err.Error(), tt.wants) {
				t.Fatalf("got %v, want an error with %q", err, tt.wants)
			}
			if w.Close() == nil || w.Begin("a") == nil {
				t.Error("the error did not stick")
			}
		})
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestTensorWriterReportsFailingWriter(t *testing.T) {
	w := newTestWriter(t, failingWriter{})
	err := errors.Join(w.WriteTensor("a", []byte("123")), w.Begin("empty"), w.WriteTensor("b", make([]byte, 8)), w.Close())
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want io.ErrClosedPipe", err)
	}
}

func TestOffsets(t *testing.T) {
	offsets, end, err := Offsets(threeSections, 4)
	if err != nil || !slices.Equal(offsets, []int64{0, 4, 4}) || end != 12 {
		t.Errorf("got %v, %d, %v", offsets, end, err)
	}
	for _, sizes := range [][]int64{{-1}, {math.MaxInt64}, {1 << 62, 1 << 62}} {
		var sections []Section
		for _, n := range sizes {
			sections = append(sections, Section{"x", n})
		}
		if _, _, err := Offsets(sections, 32); err == nil {
			t.Errorf("sizes %v were accepted", sizes)
		}
	}
}

func TestOffsetError(t *testing.T) {
	err := Errorf(7, "reading: %w", io.ErrUnexpectedEOF)
	var at *OffsetError
	if !errors.As(err, &at) || at.Offset != 7 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %#v", err)
	}
	if want := "reading: unexpected EOF (at byte 7)"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
