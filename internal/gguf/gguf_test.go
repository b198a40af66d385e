package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/tensor"
)

// encode writes a whole file; each tensor's data are filled with its index + 1.
func encode(t testing.TB, metadata []KeyValue, tensors []TensorInfo) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, metadata, tensors)
	if err != nil {
		t.Fatal(err)
	}
	for i, info := range tensors {
		n, err := info.Type.Size(info.Shape)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteTensor(info.Name, bytes.Repeat([]byte{byte(i + 1)}, n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// small has a value of every type, and tensors of known and of foreign types.
func small(t testing.TB) []byte {
	return encode(t, []KeyValue{
		{"u8", ValueOf[uint8](200)}, {"i8", ValueOf[int8](-2)},
		{"u16", ValueOf[uint16](60000)}, {"i16", ValueOf[int16](-3)},
		{"u32", ValueOf[uint32](4e9)}, {"i32", ValueOf[int32](-4)},
		{"u64", ValueOf[uint64](1 << 63)}, {"i64", ValueOf[int64](-5)},
		{"f32", ValueOf[float32](0.5)}, {"f64", ValueOf(-0.25)},
		{"yes", ValueOf(true)}, {"no", ValueOf(false)}, {"text", ValueOf("한글")},
		{"words", ArrayOf([]string{"a", "", "bc"})}, {"none", ArrayOf([]string{})},
		{"ids", ArrayOf([]int32{1, -1})}, {"bytes", ArrayOf([]uint8{1, 255})}, {"big", ArrayOf([]uint64{1 << 40})},
		{"scores", ArrayOf([]float32{1.5, -2})}, {"flags", ArrayOf([]bool{true, false})},
		{"general.alignment", ValueOf[uint32](64)},
	}, []TensorInfo{
		{"norm", F32, []int{3}}, {"w", typeOf(tensor.Q4_K), []int{2, 512}}, {"foreign", 16, []int{1, 256}}, {"cube", typeOf(tensor.F16), []int{2, 3, 4}},
	})
}

// typeOf is TypeOf of a type that has one.
func typeOf(d tensor.DType) GGMLType {
	g, _ := TypeOf(d)
	return g
}

func mustParse(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestParseTensors(t *testing.T) {
	b := small(t)
	f := mustParse(t, b)
	if f.Version() != 3 {
		t.Errorf("version %d, want 3", f.Version())
	}
	want := []Tensor{
		{Name: "norm", DType: tensor.F32, Type: F32, Shape: []int{3}},
		{Name: "w", DType: tensor.Q4_K, Type: typeOf(tensor.Q4_K), Shape: []int{2, 512}},
		{Name: "foreign", DType: 0, Type: 16, Shape: []int{1, 256}},
		{Name: "cube", DType: tensor.F16, Type: typeOf(tensor.F16), Shape: []int{2, 3, 4}},
	}
	sizes := []int{12, 4 * 144, 66, 48}
	for i, got := range f.Tensors() {
		if got.Name != want[i].Name || got.DType != want[i].DType || got.Type != want[i].Type || !slices.Equal(got.Shape, want[i].Shape) {
			t.Errorf("tensor %d is %v, want %v", i, got.Info(), want[i].Info())
		}
		if !bytes.Equal(got.Data, bytes.Repeat([]byte{byte(i + 1)}, sizes[i])) || &got.Data[0] != &b[got.Offset] || got.Offset%64 != 0 {
			t.Errorf("tensor %q: its data at %d are no exact, aligned view", got.Name, got.Offset)
		}
		if byName, ok := f.Tensor(got.Name); !ok || byName.Offset != got.Offset {
			t.Errorf("tensor %q is not found by name", got.Name)
		}
	}
	if foreign := f.Tensors()[2].Type.String(); foreign != "IQ2_XXS" {
		t.Errorf("foreign type is called %q", foreign)
	}
}

func TestMetadata(t *testing.T) {
	f := mustParse(t, small(t))
	if keys := f.Keys(); len(keys) != 21 || keys[0] != "u8" || keys[20] != "general.alignment" {
		t.Errorf("keys %q", keys)
	}
	type result struct {
		value any
		ok    bool
	}
	of := func(v any, ok bool) result { return result{v, ok} }
	uintOf := func(key string) result { v, ok := f.Uint(key); return of(v, ok) }
	intOf := func(key string) result { v, ok := f.Int(key); return of(v, ok) }
	floatOf := func(key string) result { v, ok := f.Float(key); return of(v, ok) }
	boolOf := func(key string) result { v, ok := f.Bool(key); return of(v, ok) }
	textOf := func(key string) result { v, ok := f.String(key); return of(v, ok) }
	tests := []struct {
		name      string
		got, want result
	}{
		{"u8", uintOf("u8"), of(uint64(200), true)},
		{"u16", uintOf("u16"), of(uint64(60000), true)},
		{"u32", uintOf("u32"), of(uint64(4e9), true)},
		{"u32 as int", intOf("u32"), of(int64(4e9), true)},
		{"u64", uintOf("u64"), of(uint64(1<<63), true)},
		{"i8", intOf("i8"), of(int64(-2), true)},
		{"i16", intOf("i16"), of(int64(-3), true)},
		{"i32", intOf("i32"), of(int64(-4), true)},
		{"i64", intOf("i64"), of(int64(-5), true)},
		{"f32", floatOf("f32"), of(0.5, true)},
		{"f64", floatOf("f64"), of(-0.25, true)},
		{"yes", boolOf("yes"), of(true, true)},
		{"no", boolOf("no"), of(false, true)},
		{"text", textOf("text"), of("한글", true)},
		{"int as float", floatOf("u8"), of(200.0, true)},
		{"large int as float", floatOf("u64"), of(9223372036854775808.0, true)},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	for name, got := range map[string]result{
		"u64 too large for an int": intOf("u64"), "negative as uint": uintOf("i8"), "text as uint": uintOf("text"), "half as int": intOf("f32"),
		"truth as int": intOf("yes"), "truth as float": floatOf("yes"), "200 as bool": boolOf("u8"), "array as text": textOf("words"), "absent": uintOf("absent"),
	} {
		if got.ok {
			t.Errorf("%s: got %v, want none", name, got.value)
		}
	}
}

func TestArrays(t *testing.T) {
	f := mustParse(t, small(t))
	if got := f.Strings("words"); !slices.Equal(got, []string{"a", "", "bc"}) {
		t.Errorf("words %q", got)
	}
	if got := f.Strings("none"); got == nil || len(got) != 0 {
		t.Errorf("none is %#v, want an empty list", got)
	}
	if got := f.Int32s("ids"); !slices.Equal(got, []int32{1, -1}) {
		t.Errorf("ids %v", got)
	}
	if got := f.Int32s("bytes"); !slices.Equal(got, []int32{1, 255}) {
		t.Errorf("bytes %v", got)
	}
	if got := f.Float32s("scores"); !slices.Equal(got, []float32{1.5, -2}) {
		t.Errorf("scores %v", got)
	}
	if f.Int32s("big") != nil || f.Int32s("words") != nil || f.Strings("ids") != nil || f.Strings("text") != nil ||
		f.Float32s("words") != nil || f.Strings("absent") != nil || f.Int32s("absent") != nil {
		t.Error("decoded an array as what it is not")
	}
	if v, _ := f.Value("words"); v.Type() != ArrayType {
		t.Errorf("words have the type %v", v.Type())
	} else if n, ok := v.Len(); !ok || n != 3 {
		t.Errorf("words have the length %d, %v", n, ok)
	}
}

// TestNumbersOfAnyType gives each number in every type that has a place for it: it is the same number. Lists of one count as their element.
func TestNumbersOfAnyType(t *testing.T) {
	for _, n := range []float64{0, 1, 16, 200, -1, -128, 65535, 1 << 20, 0.5, -2.25, 1 << 40} {
		for i, v := range numbersOf(n) {
			if got, ok := v.Float(); !ok || got != n {
				t.Errorf("%g of type %v is %g, %v", n, v.Type(), got, ok)
			}
			whole := n == float64(int64(n))
			if got, ok := v.Int(); ok != whole || ok && float64(got) != n {
				t.Errorf("%g of type %v is the integer %d, %v", n, v.Type(), got, ok)
			}
			if got, ok := v.Uint(); ok != (whole && n >= 0) || ok && float64(got) != n {
				t.Errorf("%g of type %v is the integer %d, %v", n, v.Type(), got, ok)
			}
			if got, ok := v.Bool(); ok != (n == 0 || n == 1) || got != (n == 1) {
				t.Errorf("%g of type %v is %v, %v", n, v.Type(), got, ok)
			}
			if list := v.Int32s(); v.Type() == ArrayType && (list != nil) != (whole && n < 1<<31) {
				t.Errorf("%g, %d, is the list %v", n, i, list)
			}
		}
	}
	for _, v := range []Value{ValueOf("16"), ArrayOf([]int32{1, 2}), ArrayOf([]string{"1"}), ValueOf(math.NaN()), ValueOf(math.Inf(1)), ValueOf(1e30)} {
		if _, ok := v.Int(); ok {
			t.Errorf("%v is an integer", v)
		}
	}
}

// numbersOf returns a number in each type that has a place for it, and in a list of one.
func numbersOf(n float64) (list []Value) {
	for _, v := range []struct {
		value, list Value
		as          float64
	}{
		{ValueOf(uint8(n)), ArrayOf([]uint8{uint8(n)}), float64(uint8(n))}, {ValueOf(int8(n)), ArrayOf([]int8{int8(n)}), float64(int8(n))},
		{ValueOf(uint16(n)), ArrayOf([]uint16{uint16(n)}), float64(uint16(n))}, {ValueOf(int16(n)), ArrayOf([]int16{int16(n)}), float64(int16(n))},
		{ValueOf(uint32(n)), ArrayOf([]uint32{uint32(n)}), float64(uint32(n))}, {ValueOf(int32(n)), ArrayOf([]int32{int32(n)}), float64(int32(n))},
		{ValueOf(uint64(n)), ArrayOf([]uint64{uint64(n)}), float64(uint64(n))}, {ValueOf(int64(n)), ArrayOf([]int64{int64(n)}), float64(int64(n))},
		{ValueOf(float32(n)), ArrayOf([]float32{float32(n)}), float64(float32(n))}, {ValueOf(n), ArrayOf([]float64{n}), n},
	} {
		if v.as == n {
			list = append(list, v.value, v.list)
		}
	}
	return list
}

// raw assembles files that the Writer would not write: strings get their length, numbers their bytes.
func raw(parts ...any) []byte {
	var b []byte
	for _, part := range parts {
		switch v := part.(type) {
		case string:
			b = appendString(b, v)
		case int: // a count, a dimension or an offset
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, v)
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, v)
		case []byte:
			b = append(b, v...)
		}
	}
	return b
}

// rawFile puts the preamble before the rest of a file.
func rawFile(tensors, keys uint64, parts ...any) []byte {
	return append(raw([]byte(magic), uint32(3), tensors, keys), raw(parts...)...)
}

func TestParseRefuses(t *testing.T) {
	const (
		u8, u32, boolean, str, array = uint32(Uint8Type), uint32(Uint32Type), uint32(BoolType), uint32(StringType), uint32(ArrayType)
		f32, q4                      = uint32(F32), uint32(2)
	)
	zeros := make([]byte, 256)
	nested := raw("k", array)
	for range 10 {
		nested = append(nested, raw(array, 1)...)
	}
	tests := []struct {
		name  string
		b     []byte
		wants string
	}{
		{"empty", nil, "magic"},
		{"another file", []byte("PK\x03\x04 and more"), "begins with"},
		{"version 1", raw([]byte(magic), uint32(1), 0, 0), "version 1 is not supported"},
		{"version 4", raw([]byte(magic), uint32(4), 0, 0), "version 4 is not supported"},
		{"big-endian", raw([]byte(magic), uint32(3<<24), 0, 0), "big-endian"},
		{"only a preamble", raw([]byte(magic), uint32(3)), "number of tensors"},
		{"2^60 tensors", rawFile(1<<60, 0, zeros), "more than"},
		{"2^60 keys", rawFile(0, 1<<60, zeros), "more than"},
		{"more tensors and keys than fit together", rawFile(8, 19, zeros), "can hold"},
		{"key of 2^60 bytes", rawFile(0, 1, uint64(1<<60), zeros), "passes the end"},
		{"key of 2^64-1 bytes", rawFile(0, 1, ^uint64(0), zeros), "passes the end"},
		{"unknown value type", rawFile(0, 1, "k", uint32(13), zeros), "unknown value type 13"},
		{"value cut off", rawFile(0, 1, "key", u32, []byte{1, 2}), "passes the end"},
		{"string cut off", rawFile(0, 1, "k", str, 100, "x"), "passes the end"},
		{"array of 2^60", rawFile(0, 1, "k", array, u8, uint64(1<<60), zeros), "more than"},
		{"array of 2^60 strings", rawFile(0, 1, "k", array, str, uint64(1<<60), zeros), "more than"},
		{"array of unknown type", rawFile(0, 1, "k", array, uint32(99), 1, zeros), "unknown value type 99"},
		{"arrays nested too deep", rawFile(0, 1, nested, zeros), "nest deeper"},
		{"bool is 2", rawFile(0, 1, "k", boolean, []byte{2}), "neither 0 nor 1"},
		{"bool in an array is 2", rawFile(0, 1, "k", array, boolean, 2, []byte{1, 2}), "neither 0 nor 1"},
		{"key twice", rawFile(0, 2, "k", u8, []byte{1}, "k", u8, []byte{1}), `"k" occurs twice`},
		{"alignment 0", rawFile(0, 1, alignmentKey, u32, uint32(0)), "power of two"},
		{"alignment 48", rawFile(0, 1, alignmentKey, u32, uint32(48)), "power of two"},
		{"alignment 2^31", rawFile(0, 1, alignmentKey, u32, uint32(1<<31)), "power of two"},
		{"alignment is text", rawFile(0, 1, alignmentKey, str, "32"), "power of two"},
		{"no dimensions", rawFile(1, 0, "t", uint32(0), f32, 0, zeros), "has 0 dimensions"},
		{"five dimensions", rawFile(1, 0, "t", uint32(5), 1, 1, 1, 1, 1, f32, 0, zeros), "has 5 dimensions"},
		{"dimension 2^63", rawFile(1, 0, "t", uint32(1), uint64(1<<63), f32, 0, zeros), "too large"},
		{"shape overflows", rawFile(1, 0, "t", uint32(3), 1<<30, 1<<30, 1<<30, f32, 0, zeros), "too many elements"},
		{"bytes overflow", rawFile(1, 0, "t", uint32(3), 1<<30, 1<<30, 2, f32, 0, zeros), "too many"},
		{"half a block", rawFile(1, 0, "t", uint32(1), 33, q4, 0, zeros), "whole number"},
		{"withdrawn type", rawFile(1, 0, "t", uint32(1), 32, uint32(4), 0, zeros), "unknown element type 4"},
		{"future type", rawFile(1, 0, "t", uint32(1), 32, uint32(1<<31), 0, zeros), "unknown element type"},
		{"offset off the alignment", rawFile(1, 0, "t", uint32(1), 1, f32, 4, zeros), "alignment"},
		{"offset past the end", rawFile(1, 0, "t", uint32(1), 1, f32, uint64(1<<40), zeros), "is the file complete"},
		{"data past the end", rawFile(1, 0, "t", uint32(1), 1000, f32, 0, zeros), "is the file complete"},
		{"no data at all", rawFile(1, 0, "tensor", uint32(1), 1, f32, 0), "is the file complete"},
		{"tensor twice", rawFile(2, 0, "t", uint32(1), 1, f32, 0, "t", uint32(1), 1, f32, 32, zeros), `"t" occurs twice`},
		{"tensors overlap", rawFile(2, 0, "a", uint32(1), 9, f32, 0, "b", uint32(1), 1, f32, 32, zeros), "share data"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.b)
			if err == nil || !strings.Contains(err.Error(), tt.wants) {
				t.Fatalf("got %v, want an error with %q", err, tt.wants)
			}
			checkOffset(t, err, len(tt.b))
		})
	}
}

// checkOffset checks that an error of Parse has its place in the file.
func checkOffset(t *testing.T, err error, size int) {
	t.Helper()
	var at *format.OffsetError
	if !errors.As(err, &at) || at.Offset < 0 || at.Offset > int64(size) {
		t.Errorf("the error %v does not say where in the %d bytes", err, size)
	}
}

func TestParseAccepts(t *testing.T) {
	zeros := make([]byte, 128)
	for name, b := range map[string][]byte{
		"nothing in it":            rawFile(0, 0),
		"version 2":                raw([]byte(magic), uint32(2), 0, 0),
		"nested arrays":            rawFile(0, 1, "k", uint32(ArrayType), uint32(ArrayType), 1, uint32(StringType), 1, "x"),
		"last tensor not padded":   rawFile(1, 0, "t", uint32(1), 1, uint32(F32), 0, zeros)[:64+32+4],
		"tensors in another order": rawFile(2, 0, "a", uint32(1), 1, uint32(F32), 32, "b", uint32(1), 1, uint32(F32), 0, zeros),
		"tensor without elements":  rawFile(2, 0, "a", uint32(1), 0, uint32(F32), 0, "b", uint32(1), 1, uint32(F32), 0, zeros),
	} {
		if _, err := Parse(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryTruncationIsAnError(t *testing.T) {
	b := small(t)
	whole := mustParse(t, b)
	last := whole.Tensors()[3]
	for n := range int(last.Offset) + len(last.Data) {
		_, err := Parse(b[:n])
		if err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", n, len(b))
		}
		checkOffset(t, err, len(b))
	}
}

func TestParseAllocatesNoMoreThanTheInputAllows(t *testing.T) {
	zeros := make([]byte, 100)
	for name, b := range map[string][]byte{
		"tensors": rawFile(1<<60, 0, zeros),
		"keys":    rawFile(0, 1<<60, zeros),
		"strings": rawFile(0, 1, "k", uint32(ArrayType), uint32(StringType), uint64(1<<60), zeros),
		"text":    rawFile(0, 1, "k", uint32(StringType), uint64(1<<60), zeros),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Parse(b); err == nil {
			t.Errorf("%s: accepted", name)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 100_000 {
			t.Errorf("%s: %d bytes were allocated for a file of %d", name, n, len(b))
		}
	}
}

func infosOf(f *File) []TensorInfo {
	var infos []TensorInfo
	for _, t := range f.Tensors() {
		infos = append(infos, t.Info())
	}
	return infos
}

// rewrite writes a parsed file again.
func rewrite(t testing.TB, f *File) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, f.Metadata(), infosOf(f))
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

func TestRewriteReproducesLlamaCppFile(t *testing.T) {
	want, err := os.ReadFile(fixture.Path(t, "pebble/gguf/pebble-Q4_K_M.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(rewrite(t, mustParse(t, want)), want) {
		t.Error("the rewritten file differs")
	}
}

func TestParseVocabulary(t *testing.T) {
	b, err := os.ReadFile(fixture.Path(t, filepath.Join("tokenizer", "llama-spm-vocab.gguf")))
	if err != nil {
		t.Fatal(err)
	}
	f := mustParse(t, b)
	tokens, scores, types := f.Strings("tokenizer.ggml.tokens"), f.Float32s("tokenizer.ggml.scores"), f.Int32s("tokenizer.ggml.token_type")
	if len(tokens) != 32000 || len(scores) != 32000 || len(types) != 32000 || tokens[1] != "<s>" || types[1] != 3 {
		t.Errorf("%d tokens, %d scores, %d types", len(tokens), len(scores), len(types))
	}
}

func TestMetadataOutlivesTheFile(t *testing.T) {
	b := small(t)
	f := mustParse(t, b)
	clear(b)
	if words := f.Strings("words"); words[2] != "bc" || f.Tensors()[0].Name != "norm" {
		t.Errorf("words became %q when the file went away", words)
	}
}

func TestNewWriterRefuses(t *testing.T) {
	one := []KeyValue{{"k", ValueOf(true)}}
	tests := []struct {
		name     string
		metadata []KeyValue
		tensors  []TensorInfo
		wants    string
	}{
		{"key twice", append(one, one...), nil, "twice"},
		{"no value", []KeyValue{{Key: "k"}}, nil, "no value"},
		{"alignment", []KeyValue{{alignmentKey, ValueOf[uint32](3)}}, nil, "power of two"},
		{"name twice", one, []TensorInfo{{"t", F32, []int{1}}, {"t", F32, []int{1}}}, "twice"},
		{"no shape", one, []TensorInfo{{"t", F32, nil}}, "0 dimensions"},
		{"unknown type", one, []TensorInfo{{"t", 5, []int{1}}}, "unknown element type 5"},
		{"half a block", one, []TensorInfo{{"t", typeOf(tensor.Q6_K), []int{2, 128}}}, "whole number"},
		{"negative dimension", one, []TensorInfo{{"t", F32, []int{-1}}}, "negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			_, err := NewWriter(&b, tt.metadata, tt.tensors)
			if err == nil || !strings.Contains(err.Error(), tt.wants) || b.Len() > 0 {
				t.Errorf("got %v and %d bytes, want an error with %q", err, b.Len(), tt.wants)
			}
		})
	}
}

func TestTypeOf(t *testing.T) {
	for _, d := range tensor.DTypes() {
		g, ok := TypeOf(d)
		if ok != (d != tensor.U8 && d != tensor.I32) {
			t.Errorf("%v: has a GGML type: %v", d, ok)
			continue
		}
		if !ok {
			continue
		}
		row := 2 * d.BlockLen()
		want, _ := d.Bytes(row)
		if n, err := g.Size([]int{row}); err != nil || n != want || g.DType() != d || !strings.EqualFold(g.String(), d.String()) {
			t.Errorf("%v became %v with %d bytes for %d elements, want %d: %v", d, g, n, row, want, err)
		}
	}
	if _, ok := TypeOf(0); ok {
		t.Error("the unset type has a GGML type")
	}
	if GGMLType(4).DType() != 0 || GGMLType(1<<31).String() != "GGML type 2147483648" {
		t.Error("unknown types must have no DType and a number for a name")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(small(f))
	f.Add(rawFile(0, 0))
	f.Add(rawFile(0, 1, "k", uint32(ArrayType), uint32(ArrayType), 1, uint32(StringType), 1, "x"))
	f.Add(rawFile(2, 0, "a", uint32(1), 1, uint32(F32), 32, "b", uint32(1), 1, uint32(F32), 0, make([]byte, 128)))
	f.Fuzz(func(t *testing.T, b []byte) {
		parsed, err := Parse(b)
		if err != nil {
			checkOffset(t, err, len(b))
			return
		}
		for _, key := range parsed.Keys() {
			v, _ := parsed.Value(key)
			n, _ := v.Len()
			for _, decoded := range []int{len(v.Strings()), len(v.Int32s()), len(v.Float32s())} {
				if decoded != 0 && decoded != n {
					t.Errorf("%q: %d elements of %d", key, decoded, n)
				}
			}
			_, isUint := v.Uint()
			_, isFloat := v.Float()
			_, isBool := v.Bool()
			_, isText := v.Text()
			if isUint && !isFloat || isFloat && v.Type() == BoolType || isText && (isFloat || isBool) {
				t.Errorf("%q of type %v reads as two types", key, v.Type())
			}
		}
		again := mustParse(t, rewrite(t, parsed))
		if !slices.Equal(again.Keys(), parsed.Keys()) || len(again.Tensors()) != len(parsed.Tensors()) {
			t.Error("the rewritten file reads differently")
		}
	})
}

// BenchmarkParse reads a header of Llama 3.2's size: 150 tensors, 128,256 tokens, 280,147 merges.
func BenchmarkParse(b *testing.B) {
	words := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = "token" + strconv.Itoa(i)
		}
		return list
	}
	var infos []TensorInfo
	for i := range 150 {
		infos = append(infos, TensorInfo{"blk." + strconv.Itoa(i) + ".attn_output.weight", F32, []int{1, 1}})
	}
	file := encode(b, []KeyValue{
		{"tokenizer.ggml.tokens", ArrayOf(words(128256))},
		{"tokenizer.ggml.token_type", ArrayOf(make([]int32, 128256))},
		{"tokenizer.ggml.merges", ArrayOf(words(280147))},
	}, infos)
	b.Run("header", func(b *testing.B) {
		b.SetBytes(int64(len(file)))
		b.ReportAllocs()
		for b.Loop() {
			mustParse(b, file)
		}
	})
	b.Run("vocabulary", func(b *testing.B) {
		f := mustParse(b, file)
		b.ReportAllocs()
		for b.Loop() {
			if len(f.Strings("tokenizer.ggml.tokens"))+len(f.Strings("tokenizer.ggml.merges"))+len(f.Int32s("tokenizer.ggml.token_type")) == 0 {
				b.Fatal("no vocabulary")
			}
		}
	})
}
