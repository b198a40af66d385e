package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/tensor"
)

// file makes a file of a header and n bytes of data.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range n {
		b = append(b, byte(i))
	}
	return b
}

const small = `{"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[1,2],"data_offsets":[4,12]},` +
	`"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"none":{"dtype":"I64","shape":[0,3],"data_offsets":[4,4]},` +
	`"new":{"dtype":"F12","shape":[2],"data_offsets":[12,15]},"s":{"dtype":"U8","shape":[],"data_offsets":[15,16]}}  `

func TestParse(t *testing.T) {
	b := file(small, 16)
	f, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Names(), []string{"a", "none", "b", "new", "s"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	if m := f.Metadata(); len(m) != 1 || m["format"] != "pt" {
		t.Errorf("metadata %v", m)
	}
	x, ok := f.Tensor("b")
	if !ok || x.DType != "F32" || !slices.Equal(x.Shape, []int{1, 2}) || x.Offset != int64(8+len(small)+4) {
		t.Errorf("tensor b is %+v, %v", x, ok)
	}
	if &x.Data[0] != &b[x.Offset] || len(x.Data) != 8 || cap(x.Data) != 8 {
		t.Error("the data are no exact view of the file")
	}
	if _, ok := f.Tensor("c"); ok {
		t.Error("found a tensor that is not there")
	}
}

func TestElementType(t *testing.T) {
	f, err := Parse(file(small, 16))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]tensor.DType{"a": tensor.BF16, "b": tensor.F32, "s": tensor.U8, "none": 0, "new": 0} {
		x, _ := f.Tensor(name)
		got, err := x.ElementType()
		var unsupported *DTypeError
		if got != want || (want == 0) != errors.As(err, &unsupported) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	one := func(entry string) string { return `{"a":` + entry + `}` }
	tests := []struct {
		name  string
		b     []byte
		wants string
	}{
		{"empty", nil, "too few"},
		{"half a length", []byte{1, 0, 0}, "too few"},
		{"header length 2^63", append(binary.LittleEndian.AppendUint64(nil, 1<<63), "{}"...), "exceeds"},
		{"header longer than the file", append(binary.LittleEndian.AppendUint64(nil, 3), "{}"...), "is it complete"},
		{"no header", file("", 0), "begin with {"},
		{"space before the header", file(" {}", 0), "begin with {"},
		{"truncated JSON", file(`{"a":`, 0), "unexpected EOF"},
		{"bad JSON", file(`{"a" 1}`, 0), "invalid character"},
		{"more than one value", file(`{}{}`, 0), "follows"},
		{"entry is a number", file(`{"a":1}`, 0), "belongs"},
		{"unknown member", file(one(`{"dtype":"U8","shape":[],"data_offsets":[0,1],"x":{}}`), 1), `has "x"`},
		{"no dtype", file(one(`{"shape":[],"data_offsets":[0,1]}`), 1), "needs a dtype"},
		{"no shape", file(one(`{"dtype":"U8","data_offsets":[0,1]}`), 1), "needs a dtype"},
		{"one offset", file(one(`{"dtype":"U8","shape":[],"data_offsets":[0]}`), 1), "two ascending"},
		{"offsets descend", file(one(`{"dtype":"U8","shape":[],"data_offsets":[1,0]}`), 1), "two ascending"},
		{"negative dimension", file(one(`{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}`), 1), "no count"},
		{"fraction", file(one(`{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}`), 1), "no count"},
		{"dimension is an array", file(one(`{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}`), 1), "no count"},
		{"shape overflows", file(one(`{"dtype":"U8","shape":[1073741824,1073741824,1073741824],"data_offsets":[0,0]}`), 0), "too many elements"},
		{"bytes overflow", file(one(`{"dtype":"F64","shape":[1073741824,1073741824,4],"data_offsets":[0,0]}`), 0), "too many bytes"},
		{"half a byte", file(one(`{"dtype":"F4","shape":[3],"data_offsets":[0,1]}`), 1), "whole number of bytes"},
		{"size and shape differ", file(one(`{"dtype":"F32","shape":[2],"data_offsets":[0,4]}`), 4), "takes 8 bytes"},
		{"past the end", file(one(`{"dtype":"U8","shape":[2],"data_offsets":[0,2]}`), 1), "is it complete"},
		{"gap at the front", file(one(`{"dtype":"U8","shape":[1],"data_offsets":[1,2]}`), 2), "gap or an overlap"},
		{"data left over", file(one(`{"dtype":"U8","shape":[1],"data_offsets":[0,1]}`), 2), "belong to none"},
		{"overlap", file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3), "gap or an overlap"},
		{"name twice", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1), "twice"},
		{"member twice", file(one(`{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}`), 1), "twice"},
		{"metadata is no object", file(`{"__metadata__":[]}`, 0), "belongs"},
		{"metadata value is a number", file(`{"__metadata__":{"a":1}}`, 0), "not a string"},
		{"deep nesting", file(`{"a":`+strings.Repeat("[", 1e6), 0), "belongs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.b)
			if err == nil || !strings.Contains(err.Error(), tt.wants) {
				t.Fatalf("got %v, want an error with %q", err, tt.wants)
			}
			var at *format.OffsetError
			if !errors.As(err, &at) || at.Offset < 0 || at.Offset > int64(len(tt.b)) {
				t.Errorf("the error %v does not say where in the %d bytes", err, len(tt.b))
			}
		})
	}
}

func TestParseAllocatesNoMoreThanTheInputAllows(t *testing.T) {
	b := file(`{"a":{"dtype":"F32","shape":[1152921504606846976],"data_offsets":[0,4611686018427387904]}}`, 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Parse(b); err == nil {
		t.Error("accepted")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 100_000 {
		t.Errorf("%d bytes were allocated for a file of %d", n, len(b))
	}
}

// rewrite writes a parsed file again.
func rewrite(t testing.TB, f *File) []byte {
	t.Helper()
	var b bytes.Buffer
	var infos []TensorInfo
	for _, x := range f.Tensors() {
		infos = append(infos, TensorInfo{x.Name, x.DType, x.Shape})
	}
	w, err := NewWriter(&b, f.Metadata(), infos)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range f.Tensors() {
		if err := w.WriteTensor(x.Name, x.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRewriteReproducesReferenceFiles(t *testing.T) {
	for _, pattern := range []string{"hf/*/*.safetensors", "pebble/*.safetensors", "pebble/hf/*.safetensors"} {
		paths, err := filepath.Glob(filepath.Join(fixture.Path(t, "."), pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: found %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := Parse(want)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if !bytes.Equal(rewrite(t, f), want) {
				t.Errorf("%s: the rewritten file differs", path)
			}
		}
	}
}

func TestNewWriterRefuses(t *testing.T) {
	tests := []struct {
		name    string
		tensors []TensorInfo
		wants   string
	}{
		{"name twice", []TensorInfo{{"a", "U8", nil}, {"a", "U8", nil}}, "twice"},
		{"reserved name", []TensorInfo{{"__metadata__", "U8", nil}}, "reserved"},
		{"name is no UTF-8", []TensorInfo{{"\xff", "U8", nil}}, "UTF-8"},
		{"unknown type", []TensorInfo{{"a", "Q4_0", nil}}, "no element type"},
		{"negative dimension", []TensorInfo{{"a", "U8", []int{-1}}}, "negative"},
		{"too large", []TensorInfo{{"a", "U8", []int{1 << 30, 1 << 30, 1 << 30}}}, "too many"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			_, err := NewWriter(&b, nil, tt.tensors)
			if err == nil || !strings.Contains(err.Error(), tt.wants) || b.Len() > 0 {
				t.Errorf("got %v and %d bytes, want an error with %q", err, b.Len(), tt.wants)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file(small, 16))
	f.Add(file(`{}`, 0))
	f.Add(file(`{"x":{"dtype":"F4","shape":[2,2],"data_offsets":[0,2]}}`, 2))
	f.Add(file(`{"a\"\u00e9":{"dtype":"U8","shape":[1,1,1],"data_offsets":[0,1]}}`, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		parsed, err := Parse(b)
		if err != nil {
			var at *format.OffsetError
			if !errors.As(err, &at) || at.Offset < 0 || at.Offset > int64(len(b)) {
				t.Errorf("the error %v does not say where in the %d bytes", err, len(b))
			}
			return
		}
		covered := 0
		for _, x := range parsed.Tensors() {
			covered += len(x.Data)
			if _, known := dtypes[x.DType]; !known {
				return // nothing that the Writer takes
			}
		}
		again, err := Parse(rewrite(t, parsed))
		if err != nil || !slices.Equal(again.Names(), parsed.Names()) {
			t.Errorf("rewritten, the file reads as %v, %v", again, err)
		}
		if headerAndData := binary.LittleEndian.Uint64(b) + 8 + uint64(covered); headerAndData != uint64(len(b)) {
			t.Errorf("header and data make %d of %d bytes", headerAndData, len(b))
		}
	})
}

func BenchmarkParse(b *testing.B) {
	var infos []TensorInfo
	for i := range 150 {
		infos = append(infos, TensorInfo{"model.layers." + string(rune('a'+i)) + ".self_attn.q_proj.weight", "BF16", []int{0, 2048}})
	}
	var header bytes.Buffer
	w, err := NewWriter(&header, map[string]string{"format": "pt"}, infos)
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range infos {
		if err := w.Begin(t.Name); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(header.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(header.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
