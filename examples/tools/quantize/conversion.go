package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/tensor"
)

// pieceBytes is about how much of a tensor is converted at a time: enough to share among threads, little to hold.
const pieceBytes = 4 << 20

// conversion turns a source into a GGUF file, in memory for one piece of one tensor.
type conversion struct {
	source     *source
	kind, head tensor.DType
	host       *cpu.Backend // rounds, on all its threads
	progress   func(done, total int64)

	infos       []gguf.TensorInfo
	done, total int64  // bytes of the file's tensors
	in, out     []byte // one piece
}

// plan announces the tensors.
func (c *conversion) plan() error {
	c.source.set("general.file_type", gguf.ValueOf(fileTypes[c.kind]))
	c.source.set("general.quantization_version", gguf.ValueOf(uint32(2))) // of ggml's block layouts
	for i := range c.source.tensors {
		w := &c.source.tensors[i]
		d := c.target(w)
		kind, ok := gguf.TypeOf(d)
		if !ok {
			return fmt.Errorf("tensor %s: GGUF has no type for %v", w.name, d)
		}
		cols := w.shape[len(w.shape)-1]
		if cols%d.BlockLen() != 0 {
			return cli.Usagef("%s has rows of %d elements, no whole number of %v blocks of %d: choose another type",
				w.name, cols, d, d.BlockLen())
		}
		c.infos = append(c.infos, gguf.TensorInfo{Name: w.name, Type: kind, Shape: w.shape})
		rows, cols := w.rows()
		c.total += int64(rows) * int64(d.Format().Bytes(cols))
	}
	return nil
}

// target returns the type that a tensor gets.
func (c *conversion) target(w *weight) tensor.DType {
	switch {
	case len(w.shape) == 1: // norms, biases and RoPE's divisors
		return tensor.F32
	case w.name == c.headName():
		return c.head
	}
	return c.kind
}

// headName is the output head's name: the embedding's where that serves as one.
func (c *conversion) headName() string {
	for i := range c.source.tensors {
		if c.source.tensors[i].name == "output.weight" {
			return "output.weight"
		}
	}
	return "token_embd.weight"
}

// rounded counts the matrices that are quantised already and are to be once more.
func (c *conversion) rounded() (n int) {
	for i := range c.source.tensors {
		if w := &c.source.tensors[i]; w.dtype.Quantized() && c.target(w).Quantized() && w.dtype != c.target(w) {
			n++
		}
	}
	return n
}

// write writes the file under another name, and gives it its own once it is complete. It returns the file's size.
func (c *conversion) write(ctx context.Context, path string) (size int64, err error) {
	if err := c.mayWrite(path); err != nil {
		return 0, err
	}
	part := path + ".part"
	f, err := os.Create(part)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			os.Remove(part)
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	err = c.writeTo(ctx, f)
	if info, statErr := f.Stat(); statErr == nil {
		size = info.Size()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return 0, err
	}
	return size, os.Rename(part, path)
}

// mayWrite refuses to replace what is read, and what is no file.
func (c *conversion) mayWrite(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // most likely there is none; creating the file tells
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("write %s: it exists and is no regular file", path)
	}
	for _, in := range c.source.paths {
		if read, err := os.Stat(in); err == nil && os.SameFile(read, info) {
			return cli.Usagef("-out %s is the file that is read: choose another name", path)
		}
	}
	return nil
}

func (c *conversion) writeTo(ctx context.Context, w io.Writer) error {
	out, err := gguf.NewWriter(w, c.source.metadata, c.infos)
	if err != nil {
		return err
	}
	for i := range c.source.tensors {
		t := &c.source.tensors[i]
		if err := c.writeTensor(ctx, out, t); err != nil {
			return fmt.Errorf("tensor %s: %w", t.name, err)
		}
		t.release(0, len(t.data))
	}
	return out.Close()
}

// writeTensor writes one tensor, a piece of some rows at a time.
func (c *conversion) writeTensor(ctx context.Context, out *format.TensorWriter, w *weight) error {
	if err := out.Begin(w.name); err != nil {
		return err
	}
	rows, cols := w.rows()
	step := max(pieceBytes/max(w.dtype.Format().Bytes(cols), 1), 1)
	for lo := 0; lo < rows; lo += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := c.piece(w, lo, min(lo+step, rows))
		if err != nil {
			return err
		}
		if _, err := out.Write(data); err != nil {
			return err
		}
		c.done += int64(len(data))
		c.progress(c.done, c.total)
	}
	return nil
}

// piece returns rows lo to hi as the file has them, until the next call.
func (c *conversion) piece(w *weight, lo, hi int) ([]byte, error) {
	if err := c.gather(w, lo, hi); err != nil {
		return nil, err
	}
	d := c.target(w)
	if d == w.dtype {
		return c.in, nil
	}
	_, cols := w.rows()
	c.out = grow(c.out, (hi-lo)*d.Format().Bytes(cols))
	shape, err := tensor.NewShape(hi-lo, cols)
	if err != nil {
		return nil, err
	}
	src, err := tensor.Wrap(nil, tensor.WrapBytes(w.dtype, c.in, nil, true), shape)
	if err != nil {
		return nil, err
	}
	dst, err := tensor.Wrap(nil, tensor.WrapBytes(d, c.out, nil, false), shape)
	if err != nil {
		return nil, err
	}
	return c.out, c.host.Cast(src, dst)
}

// gather copies rows out of the mapped file, in the order of the file to write. The copy is aligned as kernels want it, and is
// the one place that a file cut short can hurt.
func (c *conversion) gather(w *weight, lo, hi int) (err error) {
	defer mmap.Catch(&err)()
	_, cols := w.rows()
	n := w.dtype.Format().Bytes(cols)
	c.in = grow(c.in, (hi-lo)*n)
	if w.halves == 0 {
		copy(c.in, w.data[lo*n:hi*n])
		w.release(lo*n, (hi-lo)*n)
		return nil
	}
	for i := lo; i < hi; i++ {
		from := w.stored(i)
		copy(c.in[(i-lo)*n:(i-lo+1)*n], w.data[from*n:])
	}
	return nil
}

// grow returns n bytes, b's own where it has as many.
func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
