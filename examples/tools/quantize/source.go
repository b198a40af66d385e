package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/rare"
	"github.com/antigravity-go/antigravity/tensor"
)

// source is a model to convert: the metadata of its GGUF file, and its tensors as they lie in mapped files.
type source struct {
	metadata []gguf.KeyValue
	tensors  []weight      // in the order to write
	config   *model.Config // nil: the source is a tower
	paths    []string
	files    []*mmap.File
}

// weight is a tensor of a source.
type weight struct {
	name   string             // GGUF's
	model  *checkpoint.Tensor // its part in the model, nil if it belongs to no part
	dtype  tensor.DType
	shape  []int // outermost dimension first
	data   []byte
	rare   *rare.Type // not nil: data are of this type, which is read as dtype
	moved  *moved     // not nil: the file to write has its rows or columns in another order; then data are nil
	file   *mmap.File // nil: data are in memory
	offset int64      // of data in the file
}

// moved reads a tensor with some of its rows or columns in another order. The elements of a vector are its rows.
type moved struct {
	row     func(i int) ([]byte, error) // the i-th row
	columns func(i int) int             // the column that is to be written as the i-th; nil: their order stays
}

// arrange copies rows from lo to hi, of n bytes and cols elements each, to dst.
func (m *moved) arrange(dst []byte, lo, hi, n, cols int) error {
	size := n / max(cols, 1) // of an element: the types are not quantised
	for i := lo; i < hi; i++ {
		to := dst[(i-lo)*n:][:n]
		from, err := m.row(i)
		if err != nil {
			return err
		}
		if m.columns == nil {
			copy(to, from)
			continue
		}
		for j := range cols {
			copy(to[j*size:][:size], from[m.columns(j)*size:])
		}
	}
	return nil
}

// partsOf returns the model's tensors by their names in GGUF. If GGUF keeps several in one tensor, the last one counts: of queries, keys
// and values the values.
func partsOf(c *model.Config) map[string]*checkpoint.Tensor {
	parts, fused := map[string]*checkpoint.Tensor{}, map[string]*checkpoint.Tensor{}
	for _, t := range checkpoint.AllTensors(c) {
		parts[t.GGUF.Name] = &t
		for _, form := range t.GGUF.Forms {
			fused[form.Name] = &t // of gate and up in one, too
		}
		if whole := t.GGUF.Within.Name; whole != "" && (fused[whole] == nil || fused[whole].GGUF.Within.First < t.GGUF.Within.First) {
			fused[whole] = &t
		}
	}
	maps.Copy(parts, fused)
	return parts
}

// open opens a Hugging Face folder or a GGUF file.
func open(path string, tower bool) (s *source, err error) {
	defer mmap.Catch(&err)()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	s = &source{}
	switch {
	case info.IsDir() && tower:
		err = s.readTower(path)
	case tower:
		err = cli.Usagef("-tower takes the tower from a Hugging Face folder; a GGUF file with a tower is read as it is")
	case info.IsDir():
		err = s.readFolder(path)
	case isGGUF(path):
		err = s.readGGUF(path)
	default:
		err = errors.New("neither a folder nor a .gguf file")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), s.Close())
	}
	return s, nil
}

// mapFile maps a file until Close.
func (s *source) mapFile(path string) (*mmap.File, error) {
	f, err := mmap.Open(path)
	if err != nil {
		return nil, err
	}
	s.paths, s.files = append(s.paths, path), append(s.files, f)
	return f, nil
}

// Close closes the files.
func (s *source) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// set gives a key of the metadata a value, and adds the key if it is missing.
func (s *source) set(key string, value gguf.Value) {
	if i := slices.IndexFunc(s.metadata, func(kv gguf.KeyValue) bool { return kv.Key == key }); i >= 0 {
		s.metadata[i].Value = value
		return
	}
	s.metadata = append(s.metadata, gguf.KeyValue{Key: key, Value: value})
}

func text(v string) gguf.Value { return gguf.ValueOf(v) }

func number(v int32) gguf.Value { return gguf.ValueOf(uint32(v)) }

// release hints to the system that n bytes of the data have been read and need not stay in memory.
func (w *weight) release(at, n int) {
	if w.file != nil {
		_ = w.file.Release(int(w.offset)+at, n) // a hint
	}
}

// rows returns how many rows a tensor has, and how long each is. A vector is one row, unless its elements change places.
func (w *weight) rows() (rows, cols int) {
	cols = w.shape[len(w.shape)-1]
	switch {
	case w.moved != nil && len(w.shape) == 3: // of experts
		rows = w.shape[0] * w.shape[1]
	case w.moved != nil:
		rows, cols = w.shape[0], 1
		for _, n := range w.shape[1:] {
			cols *= n
		}
	case len(w.data) > 0:
		rows = len(w.data) / w.rowBytes(cols)
	}
	return rows, cols
}

// rowBytes returns the bytes of data that a row of cols elements has.
func (w *weight) rowBytes(cols int) int {
	if w.rare != nil {
		return w.rare.Bytes(cols)
	}
	return w.dtype.Format().Bytes(cols)
}
