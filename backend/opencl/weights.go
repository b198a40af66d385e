//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// format is how the kernels have weights of a type.
type format struct {
	name       string // the format's name for the products' kernels; "": no kernels
	widen      string // the kernel that widens rows
	split      string // the kernel that rearranges a file's rows; "": rows stay as they are
	laneLen    int    // elements that a lane multiplies at once
	blockLen   int    // elements of a block of the type
	quantBytes int    // bytes of a block's quants in the split layout
	scaleBytes int    // and of its scales
}

// splitFormat describes a format that is split.
func splitFormat(d tensor.DType, quantBytes, scaleBytes int) format {
	return format{d.String(), "widen_split_" + d.String(), "split_" + d.String(), 32, d.BlockLen(), quantBytes, scaleBytes}
}

// plainFormat describes one that stays as it is.
func plainFormat(d tensor.DType, laneLen int) format {
	return format{name: d.String(), widen: "widen_" + d.String(), laneLen: laneLen, blockLen: 1}
}

// formats are those of prepared weights, and of plain tensors.
var formats = map[tensor.DType]format{
	tensor.F32:    plainFormat(tensor.F32, 4),
	tensor.F16:    plainFormat(tensor.F16, 8),
	tensor.BF16:   plainFormat(tensor.BF16, 8),
	tensor.Q4_0:   splitFormat(tensor.Q4_0, 16, 2),
	tensor.Q4_1:   splitFormat(tensor.Q4_1, 16, 4),
	tensor.Q8_0:   splitFormat(tensor.Q8_0, 32, 2),
	tensor.Q4_K:   splitFormat(tensor.Q4_K, 128, 20),
	tensor.Q5_K:   splitFormat(tensor.Q5_K, 160, 20),
	tensor.Q6_K:   splitFormat(tensor.Q6_K, 192, 18),
	tensor.Q5_0:   splitFormat(tensor.Q5_0, 16, 6),
	tensor.Q5_1:   splitFormat(tensor.Q5_1, 16, 8),
	tensor.IQ4_NL: splitFormat(tensor.IQ4_NL, 16, 2),
	tensor.Q2_K:   splitFormat(tensor.Q2_K, 128, 20),
	tensor.Q3_K:   splitFormat(tensor.Q3_K, 128, 18),
	tensor.IQ4_XS: splitFormat(tensor.IQ4_XS, 128, 18),
	tensor.MXFP4:  splitFormat(tensor.MXFP4, 16, 2),
}

// wideners names the kernels that read rows in the layout of files and caches.
var wideners = map[tensor.DType]string{
	tensor.F32: "widen_f32", tensor.F16: "widen_f16", tensor.BF16: "widen_bf16", tensor.Q8_0: "widen_q8_0", tensor.Q4_0: "widen_q4_0",
}

// formatOf returns the format of a name; ok is false if there is no such format.
func formatOf(name string) (f format, ok bool) {
	for _, f := range formats {
		if f.name == name {
			return f, true
		}
	}
	return format{}, false
}

// inBlocks reports whether the weights of a format of a name are blocks, which are multiplied as integers.
func inBlocks(name string) bool {
	f, _ := formatOf(name)
	return f.split != ""
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

// split reports whether the rows are in the split layout.
func (w *weights) split() bool { return w.format.split != "" }

// lanesFor returns among how many lanes the blocks of a row are divided: as many as leave few idle in the end. Programs are
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
	queue *queue
	size  int // as the tensor's type has it
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
func (w *weightBuffer) Sync() error  { return w.queue.synchronize() }

// Free releases the memory. It is idempotent.
func (w *weightBuffer) Free() error {
	w.queue.mu.Lock() // nobody is enqueuing a kernel that reads the memory
	defer w.queue.mu.Unlock()
	errs := []error{w.queue.settle()}
	for _, m := range w.memory {
		errs = append(errs, m.Release())
	}
	return errors.Join(errs...)
}

// weightsOf returns a tensor [rows, k] as kernels take it; ok is false if no kernel does. The caller holds the lock, as for operand.
func weightsOf(q *queue, t *tensor.Tensor) (w weights, ok bool) {
	if buffer, prepared := t.Buffer().(*weightBuffer); prepared {
		if buffer.queue != q || buffer.memory[0].Released() {
			return w, false
		}
		w = buffer.weights
		if t.Offset() > 0 {
			w.first = t.Offset() / t.RowBytes()
		}
		return w, true
	}
	o := q.operand(t)
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

// multiplicable returns weights for products with rows of k elements; ok is false if no kernel takes them. The caller holds the lock.
func multiplicable(q *queue, t *tensor.Tensor, k int) (w weights, ok bool) {
	w, ok = weightsOf(q, t)
	if !ok || w.format.name == "" || k == 0 || k%4 != 0 || w.k != k {
		return w, false
	}
	if w.split() {
		return w, k%w.format.blockLen == 0
	}
	return w, k%w.format.laneLen == 0 && w.parts[0].at%w.rowBytes == 0
}

// pass passes rows [lo, hi) of one of the parts to a product's kernel.
func (w *weights) pass(k *cl.Kernel, p *part, lo, hi int) {
	skipped := 0 // rows before a plain part's first
	if !w.split() {
		skipped = p.at / w.rowBytes
	}
	k.Mem(p.mem).Int(p.scalesAt).Int(lo - p.row + skipped).Int(hi - lo)
}

// dims passes how rows are divided.
func (w *weights) dims(kernel *cl.Kernel) { kernel.Int(w.k).Int(w.stride) }
