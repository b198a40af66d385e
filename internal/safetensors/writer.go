package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/format"
)

// TensorInfo announces a tensor to NewWriter.
type TensorInfo struct {
	Name  string
	DType string // as the format names it, such as "BF16"
	Shape []int  // outermost dimension first
}

// headerAlignment is what the reference implementation pads the header to, so that data begin at a multiple of it.
const headerAlignment = 8

// NewWriter writes the header to w, tensors in the given order, and returns the writer of the data, which must follow in
// the same order. Names must differ, types be known; nothing has been written when there is an error. Readers that map
// files like every tensor at a multiple of its elements' size: put the widest elements first.
func NewWriter(w io.Writer, metadata map[string]string, tensors []TensorInfo) (*format.TensorWriter, error) {
	sections, err := sectionsOf(tensors)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	header, err := encodeHeader(metadata, tensors, sections)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	t, err := format.NewTensorWriter(w, header, sections, 1)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return t, nil
}

func sectionsOf(tensors []TensorInfo) ([]format.Section, error) {
	sections := make([]format.Section, len(tensors))
	seen := map[string]bool{metadataKey: true}
	for i, t := range tensors {
		if seen[t.Name] || !utf8.ValidString(t.Name) {
			return nil, fmt.Errorf("tensor name %q occurs twice, is reserved, or is no UTF-8", t.Name)
		}
		seen[t.Name] = true
		n, known, err := size(t.DType, t.Shape)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if !known {
			return nil, fmt.Errorf("tensor %q: the format has no element type %q", t.Name, t.DType)
		}
		sections[i] = format.Section{Name: t.Name, Size: int64(n)}
	}
	return sections, nil
}

// encodeHeader writes the JSON member by member: encoding/json would sort them by name.
func encodeHeader(metadata map[string]string, tensors []TensorInfo, sections []format.Section) ([]byte, error) {
	offsets, _, err := format.Offsets(sections, 1)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(make([]byte, lengthSize))
	b.WriteByte('{')
	if len(metadata) > 0 {
		if err := encodeMember(b, metadataKey, metadata); err != nil {
			return nil, err
		}
	}
	for i, t := range tensors {
		entry := struct {
			DType   string   `json:"dtype"`
			Shape   []int    `json:"shape"`
			Offsets [2]int64 `json:"data_offsets"`
		}{t.DType, append([]int{}, t.Shape...), [2]int64{offsets[i], offsets[i] + sections[i].Size}}
		if err := encodeMember(b, t.Name, entry); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	for range format.Pad(int64(b.Len()), headerAlignment) {
		b.WriteByte(' ')
	}
	n := b.Len() - lengthSize
	if n > maxHeader {
		return nil, fmt.Errorf("the header has %d bytes, more than the %d that readers accept", n, maxHeader)
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(n))
	return b.Bytes(), nil
}

// encodeMember writes "key":value, with a comma before all but the first.
func encodeMember(b *bytes.Buffer, key string, value any) error {
	if b.Len() > lengthSize+1 {
		b.WriteByte(',')
	}
	for i, v := range []any{key, value} {
		if i == 1 {
			b.WriteByte(':')
		}
		encoded, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encoding %q: %w", key, err)
		}
		b.Write(encoded)
	}
	return nil
}
