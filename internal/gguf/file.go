// Package gguf reads and writes GGUF, the file format of llama.cpp: typed metadata (the model's configuration and its
// vocabulary), the names, types and shapes of the tensors, and their data, aligned so that a mapped file needs no copy.
//
//	magic "GGUF" | version u32 | number of tensors u64 | number of keys u64
//	each key:      name | type u32 | value
//	each tensor:   name | number of dimensions u32 | dimensions u64, innermost first | type u32 | offset u64
//	padding to general.alignment, 32 unless given
//	data, each tensor padded to the alignment
//
// Strings are a length (u64) and bytes; everything is little-endian. The format is specified in ggml's docs/gguf.md.
// Parse trusts nothing: whatever a file claims, its work and its memory stay proportional to the file's header.
package gguf

import (
	"slices"

	"github.com/antigravity-go/antigravity/tensor"
)

// File is a parsed GGUF file. It is immutable, and safe for any number of goroutines.
type File struct {
	version  uint32
	keys     []string
	metadata map[string]Value
	tensors  []Tensor
	byName   map[string]int // index into tensors
}

// Tensor is a tensor of a file. Its slices are shared by all who ask for it and must not be modified.
type Tensor struct {
	Name   string
	DType  tensor.DType // 0 when package tensor has no such type
	Type   GGMLType     // as in the file
	Shape  []int        // outermost dimension first
	Offset int64        // of Data in the file, in bytes
	Data   []byte       // a view of the parsed bytes
	Part   int          // which of the files, from 0, that Join has joined
}

// Version returns the version of the format: 2 or 3.
func (f *File) Version() int { return int(f.version) }

// Keys returns the metadata's keys in the order of the file.
func (f *File) Keys() []string { return slices.Clone(f.keys) }

// Metadata returns the metadata in the order of the file, ready for a Writer.
func (f *File) Metadata() []KeyValue {
	list := make([]KeyValue, len(f.keys))
	for i, key := range f.keys {
		list[i] = KeyValue{key, f.metadata[key]}
	}
	return list
}

// Value returns the value of a key, and whether there is one.
func (f *File) Value(key string) (Value, bool) {
	v, ok := f.metadata[key]
	return v, ok
}

// String returns the string at a key; false when it is absent or of another type.
func (f *File) String(key string) (string, bool) { return get(f, key, Value.Text) }

// Uint returns the whole number at a key; false when it is absent or Value.Uint does not take it.
func (f *File) Uint(key string) (uint64, bool) { return get(f, key, Value.Uint) }

// Int returns the whole number at a key; false when it is absent or Value.Int does not take it.
func (f *File) Int(key string) (int64, bool) { return get(f, key, Value.Int) }

// Float returns the number at a key; false when it is absent or Value.Float does not take it.
func (f *File) Float(key string) (float64, bool) { return get(f, key, Value.Float) }

// Bool returns the truth value at a key; false when it is absent or Value.Bool does not take it.
func (f *File) Bool(key string) (value, ok bool) { return get(f, key, Value.Bool) }

// get returns the value of a key as another type; false when the key is absent or as refuses the value.
func get[T any](f *File, key string, as func(Value) (T, bool)) (T, bool) {
	if v, ok := f.metadata[key]; ok {
		return as(v)
	}
	var zero T
	return zero, false
}

// Strings decodes the array of strings at a key; nil when it is absent or of another type. See Value.Strings.
func (f *File) Strings(key string) []string { return f.array(key).Strings() }

// Int32s decodes the array of whole numbers at a key; nil when it is absent or Value.Int32s does not take it.
func (f *File) Int32s(key string) []int32 { return f.array(key).Int32s() }

// Float32s decodes the array of numbers at a key; nil when it is absent or Value.Float32s does not take it.
func (f *File) Float32s(key string) []float32 { return f.array(key).Float32s() }

func (f *File) array(key string) Value { return f.metadata[key] }

// Tensors returns the tensors in the order of the file.
func (f *File) Tensors() []Tensor { return slices.Clone(f.tensors) }

// Tensor returns the tensor of a name, and whether there is one.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return f.tensors[i], true
}
