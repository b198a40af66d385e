package importance

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/gguf"
)

// maxFile bounds the files that are read: a matrix of the largest models has some hundred megabytes.
const maxFile = 4 << 30

// magic begins a GGUF file.
const magic = "GGUF"

// Read reads a file of either form.
func Read(path string) (*Matrix, error) {
	data, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("read the importance matrix: %w", err)
	}
	parse := parseDat
	if bytes.HasPrefix(data, []byte(magic)) {
		parse = parseGGUF
	}
	m, err := parse(data)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return nil, fmt.Errorf("read the importance matrix %s: %w", path, err)
	}
	return m, nil
}

// read reads a regular file whole.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), int64(maxFile))
	}
	return os.ReadFile(path)
}

// Write writes a file: of the older form if its name ends in .dat, else GGUF. It has its name once it is complete.
func (m *Matrix) Write(path string) error { return m.writeTo(nil, path) }

func (m *Matrix) writeTo(system atomicfile.System, path string) error {
	if err := m.check(); err != nil {
		return fmt.Errorf("write the importance matrix %s: %w", path, err)
	}
	write := m.writeGGUF
	if strings.EqualFold(filepath.Ext(path), ".dat") {
		write = m.writeDat
	}
	set := atomicfile.Set{System: system}
	defer set.Discard()
	err := set.Write(path, func(w io.Writer) error {
		b := bufio.NewWriter(w)
		return errors.Join(write(b), b.Flush())
	})
	if err == nil {
		err = set.Commit()
	}
	if err != nil {
		return fmt.Errorf("the importance matrix: %w", err)
	}
	return nil
}

// The keys and the names' endings of the GGUF form.
const (
	typeKey     = "general.type"
	typeValue   = "imatrix"
	datasetsKey = "imatrix.datasets"
	chunksKey   = "imatrix.chunk_count"
	chunkKey    = "imatrix.chunk_size"
	squaresEnd  = ".in_sum2"
	countsEnd   = ".counts"
)

// maxChunk bounds the tokens of a chunk.
const maxChunk = 1 << 24

func parseGGUF(data []byte) (*Matrix, error) {
	f, err := gguf.Parse(data)
	if err != nil {
		return nil, err
	}
	if kind, _ := f.String(typeKey); kind != typeValue {
		return nil, fmt.Errorf("the key %s is %.40q, not %q: it is another kind of GGUF file", typeKey, kind, typeValue)
	}
	m := New(0)
	m.Datasets = f.Strings(datasetsKey)
	if n, ok := f.Uint(chunkKey); ok && n <= maxChunk {
		m.Chunk = int(n)
	}
	for _, t := range f.Tensors() {
		name, squares := strings.CutSuffix(t.Name, squaresEnd)
		if !squares {
			continue
		}
		counts, ok := f.Tensor(name + countsEnd)
		if !ok {
			return nil, fmt.Errorf("%s has sums, but no tensor %s", name, name+countsEnd)
		}
		s := &Sums{}
		if s.Squares, err = floats(t); err == nil {
			s.Counts, err = floats(counts)
		}
		if err != nil {
			return nil, err
		}
		m.Tensors[name] = s
	}
	return m, nil
}

// floats reads a tensor.
func floats(t gguf.Tensor) ([]float64, error) {
	if t.Type != gguf.F32 {
		return nil, fmt.Errorf("%s has the type %v, which should be %v", t.Name, t.Type, gguf.F32)
	}
	x := make([]float32, len(t.Data)/4)
	if err := t.DType.Format().Dequantize(x, t.Data); err != nil {
		return nil, err
	}
	return widen(x), nil
}

func widen(x []float32) []float64 {
	wide := make([]float64, len(x))
	for i, v := range x {
		wide[i] = float64(v)
	}
	return wide
}

func (m *Matrix) writeGGUF(w io.Writer) error {
	metadata := []gguf.KeyValue{
		{Key: typeKey, Value: gguf.ValueOf(typeValue)},
		{Key: datasetsKey, Value: gguf.ArrayOf(m.Datasets)},
		{Key: chunksKey, Value: gguf.ValueOf(uint32(m.Chunks()))},
		{Key: chunkKey, Value: gguf.ValueOf(uint32(m.Chunk))},
	}
	var infos []gguf.TensorInfo
	for _, name := range m.Names() {
		s := m.Tensors[name]
		matrices := len(s.Counts)
		infos = append(infos,
			gguf.TensorInfo{Name: name + squaresEnd, Type: gguf.F32, Shape: []int{matrices, len(s.Squares) / matrices}},
			gguf.TensorInfo{Name: name + countsEnd, Type: gguf.F32, Shape: []int{matrices, 1}})
	}
	out, err := gguf.NewWriter(w, metadata, infos)
	if err != nil {
		return err
	}
	for _, name := range m.Names() {
		s := m.Tensors[name]
		if err := errors.Join(out.WriteTensor(name+squaresEnd, bytesOf(s.Squares)), out.WriteTensor(name+countsEnd, bytesOf(s.Counts))); err != nil {
			return err
		}
	}
	return out.Close()
}
