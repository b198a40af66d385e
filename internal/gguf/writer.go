package gguf

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/internal/format"
)

// KeyValue is one entry of the metadata.
type KeyValue struct {
	Key   string
	Value Value
}

// TensorInfo announces a tensor to NewWriter.
type TensorInfo struct {
	Name  string
	Type  GGMLType
	Shape []int // outermost dimension first
}

// Info returns what NewWriter needs to know of t.
func (t Tensor) Info() TensorInfo { return TensorInfo{t.Name, t.Type, t.Shape} }

// NewWriter writes the header of a version 3 file to w, metadata and tensors in the given order, and returns the writer
// of the data, which must follow in the same order. A general.alignment among the metadata is obeyed. Duplicate names and
// impossible shapes are errors; nothing has been written then.
func NewWriter(w io.Writer, metadata []KeyValue, tensors []TensorInfo) (*format.TensorWriter, error) {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte(magic), version)
	b = le.AppendUint64(b, uint64(len(tensors)))
	b = le.AppendUint64(b, uint64(len(metadata)))
	b, alignment, err := appendMetadata(b, metadata)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	b, sections, err := appendTensorInfos(b, tensors, alignment)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	b = append(b, make([]byte, format.Pad(int64(len(b)), alignment))...)
	t, err := format.NewTensorWriter(w, b, sections, alignment)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	return t, nil
}

func appendMetadata(b []byte, metadata []KeyValue) (_ []byte, alignment int64, err error) {
	alignment = defaultAlignment
	seen := make(map[string]bool, len(metadata))
	for _, kv := range metadata {
		if seen[kv.Key] {
			return nil, 0, fmt.Errorf("metadata key %q occurs twice", kv.Key)
		}
		seen[kv.Key] = true
		if kv.Value.encoded == "" {
			return nil, 0, fmt.Errorf("metadata key %q has no value: make one with ValueOf or ArrayOf", kv.Key)
		}
		if kv.Key == alignmentKey {
			if alignment, err = alignmentOf(kv.Value, true); err != nil {
				return nil, 0, err
			}
		}
		b = appendString(b, kv.Key)
		b = binary.LittleEndian.AppendUint32(b, uint32(kv.Value.typ))
		b = append(b, kv.Value.encoded...)
	}
	return b, alignment, nil
}

func appendTensorInfos(b []byte, tensors []TensorInfo, alignment int64) ([]byte, []format.Section, error) {
	sections := make([]format.Section, len(tensors))
	seen := make(map[string]bool, len(tensors))
	for i, t := range tensors {
		size, err := t.Type.Size(t.Shape)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if seen[t.Name] {
			return nil, nil, fmt.Errorf("tensor %q occurs twice", t.Name)
		}
		seen[t.Name] = true
		sections[i] = format.Section{Name: t.Name, Size: int64(size)}
	}
	offsets, _, err := format.Offsets(sections, alignment)
	if err != nil {
		return nil, nil, err
	}
	for i, t := range tensors {
		b = appendTensorInfo(b, t, offsets[i])
	}
	return b, sections, nil
}

func appendTensorInfo(b []byte, t TensorInfo, offset int64) []byte {
	le := binary.LittleEndian
	b = appendString(b, t.Name)
	b = le.AppendUint32(b, uint32(len(t.Shape)))
	for i := len(t.Shape) - 1; i >= 0; i-- {
		b = le.AppendUint64(b, uint64(t.Shape[i]))
	}
	b = le.AppendUint32(b, uint32(t.Type))
	return le.AppendUint64(b, uint64(offset))
}
