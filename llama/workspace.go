package llama

import (
	"errors"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// workspace is the memory of a model's forward passes: the activations between the operations of a layer, allocated once and used
// by every layer of every pass. It belongs to the model's batch.
//
// The names follow the data: x is the residual stream; q, k, v and attention are by heads, [rows, heads, headDim], and the same
// memory as rows, [rows, heads·headDim], is qFlat, kFlat, vFlat and attentionFlat.
//
// Invariants: 1 ≤ rows ≤ most; views[i] is the first rows of full[i], which has most rows, and points to one of the fields from x
// to ropes.
type workspace struct {
	full  []*tensor.Tensor
	views []*tensor.Tensor
	rows  int   // of the present pass
	most  int   // rows that there is memory for
	bytes int64 // allocated in all
	pace  pace

	x, normed, product                 tensor.Tensor // [rows, hidden]
	q, attention                       tensor.Tensor // [rows, heads, headDim]
	k, v                               tensor.Tensor // [rows, kvHeads, headDim]
	qFlat, kFlat, vFlat, attentionFlat tensor.Tensor
	gate, up                           tensor.Tensor    // [rows, intermediate]
	ropes                              []tensor.Tensor  // [rows, headDim]: cosines, then sines, of each of the model's rotaries
	ropeHosts                          []*tensor.Tensor // [most, headDim] on the host, where ropes are computed before they are copied
	last                               tensor.Tensor    // [n, hidden]: rows whose logits are computed, in normed's memory
	states                             tensor.Tensor    // [n, hidden]: what these rows are before the final norm, of x or in product's memory
	logits                             tensor.Tensor    // [n, vocab]: their logits, in the memory of groups or of a block
	groups                             *tensor.Tensor   // [headRows, vocab]; nil until all rows of a job are asked for
	caches                             *kvcache.Batch   // the caches of one layer
	adapting                           adapting

	// Lists of operands, kept so that a pass does not allocate them.
	indices       []int32
	weights, outs []*tensor.Tensor
}

// newWorkspace allocates the workspace for passes of up to so many rows, of a model with so many rotaries. The system provides host memory only as it is touched,
// so a model that never sees a long prompt takes memory only for the rows that it uses.
func newWorkspace(d *device, c *Config, rotaries, most int) (ws *workspace, err error) {
	ws = &workspace{most: most, ropes: make([]tensor.Tensor, rotaries), indices: make([]int32, 0, most), caches: kvcache.NewBatch(d.Backend)}
	defer func() {
		if err != nil {
			ws.free()
			err = fmt.Errorf("workspace for %d rows: %w", most, err)
		}
	}()
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	type part struct {
		flat *tensor.Tensor
		cols int
		head *tensor.Tensor // the same memory by heads
	}
	parts := []part{
		{&ws.x, c.HiddenSize, nil}, {&ws.normed, c.HiddenSize, nil}, {&ws.product, c.HiddenSize, nil},
		{&ws.qFlat, q, &ws.q}, {&ws.kFlat, kv, &ws.k}, {&ws.vFlat, kv, &ws.v}, {&ws.attentionFlat, q, &ws.attention},
		{&ws.gate, c.IntermediateSize, nil}, {&ws.up, c.IntermediateSize, nil},
	}
	for i := range ws.ropes {
		parts = append(parts, part{&ws.ropes[i], c.HeadDim, nil})
	}
	for _, w := range parts {
		full, err := tensor.New(d.Backend, tensor.F32, tensor.ShapeOf(most, w.cols))
		if err != nil {
			return ws, err
		}
		ws.bytes += int64(full.Size())
		ws.add(full, w.flat)
		if w.head != nil {
			heads, err := full.Reshape(most, w.cols/c.HeadDim, c.HeadDim)
			if err != nil {
				return ws, err
			}
			ws.add(heads, w.head)
		}
	}
	for range ws.ropes {
		table, err := tensor.New(nil, tensor.F32, tensor.ShapeOf(most, c.HeadDim)) // no device: the host
		if err != nil {
			return ws, err
		}
		ws.ropeHosts = append(ws.ropeHosts, table)
		ws.bytes += int64(table.Size())
	}
	return ws, ws.resize(1)
}

// workingBytes returns how many bytes passes of the default number of rows, and the operations that compute them, take beyond
// weights and caches. It is an estimate for any machine: it takes the number of workers as a constant, so that a model that loads on
// one machine loads on another.
func (c *Config) workingBytes() int64 {
	const workers, floatBytes = 8, 4
	q, kv := int64(c.Heads)*int64(c.HeadDim), int64(c.KVHeads)*int64(c.HeadDim)
	hidden, wide, vocab := int64(c.HiddenSize), int64(c.IntermediateSize), int64(c.VocabSize)
	// The floats of a token's row: x, normed and product; q and attention; k and v; gate and up; rope and ropeHost.
	row := 3*hidden + 2*q + 2*kv + 2*wide + 2*int64(c.HeadDim)
	row += max(hidden, q, wide) / 2 // a product's activation, quantised: at most 2 bytes an element, half of a float
	choosing := 5 * vocab           // of a session: logits on the device and the host, probabilities, and the candidates' tokens and values
	return floatBytes*((defaultChunk+defaultMaxBatch)*row+headRows*vocab+choosing) +
		host.AttentionScratch(c.Heads, c.KVHeads, c.HeadDim, defaultCapacity, workers)
}

// The working memory that a configuration may ask for: workingFree bytes in any case, which lets the smallest models in, and
// workingPerStored bytes for each byte of its weights. The models of this family stay far below that.
const (
	workingFree      = 32 << 20
	workingPerStored = 4
)

// checkWorkingBytes refuses a configuration whose working memory is out of proportion to its weights, of which there are
// stored bytes: a file must not make a program allocate many times its size.
func (c *Config) checkWorkingBytes(stored int64) error {
	if need, limit := c.workingBytes(), workingFree+workingPerStored*stored; need > limit {
		return fmt.Errorf("the configuration (%d heads of %d elements, widths of %d and %d, a vocabulary of %d) takes %d bytes of working memory, "+
			"out of proportion to weights of %d bytes", c.Heads, c.HeadDim, c.HiddenSize, c.IntermediateSize, c.VocabSize, need, stored)
	}
	return nil
}

// add makes view a view of full, which has most rows: resize keeps it cut to the present number of rows.
func (ws *workspace) add(full, view *tensor.Tensor) {
	ws.full = append(ws.full, full)
	ws.views = append(ws.views, view)
}

// resize cuts the views to a number of rows, at most ws.most.
func (ws *workspace) resize(rows int) error {
	if rows == ws.rows {
		return nil
	}
	for i, full := range ws.full {
		if err := full.SliceInto(ws.views[i], 0, rows); err != nil {
			return err
		}
	}
	ws.rows = rows
	return nil
}

// lastRows makes last a view of n rows, at most ws.most.
func (ws *workspace) lastRows(n int) error { return ws.cut(&ws.normed, &ws.last, n) }

// cut makes view a view of n rows, at most ws.most, in the memory of another.
func (ws *workspace) cut(of, view *tensor.Tensor, n int) error {
	for i := range ws.views {
		if ws.views[i] == of {
			return ws.full[i].SliceInto(view, 0, n)
		}
	}
	return nil
}

// free releases the memory.
func (ws *workspace) free() error {
	var errs []error
	for _, t := range slices.Concat(ws.full, ws.ropeHosts, ws.adapting.tensors(), []*tensor.Tensor{ws.groups}) {
		if t != nil {
			errs = append(errs, t.Free())
		}
	}
	return errors.Join(errs...)
}
