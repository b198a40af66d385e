package gguf

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/tensor"
)

// A header is the magic, the version, two counts, the keys and the descriptions of the tensors; the tensors' data follow, aligned. For
// example, a file with one key and one tensor begins
//
//	"GGUF"  3  1 tensor  1 key
//	"general.architecture"  string  "llama"
//	"output.weight"  2 dimensions  4096  128256  type  offset
//	padding up to the alignment, data
//
// Nothing in it is trusted: counts are compared with the bytes that are left before anything is allocated.

const (
	magic            = "GGUF"
	version          = 3 // what NewWriter writes; 2 differs in nothing that a little-endian file shows
	alignmentKey     = "general.alignment"
	defaultAlignment = 32
	maxAlignment     = 1 << 16

	minKeySize        = 8 + 4 + 1              // empty name, type, one byte
	minTensorInfoSize = 8 + 4 + 8 + 4 + 8      // empty name, number of dimensions, one dimension, type, offset
	maxNameInMessage  = 100                    // bytes
	headerSize        = len(magic) + 4 + 8 + 8 // up to the first key
)

// Bounds on counts that real files stay far below. An entry takes more memory than its few bytes in the file, so these keep the memory of a
// header in proportion to the file.
const (
	maxTensors = 1 << 16
	maxKeys    = 1 << 16
)

// Parse reads a file's header. Metadata is copied from b. The tensors' Data are views of b and as aligned as b is. Every error is a
// *format.OffsetError.
//
// b may be a mapped file that another program writes to meanwhile: the header is copied, and the copy is checked and kept. Only the
// tensors' Data can still change.
func Parse(b []byte) (*File, error) {
	// The first pass only finds the end of the header.
	end, err := headerEnd(b)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	header := bytes.Clone(b[:end])
	p := parser{scanner: scanner{b: header}}
	p.header()
	if p.err != nil {
		return nil, fmt.Errorf("gguf: %w", p.err)
	}
	f := &File{version: p.version}
	// The copy, which nothing writes to from here on, is the memory of every name and value.
	text := unsafe.String(unsafe.SliceData(header), len(header))
	if err := p.buildMetadata(f, text); err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	if err := p.buildTensors(f, text, b); err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	return f, nil
}

// headerEnd returns the length of a file's header in bytes.
func headerEnd(b []byte) (int, error) {
	p := parser{scanner: scanner{b: b}, passing: true}
	p.header()
	return p.off, p.err
}

// parser reads a header. It keeps names and values as spans of the header, and checks their form; Parse turns them into a
// File.
type parser struct {
	scanner
	passing bool // only find the header's end, and keep no keys and tensors
	version uint32
	keys    []keyInfo
	tensors []tensorInfo
}

type keyInfo struct {
	name, value span
	typ         ValueType
}

type tensorInfo struct {
	at     int // offset of the entry
	name   span
	ndim   int
	ne     [tensor.MaxDims]uint64 // innermost first
	typ    GGMLType
	offset uint64 // within the data
}

func (p *parser) header() {
	p.preamble()
	tensorsAt := p.off
	tensors := p.count(minTensorInfoSize, "number of tensors")
	keysAt := p.off
	keys := p.count(minKeySize, "number of metadata keys")
	if tensors > maxTensors {
		p.fail(tensorsAt, "there are %d tensors, more than %d", tensors, maxTensors)
	}
	if keys > maxKeys {
		p.fail(keysAt, "there are %d metadata keys, more than %d", keys, maxKeys)
	}
	if used := keys * minKeySize; p.err == nil && tensors > (p.left()-used)/minTensorInfoSize {
		p.fail(tensorsAt, "%d tensors and %d keys are more than %d bytes can hold", tensors, keys, p.left())
	}
	for ; keys > 0 && p.err == nil; keys-- {
		p.key()
	}
	for ; tensors > 0 && p.err == nil; tensors-- {
		p.tensorInfo()
	}
}

func (p *parser) preamble() {
	at := p.skip(uint64(len(magic)), "magic")
	if p.err == nil && string(p.b[at.off:at.end]) != magic {
		p.fail(0, "the file begins with %q, not with %q", p.b[:len(magic)], magic)
	}
	versionAt := p.off
	p.version = p.u32("version")
	switch {
	case p.err != nil:
	case p.version == 1:
		p.fail(versionAt, "version 1 is not supported, only 2 and 3: convert the model anew")
	case p.version == 0 || p.version > version:
		if swapped := bits.ReverseBytes32(p.version); swapped != 0 && swapped <= version {
			p.fail(versionAt, "the file is big-endian; only little-endian files are supported")
		}
		p.fail(versionAt, "version %d is not supported, only 2 and 3", p.version)
	}
}

func (p *parser) key() {
	k := keyInfo{name: p.str("key")}
	k.typ = ValueType(p.u32("value type"))
	k.value.off = p.off
	p.value(k.typ, 0)
	k.value.end = p.off
	if !p.passing {
		p.keys = append(p.keys, k)
	}
}

func (p *parser) tensorInfo() {
	t := tensorInfo{at: p.off, name: p.str("tensor name")}
	ndimAt := p.off
	ndim := p.u32("number of dimensions")
	if p.err == nil && (ndim == 0 || ndim > tensor.MaxDims) {
		p.fail(ndimAt, "tensor %q has %d dimensions; there must be 1 to %d", p.quote(t.name), ndim, tensor.MaxDims)
		return
	}
	t.ndim = int(ndim)
	for i := range t.ndim {
		t.ne[i] = p.u64("dimension")
	}
	t.typ = GGMLType(p.u32("tensor type"))
	t.offset = p.u64("tensor offset")
	if !p.passing {
		p.tensors = append(p.tensors, t)
	}
}

// quote returns a name for an error message.
func (p *parser) quote(name span) []byte {
	return p.b[name.off:min(name.end, name.off+maxNameInMessage)]
}

func (p *parser) buildMetadata(f *File, text string) error {
	f.keys = make([]string, len(p.keys))
	f.metadata = make(map[string]Value, len(p.keys))
	for i, k := range p.keys {
		name := text[k.name.off:k.name.end]
		if _, dup := f.metadata[name]; dup {
			return format.Errorf(int64(k.name.off), "metadata key %q occurs twice", p.quote(k.name))
		}
		f.keys[i] = name
		f.metadata[name] = Value{k.typ, text[k.value.off:k.value.end]}
	}
	return nil
}

// buildTensors finds the tensors' data in the file's bytes.
func (p *parser) buildTensors(f *File, text string, file []byte) error {
	alignment, err := alignmentOf(f.Value(alignmentKey))
	if err != nil {
		return &format.OffsetError{Offset: p.valueOffset(text, alignmentKey), Err: err}
	}
	base := p.off + int(format.Pad(int64(p.off), alignment))
	f.tensors = make([]Tensor, len(p.tensors))
	f.byName = make(map[string]int, len(p.tensors))
	for i, info := range p.tensors {
		t, err := p.build(info, file, base, int(alignment))
		if err != nil {
			return format.Errorf(int64(info.at), "tensor %q: %w", p.quote(info.name), err)
		}
		t.Name = text[info.name.off:info.name.end]
		if _, dup := f.byName[t.Name]; dup {
			return format.Errorf(int64(info.at), "tensor %q occurs twice", p.quote(info.name))
		}
		f.tensors[i], f.byName[t.Name] = t, i
	}
	return checkOverlap(f.tensors)
}

// build checks one tensor's geometry and finds its data in the file. All tensors' data begin at base; a tensor's offset
// counts from there, and must be a multiple of alignment.
func (p *parser) build(info tensorInfo, file []byte, base, alignment int) (Tensor, error) {
	t := Tensor{DType: info.typ.DType(), Type: info.typ, Shape: make([]int, info.ndim)}
	for i := range t.Shape {
		n := info.ne[info.ndim-1-i]
		if n > math.MaxInt {
			return t, fmt.Errorf("dimension %d is too large", n)
		}
		t.Shape[i] = int(n)
	}
	size, err := info.typ.Size(t.Shape)
	if err != nil {
		return t, err
	}
	if info.offset%uint64(alignment) != 0 {
		return t, fmt.Errorf("offset %d is no multiple of the alignment %d", info.offset, alignment)
	}
	available := uint64(max(len(file)-base, 0))
	if info.offset > available || uint64(size) > available-info.offset {
		return t, fmt.Errorf("its %d bytes at offset %d pass the end of the data, which has %d: is the file complete?",
			size, info.offset, available)
	}
	start := base + int(info.offset)
	if size > 0 {
		t.Data = file[start : start+size : start+size]
	}
	t.Offset = int64(start)
	return t, nil
}

// valueOffset returns the offset of a key's value in the file.
func (p *parser) valueOffset(text, key string) int64 {
	for _, k := range p.keys {
		if text[k.name.off:k.name.end] == key {
			return int64(k.value.off)
		}
	}
	return 0
}

// alignmentOf reads the value of general.alignment, if there is one.
func alignmentOf(v Value, present bool) (int64, error) {
	if !present {
		return defaultAlignment, nil
	}
	n, ok := v.Uint()
	if !ok || n == 0 || n > maxAlignment || n&(n-1) != 0 {
		return 0, fmt.Errorf("%s (%v, %d) is no power of two up to %d", alignmentKey, v.Type(), n, maxAlignment)
	}
	return int64(n), nil
}

// checkOverlap refuses files in which two tensors share bytes, which no honest writer produces.
func checkOverlap(tensors []Tensor) error {
	order := make([]int, len(tensors))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(tensors[a].Offset, tensors[b].Offset), cmp.Compare(len(tensors[a].Data), len(tensors[b].Data)))
	})
	for i := 1; i < len(order); i++ {
		before, t := tensors[order[i-1]], tensors[order[i]]
		if before.Offset+int64(len(before.Data)) > t.Offset {
			return format.Errorf(t.Offset, "tensors %.100q and %.100q share data", before.Name, t.Name)
		}
	}
	return nil
}
