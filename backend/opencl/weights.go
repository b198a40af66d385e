//go:build opencl && (amd64 || arm64)

package opencl

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// format is how the kernels have weights of a type.
type format struct {
	name       string // what names the format to the products' kernels; "": there are none
	widen      string // the kernel that widens rows
	split      string // the kernel that rearranges a file's rows; "": rows stay as they are
	laneLen    int    // elements that a lane multiplies at once
	blockLen   int    // elements of a block of the type
	quantBytes int    // bytes of a block's quants in the split layout
	scaleBytes int    // and of its scales
}

// splitFormat describes a format that is split.
func splitFormat(name string, d tensor.DType, quantBytes, scaleBytes int) format {
	return format{name, "widen_split_" + name, "split_" + name, 32, d.BlockLen(), quantBytes, scaleBytes}
}

// plainFormat describes one that stays as it is.
func plainFormat(name string, laneLen int) format {
	return format{name: name, widen: "widen_" + name, laneLen: laneLen, blockLen: 1}
}

// formats are those of prepared weights, and of plain tensors.
var formats = map[tensor.DType]format{
	tensor.F32:    plainFormat("f32", 4),
	tensor.F16:    plainFormat("f16", 8),
	tensor.BF16:   plainFormat("bf16", 8),
	tensor.Q4_0:   splitFormat("q4_0", tensor.Q4_0, 16, 2),
	tensor.Q4_1:   splitFormat("q4_1", tensor.Q4_1, 16, 4),
	tensor.Q8_0:   splitFormat("q8_0", tensor.Q8_0, 32, 2),
	tensor.Q4_K:   splitFormat("q4_k", tensor.Q4_K, 128, 20),
	tensor.Q5_K:   splitFormat("q5_k", tensor.Q5_K, 160, 20),
	tensor.Q6_K:   splitFormat("q6_k", tensor.Q6_K, 192, 18),
	tensor.Q5_0:   splitFormat("q5_0", tensor.Q5_0, 16, 6),
	tensor.Q5_1:   splitFormat("q5_1", tensor.Q5_1, 16, 8),
	tensor.IQ4_NL: splitFormat("iq4_nl", tensor.IQ4_NL, 16, 2),
	tensor.Q2_K:   splitFormat("q2_k", tensor.Q2_K, 128, 20),
	tensor.Q3_K:   splitFormat("q3_k", tensor.Q3_K, 128, 18),
	tensor.IQ4_XS: splitFormat("iq4_xs", tensor.IQ4_XS, 128, 18),
}

// inBlocks tells whether the weights of a format of a name are blocks, which are multiplied as integers.
func inBlocks(name string) bool {
	for _, f := range formats {
		if f.name == name {
			return f.split != ""
		}
	}
	return false
}

// weights are the rows of a table [rows, k] as kernels take them, perhaps in several parts.
type weights struct {
	format   format
	dtype    tensor.DType // of the layout, which may not be the tensor's
	k        int
	stride   int // of a row: its blocks of 32 elements, or a plain one's pieces of 16 bytes
	lanes    int // a team's work-items
	rowBytes int // of rows that are as files have them
	first    int // the row with which a view begins
	parts    []part
}

// part is a range of rows in memory of its own: of one buffer, since a driver takes time for each that a launch has.
type part struct {
	mem       *cl.Mem // quants and then scales, or rows that are not split
	at        int     // bytes from the beginning of mem to the first row that is not split
	scalesAt  int     // pieces of 16 bytes from the beginning of mem to the scales; 0 of rows that are not split
	row, rows int
}

// split tells whether the rows are in the split layout.
func (w *weights) split() bool { return w.format.split != "" }

// lanesFor returns among how many lanes the blocks of a row are divided: the most of which few are idle in the end. Programs are
// compiled for each number, so there are few.
func lanesFor(stride int) int {
	for _, lanes := range [...]int{32, 8} {
		if idle := (stride+lanes-1)/lanes*lanes - stride; idle <= stride/16 {
			return lanes
		}
	}
	return 1
}

// shapeFor sets how rows are divided.
func (w *weights) shapeFor(k int) {
	w.k, w.stride = k, k/w.format.laneLen
	w.lanes = 32
	if w.split() {
		w.lanes = lanesFor(w.stride)
	}
}

// weightBuffer is device memory of weights that were prepared. Only products and Gather understand it.
type weightBuffer struct {
	backend *Backend
	size    int // as the tensor's type has it
	weights
	memory []*cl.Mem
}

var errPrepared = fmt.Errorf("the weights are prepared for products: %w", backend.ErrUnsupported)

func (w *weightBuffer) DType() tensor.DType { return w.dtype }
func (w *weightBuffer) Size() int           { return w.size }
func (w *weightBuffer) Bytes() []byte       { return nil }
func (w *weightBuffer) ReadOnly() bool      { return true }
func (w *weightBuffer) Map() error {
	return fmt.Errorf("opencl: map %d bytes: %w", w.size, errPrepared)
}
func (w *weightBuffer) Unmap() error { return nil }
func (w *weightBuffer) Mapped() bool { return false }
func (w *weightBuffer) Sync() error  { return w.backend.Synchronize() }

// Free releases the memory. It is idempotent.
func (w *weightBuffer) Free() error {
	w.backend.mu.Lock() // nobody is enqueuing a kernel that reads the memory
	defer w.backend.mu.Unlock()
	errs := []error{w.backend.settle()}
	for _, m := range w.memory {
		errs = append(errs, m.Release())
	}
	return errors.Join(errs...)
}

// weightsOf returns a tensor [rows, k] as kernels take it; ok is false where none does. The caller holds the lock, as for operand.
func (b *Backend) weightsOf(t *tensor.Tensor) (w weights, ok bool) {
	if buffer, prepared := t.Buffer().(*weightBuffer); prepared {
		if buffer.backend != b || buffer.memory[0].Released() {
			return w, false
		}
		w = buffer.weights
		if t.Offset() > 0 {
			w.first = t.Offset() / t.RowBytes()
		}
		return w, true
	}
	o := b.operand(t)
	if !o.ok || wideners[t.DType()] == "" {
		return w, false
	}
	return plainWeights(t, o), true
}

// plainWeights returns a tensor in the layout of files as weights of one part.
func plainWeights(t *tensor.Tensor, o operand) weights {
	w := weights{format: formats[t.DType()], dtype: t.DType(), rowBytes: t.RowBytes()}
	if w.split() { // only prepared ones are
		w.format = format{laneLen: 32}
	}
	w.format.widen = wideners[t.DType()]
	w.shapeFor(t.Shape().Dim(-1))
	w.parts = []part{{mem: o.mem, at: o.at, rows: t.Shape().Rows()}}
	return w
}

// Prepare brings weights [N, K] into the device's memory and layout: quantised ones are split into quants and scales, as formats.cl
// describes, and F32, F16 and BF16 stay as they are. A table larger than the device's largest buffer is divided by rows. The
// context is looked at between the parts that are sent.
func (b *Backend) Prepare(ctx context.Context, t *tensor.Tensor) (*tensor.Tensor, error) {
	if w, ok := t.Buffer().(*weightBuffer); ok && w.backend == b {
		return t, nil
	}
	f, ok := formats[t.DType()]
	if !ok || t.Shape().NDim() != 2 || t.Size() == 0 {
		return t.ToDevice(b)
	}
	if f.split == "" && t.Shape().Dim(1)%f.laneLen != 0 {
		return t.ToDevice(b) // whose rows no kernel multiplies: the reference does, and so must see them
	}
	w := &weightBuffer{backend: b, size: t.Size(), weights: weights{format: f, dtype: t.DType(), rowBytes: t.RowBytes()}}
	if err := b.fill(ctx, w, t); err != nil {
		return nil, errors.Join(fmt.Errorf("opencl: prepare %v: %w", t, err), w.Free())
	}
	return tensor.Wrap(b, w, t.Shape())
}

// maxUpload bounds the rows that are on their way at once, in bytes: between two of them a context is looked at.
const maxUpload = 8 << 20

// fill allocates the parts and copies the rows.
func (b *Backend) fill(ctx context.Context, w *weightBuffer, t *tensor.Tensor) error {
	count, k := t.Shape().Dim(0), t.Shape().Dim(1)
	w.shapeFor(k)
	quantBytes, scaleBytes := w.rowBytes, 0
	if w.split() {
		blocks := k / w.format.blockLen
		quantBytes, scaleBytes = blocks*w.format.quantBytes, blocks*w.format.scaleBytes
	}
	rowBytes := quantBytes + scaleBytes
	perPart := int(min(b.maxAlloc/int64(rowBytes), 1<<30/int64(max(1, w.stride)))) // so that pieces are numbered in 32 bits
	if perPart == 0 {
		return fmt.Errorf("a row of %d bytes does not fit a buffer of %v, which has at most %d", rowBytes, b.device, b.maxAlloc)
	}
	for row := 0; row < count; row += perPart {
		p := part{row: row, rows: min(perPart, count-row)}
		if w.split() {
			p.scalesAt = p.rows * quantBytes / 16
		}
		b.mu.Lock()
		mem, err := b.memory.alloc(p.rows*rowBytes, false)
		b.mu.Unlock()
		if err != nil {
			return err
		}
		p.mem = mem
		w.memory = append(w.memory, mem)
		w.parts = append(w.parts, p)
		perUpload := max(1, int(min(maxUpload, b.maxAlloc)/int64(w.rowBytes)))
		for lo := row; lo < row+p.rows; lo += perUpload {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := b.onHost(func() error { return b.uploadRows(w, &p, t, lo, min(lo+perUpload, row+p.rows)) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// uploadRows copies rows [lo, hi) of t into a part, by way of what the host sees of t.
func (b *Backend) uploadRows(w *weightBuffer, p *part, t *tensor.Tensor, lo, hi int) error {
	rows, err := t.Slice(lo, hi)
	if err != nil {
		return err
	}
	if err := t.Buffer().Map(); err != nil {
		return err
	}
	defer t.Buffer().Unmap()
	if err := b.lockOpen("send weights"); err != nil {
		return err
	}
	defer b.mu.Unlock()
	defer runtime.KeepAlive(t)
	raw := rows.Data()
	if !w.split() {
		return b.fail("send weights", b.staging.write(b.context, p.mem, (lo-p.row)*w.rowBytes, raw))
	}
	scratch, err := b.scratchOf(panelScratch, len(raw))
	if err != nil {
		return err
	}
	if err := b.staging.write(b.context, scratch, 0, raw); err != nil {
		return b.fail("send weights", err)
	}
	k, err := b.kernel(split, w.format.split)
	if err != nil {
		return err
	}
	total := (hi - lo) * w.stride
	k.Mem(scratch).Int(w.rowBytes).Int(w.stride).Int(total).Mem(p.mem).Int(p.scalesAt).Int(lo - p.row)
	return b.runFlat("Prepare", k, total)
}
