package main

import (
	"cmp"
	"context"
	"fmt"
	"github.com/antigravity-go/antigravity/backend"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/importance"
	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
	"golang.org/x/sync/errgroup"
)

// A conversion has two steps: plan gives each tensor its type and its place in the file, and write computes the tensors piece by piece, so
// that only one piece is in memory. For example, with the mix q4_k_m and a model of 32 layers in bf16:
//
//	blk.0.attn_norm.weight [4096]          F32   as all vectors
//	blk.0.ffn_gate.weight [14336, 4096]    Q4_K  a piece is 512 rows: 4 MiB are read, 1179648 bytes are written
//	blk.0.ffn_down.weight [4096, 14336]    Q6_K  by the mix's rules; a piece is 146 rows
//
// With an importance matrix, a piece becomes float32 first, and each row is rounded with the importance of its columns.

// pieceBytes is about how much of a tensor is converted at a time: enough to share among threads, little to hold.
const pieceBytes = 4 << 20

// conversion turns a source into a GGUF file, in memory for one piece of one tensor.
type conversion struct {
	source     *source
	options    *options
	importance *importance.Matrix // nil: every column counts alike
	host       *cpu.Backend       // rounds, on all its threads
	progress   func(done, total int64)

	targets     []target
	written     []string // the names of the files
	done, total int64    // bytes of the file's tensors
	in, out     []byte   // one piece
	wide        []byte   // one piece, as float32
}

// target is what becomes of a tensor.
type target struct {
	dtype, wanted tensor.DType // wanted differs if blocks of the wanted type do not fill the rows
	importance    []float32    // of the columns, of one matrix after the other; nil: they count alike
	unchosen      int          // matrices of experts that no row of the importance matrix's text chose: their columns count alike
	info          gguf.TensorInfo
}

// plan announces the tensors.
func (c *conversion) plan() error {
	c.source.set(checkpoint.FileTypeKey, gguf.ValueOf(c.options.mix.number()))
	c.source.set(checkpoint.QuantizationVersionKey, gguf.ValueOf(checkpoint.QuantizationVersion))
	for i := range c.source.tensors {
		w := &c.source.tensors[i]
		rows, columns := w.rows()
		wanted := c.wanted(w)
		t := target{dtype: fitting(wanted, w.shape[len(w.shape)-1]), wanted: wanted}
		kind, ok := gguf.TypeOf(t.dtype)
		if !ok {
			return fmt.Errorf("tensor %s: GGUF has no type for %v", w.name, t.dtype)
		}
		t.info = gguf.TensorInfo{Name: w.name, Type: kind, Shape: w.shape}
		if err := c.planWeight(w, &t); err != nil {
			return err
		}
		c.targets = append(c.targets, t)
		c.total += int64(rows) * int64(t.dtype.Format().Bytes(columns))
	}
	return nil
}

// wanted returns the type that a tensor gets if its rows are whole blocks of it.
func (c *conversion) wanted(w *weight) tensor.DType {
	o := c.options
	switch {
	case c.source.config == nil:
		return o.ofTower(w)
	case len(w.shape) == 1 || w.model != nil && w.model.Role == model.Vector: // norms, biases, filters and RoPE's divisors
		return tensor.F32
	case w.model == nil:
		return w.dtype
	case w.model.Role == model.Routing: // which experts compute a token is decided by little
		return tensor.F32
	case w.dtype == tensor.MXFP4 && o.mix.base.Quantized(): // gpt-oss was trained so
		return w.dtype
	case w.model.Part == model.PerLayerProjection: // as llama.cpp does: it is not large
		return w.dtype
	case w.model.Role == model.Logits && o.head != 0:
		return o.head
	case w.model.Role == model.Lookup && o.embedding != 0:
		return o.embedding
	case w.model.Role == model.Expert && o.mix.experts != 0:
		return o.mix.experts
	case o.pure:
		return o.mix.base
	case w.model.Role == model.Logits:
		return o.mix.head(w.shape[len(w.shape)-1])
	}
	return o.mix.of(c.source.placeOf(w, c.importance != nil))
}

// planWeight finds the importance of a tensor's columns.
func (c *conversion) planWeight(w *weight, t *target) error {
	if c.importance == nil || !t.dtype.Quantized() {
		return nil
	}
	sums := c.importance.Tensors[w.name]
	if sums == nil && w.model != nil {
		sums = c.importance.Tensors[w.model.GGUF.Name] // of several in one: what they are multiplied with is the same
	}
	if sums == nil {
		return nil
	}
	means := sums.Means()
	columns := w.shape[len(w.shape)-1]
	if n := len(means); n != columns && (len(w.shape) != 3 || n != columns*w.shape[0]) {
		return fmt.Errorf("%s has the shape %v, and the importance matrix %d columns for it: it is another model's", w.name, w.shape, n)
	}
	t.importance = means
	for _, n := range sums.Counts {
		if n == 0 {
			t.unchosen++
		}
	}
	return nil
}

// warn says which precision is lost and need not be.
func (c *conversion) warn(w io.Writer) {
	again, fallen, unweighed, unchosen := 0, 0, 0, 0
	for i, t := range c.targets {
		from := &c.source.tensors[i]
		unchosen += t.unchosen
		linear := from.model != nil && (from.model.Role == model.Linear || from.model.Role == model.PerHead || from.model.Role == model.Expert && !from.model.Bias)
		switch {
		case from.dtype.Quantized() && t.dtype.Quantized() && from.dtype != t.dtype:
			again++
		case linear && c.importance != nil && t.dtype.Quantized() && t.importance == nil:
			unweighed++
		}
		if t.dtype != t.wanted {
			fallen++
			fmt.Fprintf(w, "quantize: %s has rows of %d elements, no whole number of %v blocks of %d, and becomes %v\n",
				from.name, from.shape[len(from.shape)-1], t.wanted, t.wanted.BlockLen(), t.dtype)
		}
	}
	if again > 0 {
		fmt.Fprintf(w, "quantize: %d matrices of %s were rounded before, and lose more now\n", again, c.options.in)
	}
	if unweighed > 0 {
		fmt.Fprintf(w, "quantize: %d matrices are not in the importance matrix: their columns count alike\n", unweighed)
	}
	if unchosen > 0 {
		fmt.Fprintf(w, "quantize: %d matrices of experts were never chosen by the text of the importance matrix: their columns count alike; "+
			"a longer text would choose more of them\n", unchosen)
	}
}

// types returns how many matrices there are of each type, as text.
func (c *conversion) types() string {
	count := map[tensor.DType]int{}
	for _, t := range c.targets {
		if len(t.info.Shape) > 1 {
			count[t.dtype]++
		}
	}
	kinds := slices.Collect(maps.Keys(count))
	slices.SortFunc(kinds, func(a, b tensor.DType) int { return cmp.Or(count[b]-count[a], int(a)-int(b)) })
	list := make([]string, len(kinds))
	for i, d := range kinds {
		list[i] = fmt.Sprintf("%d %v", count[d], d)
	}
	return strings.Join(list, " + ")
}

// write writes the files, which get their names once all are complete. It returns their size together.
func (c *conversion) write(ctx context.Context, path string) (size int64, err error) {
	infos := make([]gguf.TensorInfo, len(c.targets))
	for i := range infos {
		infos[i] = c.targets[i].info
	}
	ends := []int{len(infos)}
	if c.options.splitSize > 0 {
		if ends, err = gguf.Split(infos, int64(c.options.splitSize)); err != nil {
			return 0, err
		}
	}
	names := []string{path}
	if len(ends) > 1 {
		names = nil
		for i := range ends {
			names = append(names, gguf.PartName(path, i, len(ends)))
		}
	}
	for _, name := range names {
		if err := c.mayWrite(name); err != nil {
			return 0, err
		}
	}
	set := atomicfile.Set{System: c.options.system}
	defer set.Discard()
	from := 0
	for i, end := range ends {
		metadata := c.source.metadata
		if len(ends) > 1 {
			if i > 0 {
				metadata = nil
			}
			metadata = append(slices.Clip(metadata), gguf.PartKeys(i, len(ends), len(infos))...)
		}
		err := set.Write(names[i], func(f io.Writer) error { return c.writeFile(ctx, f, metadata, infos, from, end) })
		if err != nil {
			return 0, err
		}
		from = end
	}
	c.written, size = names, set.Size()
	return size, set.Commit()
}

// writeFile writes the tensors from one to before another to a file.
func (c *conversion) writeFile(ctx context.Context, f io.Writer, metadata []gguf.KeyValue, infos []gguf.TensorInfo, from, end int) error {
	out, err := gguf.NewWriter(f, metadata, infos[from:end])
	if err != nil {
		return err
	}
	for i := from; i < end; i++ {
		if err := c.writeTensor(ctx, out, i); err != nil {
			return err
		}
	}
	return out.Close()
}

// mayWrite refuses to replace the input, and anything that is no file.
func (c *conversion) mayWrite(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // most likely it does not exist; creating it reports any other trouble
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

// writeTensor writes one tensor, a piece of some rows at a time.
func (c *conversion) writeTensor(ctx context.Context, out *format.TensorWriter, i int) (err error) {
	w, t := &c.source.tensors[i], &c.targets[i]
	defer func() {
		if err != nil {
			err = fmt.Errorf("tensor %s: %w", w.name, err)
		}
	}()
	if err := out.Begin(w.name); err != nil {
		return err
	}
	rows, cols := w.rows()
	step := max(pieceBytes/max(w.dtype.Format().Bytes(cols), 1), 1)
	if w.rare != nil { // some rows of a rare type lie together
		step = (step + w.rare.RowsAtOnce() - 1) / w.rare.RowsAtOnce() * w.rare.RowsAtOnce()
	}
	for lo := 0; lo < rows; lo += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := c.piece(w, t, lo, min(lo+step, rows))
		if err != nil {
			return err
		}
		if i := t.dtype.Format().FirstNotFinite(data); i >= 0 {
			return t.dtype.Format().NotFinite(lo + i*t.dtype.BlockLen()/cols)
		}
		if _, err := out.Write(data); err != nil {
			return err
		}
		c.done += int64(len(data))
		c.progress(c.done, c.total)
	}
	w.release(0, len(w.data))
	return nil
}

// piece returns rows lo to hi as the file has them, until the next call.
func (c *conversion) piece(w *weight, t *target, lo, hi int) ([]byte, error) {
	if err := c.gather(w, lo, hi); err != nil {
		return nil, err
	}
	if t.dtype == w.dtype {
		return c.in, nil
	}
	_, cols := w.rows()
	c.out = grow(c.out, (hi-lo)*t.dtype.Format().Bytes(cols))
	if t.importance != nil {
		return c.out, c.weighted(w, t, lo, hi)
	}
	return c.out, c.cast(w.dtype, c.in, t.dtype, c.out, hi-lo, cols)
}

// cast converts rows from one type to another.
func (c *conversion) cast(from tensor.DType, in []byte, to tensor.DType, out []byte, rows, cols int) error {
	shape, err := tensor.NewShape(rows, cols)
	if err != nil {
		return err
	}
	src, err := tensor.Wrap(nil, tensor.WrapBytes(from, in, nil, true), shape)
	if err != nil {
		return err
	}
	dst, err := tensor.Wrap(nil, tensor.WrapBytes(to, out, nil, false), shape)
	if err != nil {
		return err
	}
	return c.host.Run(&backend.Cast{Src: src, Dst: dst})
}

// weighted rounds rows lo to hi with the importance of their columns.
func (c *conversion) weighted(w *weight, t *target, lo, hi int) error {
	rows, cols := w.rows()
	c.wide = grow(c.wide, (hi-lo)*tensor.F32.Format().Bytes(cols))
	if err := c.cast(w.dtype, c.in, tensor.F32, c.wide, hi-lo, cols); err != nil {
		return err
	}
	wide := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(c.wide))), (hi-lo)*cols)
	format := t.dtype.Format()
	rowBytes := format.Bytes(cols)
	perMatrix := rows / (len(t.importance) / cols)
	workers := new(errgroup.Group)
	workers.SetLimit(cmp.Or(c.options.threads, runtime.GOMAXPROCS(0)))
	const together = 16 // rows: enough that starting a goroutine costs nothing by comparison
	for from := lo; from < hi; from += together {
		workers.Go(func() error {
			for i := from; i < min(from+together, hi); i++ {
				columns := t.importance[i/perMatrix*cols:][:cols]
				if err := format.QuantizeWeighted(c.out[(i-lo)*rowBytes:(i-lo+1)*rowBytes], wide[(i-lo)*cols:(i-lo+1)*cols], columns); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return workers.Wait()
}

// gather copies rows out of the mapped file, in the order of the file to write. The copy is aligned as kernels want it, and is
// the one place that a file cut short can hurt.
func (c *conversion) gather(w *weight, lo, hi int) (err error) {
	defer mmap.Catch(&err)()
	_, cols := w.rows()
	n := w.dtype.Format().Bytes(cols)
	c.in = grow(c.in, (hi-lo)*n)
	if w.rare != nil {
		from := w.rowBytes(cols)
		if err := w.rare.Rewrite(c.in, w.data[lo*from:hi*from], cols); err != nil {
			return err
		}
		w.release(lo*from, (hi-lo)*from)
		return nil
	}
	if w.moved == nil {
		copy(c.in, w.data[lo*n:hi*n])
		w.release(lo*n, (hi-lo)*n)
		return nil
	}
	return w.moved.arrange(c.in, lo, hi, n, cols)
}

// grow returns n bytes: b's own if it has them, otherwise new ones.
func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
