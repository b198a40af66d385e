package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/format"
)

const (
	lengthSize  = 8           // of the header's length
	maxHeader   = 100_000_000 // bytes, the reference implementation's bound
	metadataKey = "__metadata__"
)

// Parse reads a file. The tensors' Data are views of b; names and metadata are copies. A tensor of an unknown element type
// is kept, and its size is not compared with its shape. Every error is a *format.OffsetError. Like gguf.Parse it can read a
// mapped file that another program writes to: only the tensors' Data can still change.
func Parse(b []byte) (*File, error) {
	f, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return f, nil
}

func parse(b []byte) (*File, error) {
	header, data, err := split(b)
	if err != nil {
		return nil, err
	}
	f := &File{}
	entries, err := f.readHeader(header)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	return f, f.place(entries, data, len(b)-len(data))
}

// split separates the header from the data.
func split(b []byte) (header, data []byte, err error) {
	if len(b) < lengthSize {
		return nil, nil, format.Errorf(0, "the file has %d bytes, too few for the length of its header", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	b = b[lengthSize:]
	if n > maxHeader {
		return nil, nil, format.Errorf(0, "the header's length %d exceeds %d: is this a safetensors file?", n, maxHeader)
	}
	if n > uint64(len(b)) {
		return nil, nil, format.Errorf(0, "the header's length %d passes the end of the file, which has %d more: is it complete?",
			n, len(b))
	}
	if n == 0 || b[0] != '{' { // as the reference implementation has it: no white space comes first
		return nil, nil, format.Errorf(lengthSize, "the header does not begin with {")
	}
	return b[:n], b[n:], nil
}

// entry is a tensor as the header has it.
type entry struct {
	Tensor
	begin, end int   // of its data, within the data
	at         int64 // the end of the entry in the file, for messages
}

func (f *File) readHeader(header []byte) ([]entry, error) {
	r := newReader(header, lengthSize)
	var entries []entry
	err := r.object("the header", func(name string) (err error) {
		if name == metadataKey {
			f.metadata, err = r.metadata()
			return err
		}
		e, err := r.entry(name)
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return entries, r.end()
}

func (r reader) metadata() (map[string]string, error) {
	m := make(map[string]string)
	err := r.object(metadataKey, func(key string) (err error) {
		m[key], err = r.text("a value of " + metadataKey)
		return err
	})
	return m, err
}

func (r reader) entry(name string) (entry, error) {
	e := entry{Tensor: Tensor{Name: name}}
	what := fmt.Sprintf("tensor %.100q", name)
	var offsets []int
	err := r.object(what, func(key string) (err error) {
		switch key {
		case "dtype":
			e.DType, err = r.text("dtype of " + what)
		case "shape":
			e.Shape, err = r.ints("shape of " + what)
		case "data_offsets":
			offsets, err = r.ints("data_offsets of " + what)
		default:
			err = r.errorf("%s has %.100q; only dtype, shape and data_offsets are known", what, key)
		}
		return err
	})
	if err != nil {
		return e, err
	}
	if e.DType == "" || e.Shape == nil || len(offsets) != 2 || offsets[0] > offsets[1] {
		return e, r.errorf("%s needs a dtype, a shape, and two ascending data_offsets", what)
	}
	e.begin, e.end, e.at = offsets[0], offsets[1], r.base+r.InputOffset()
	want, known, err := size(e.DType, e.Shape)
	if err != nil {
		return e, r.errorf("%s: %w", what, err)
	}
	if known && want != e.end-e.begin {
		return e, r.errorf("%s: shape %v of %s takes %d bytes, but data_offsets %v give %d",
			what, e.Shape, e.DType, want, offsets, e.end-e.begin)
	}
	return e, nil
}

// place gives each tensor its view of data, which begins at byte base of the file, and checks that the tensors together use every byte of
// data once. entries are sorted by the beginnings of their data.
func (f *File) place(entries []entry, data []byte, base int) error {
	f.tensors = make([]Tensor, len(entries))
	f.byName = make(map[string]int, len(entries))
	used := 0
	for i, e := range entries {
		if e.begin != used {
			return format.Errorf(e.at, "the data of tensor %.100q begin at %d, not at %d where the tensors before end: a gap or an overlap",
				e.Name, e.begin, used)
		}
		if e.end > len(data) {
			return format.Errorf(e.at, "the data of tensor %.100q end at %d, but the file has only %d bytes of data: is it complete?",
				e.Name, e.end, len(data))
		}
		used = e.end
		t := e.Tensor
		t.Offset = int64(base) + int64(e.begin)
		t.Data = data[e.begin:e.end:e.end]
		f.tensors[i], f.byName[t.Name] = t, i
	}
	if used != len(data) {
		return format.Errorf(int64(base)+int64(used), "%d bytes after the last tensor's data belong to none", len(data)-used)
	}
	return nil
}
