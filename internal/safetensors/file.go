// Package safetensors reads and writes safetensors, the format in which Hugging Face publishes weights, and the index
// that joins the shards of a large model:
//
//	length of the header u64, little-endian
//	header: JSON {"name": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [begin, end]}, …, "__metadata__": {…}}
//	data: the tensors, one after another without gaps; offsets count from here
//
// Parse is as strict as the reference implementation (github.com/huggingface/safetensors): a file has one reading, every
// byte of data belongs to exactly one tensor, and neither memory nor time exceeds a small multiple of the header's length.
package safetensors

import (
	"maps"
	"slices"
)

// File is a parsed safetensors file. It is immutable, and safe for any number of goroutines.
type File struct {
	tensors  []Tensor // by offset
	byName   map[string]int
	metadata map[string]string
}

// Tensor is a tensor of a file. Its slices are shared by all who ask for it and must not be modified.
type Tensor struct {
	Name   string
	DType  string // as in the file, such as "BF16"; see ElementType
	Shape  []int  // outermost dimension first; empty for a single number
	Offset int64  // of Data in the file, in bytes
	Data   []byte // a view of the parsed bytes
}

// Names returns the tensors' names in the order of their data.
func (f *File) Names() []string {
	names := make([]string, len(f.tensors))
	for i, t := range f.tensors {
		names[i] = t.Name
	}
	return names
}

// Tensors returns the tensors in the order of their data.
func (f *File) Tensors() []Tensor { return slices.Clone(f.tensors) }

// Tensor returns the tensor of a name, and whether there is one.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return f.tensors[i], true
}

// Metadata returns a copy of the free-form __metadata__, or nil.
func (f *File) Metadata() map[string]string { return maps.Clone(f.metadata) }
