package importance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// The older form is a list of numbers of 32 bits, little-endian:
//
//	number of tensors
//	each: length of the name | name | chunks | number of sums | float32 sums
//	chunks in all | length of the text's name | name
//
// The sums are means times chunks, and the file does not say how many tokens a chunk has. The line after the tensors may be missing.

// errShort is of a file that ends too early.
var errShort = errors.New("the file ends in the middle of a tensor")

// maxName bounds the names of tensors.
const maxName = 1 << 12

// reader takes numbers from the beginning of a file.
type reader struct {
	b   []byte
	err error
}

// take returns n bytes, nil once something was missing.
func (r *reader) take(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.b)) {
		r.err = errShort
	}
	if r.err != nil {
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// int reads a number, which must not be negative.
func (r *reader) int() int {
	b := r.take(4)
	if b == nil {
		return 0
	}
	n := int32(binary.LittleEndian.Uint32(b))
	if n < 0 {
		r.err = fmt.Errorf("a length of %d: it is no importance matrix", n)
		return 0
	}
	return int(n)
}

func parseDat(data []byte) (*Matrix, error) {
	r, m := &reader{b: data}, New(DefaultChunk)
	tensors := r.int()
	for i := 0; i < tensors && r.err == nil; i++ {
		length := r.int()
		if length > maxName {
			return nil, fmt.Errorf("tensor %d has a name of %d bytes: it is no importance matrix", i, length)
		}
		name := string(r.take(length))
		chunks, n := r.int(), r.int()
		if n > len(r.b)/4 {
			return nil, errShort
		}
		sums := r.take(4 * n)
		if r.err != nil {
			break
		}
		if m.Tensors[name] != nil {
			return nil, fmt.Errorf("the tensor %.100q occurs twice", name)
		}
		s := &Sums{Squares: make([]float64, n), Counts: []float64{float64(chunks * DefaultChunk)}}
		for j := range s.Squares {
			s.Squares[j] = float64(math.Float32frombits(binary.LittleEndian.Uint32(sums[4*j:]))) * DefaultChunk
		}
		m.Tensors[name] = s
	}
	if r.err != nil {
		return nil, r.err
	}
	if len(r.b) >= 8 {
		r.int()
		if name := r.take(r.int()); len(name) > 0 {
			m.Datasets = []string{string(name)}
		}
	}
	return m, nil
}

func (m *Matrix) writeDat(w io.Writer) error {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(len(m.Tensors)))
	text := func(s string) { b = append(le.AppendUint32(b, uint32(len(s))), s...) }
	for _, name := range m.Names() {
		s := m.Tensors[name]
		chunks := math.Ceil(slices.Max(s.Counts) / float64(m.Chunk))
		text(name)
		b = le.AppendUint32(b, uint32(chunks))
		b = le.AppendUint32(b, uint32(len(s.Squares)))
		for _, mean := range s.Means() {
			b = le.AppendUint32(b, math.Float32bits(float32(float64(mean)*chunks)))
		}
	}
	b = le.AppendUint32(b, uint32(m.Chunks()))
	dataset := ""
	if n := len(m.Datasets); n > 0 {
		dataset = m.Datasets[n-1]
	}
	text(dataset)
	_, err := w.Write(b)
	return err
}

// bytesOf returns numbers as float32.
func bytesOf(x []float64) []byte {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return b
}
