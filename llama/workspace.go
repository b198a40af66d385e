package llama

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/tensor"
)

// workspace is the memory of one forward pass: the activations between the operations of a layer, for up to a chunk of
// tokens, allocated once and used by every layer of every step. It belongs to one session.
//
// The names follow the data: x is the residual stream; q, k, v and attention are by heads, [tokens, heads, headDim], and the same
// memory as rows, [tokens, heads·headDim], is qFlat, kFlat, vFlat and attentionFlat.
//
// Invariants: 1 ≤ tokens ≤ chunk; views[i] is the first tokens rows of full[i], which has chunk rows, and points to one of the
// fields from x to rope; tempered is 0, or probabilities are softmax(logits/tempered).
type workspace struct {
	full   []*tensor.Tensor
	views  []*tensor.Tensor
	tokens int   // of the latest chunk
	chunk  int   // the most tokens of a chunk
	bytes  int64 // allocated in all
	pace   pace

	x, normed, product                 tensor.Tensor // [tokens, hidden]
	q, attention                       tensor.Tensor // [tokens, heads, headDim]
	k, v                               tensor.Tensor // [tokens, kvHeads, headDim]
	qFlat, kFlat, vFlat, attentionFlat tensor.Tensor
	gate, up                           tensor.Tensor  // [tokens, intermediate]
	rope                               tensor.Tensor  // [tokens, headDim]: cosines, then sines
	ropeHost                           *tensor.Tensor // [chunk, headDim] on the host, where rope is computed before it is copied
	last, logits                       tensor.Tensor  // [rows, hidden], [rows, vocab]: the rows whose logits were computed last
	lastFull, logitsFull               *tensor.Tensor // [headRows, hidden], [headRows, vocab]: the memory of last and logits
	probabilities                      *tensor.Tensor // [1, vocab]; nil until a draw asks for them
	tempered                           float32        // the temperature that probabilities were computed at; 0: not of these logits

	// Lists of operands, kept so that a step does not allocate them.
	indices       []int32
	weights, outs []*tensor.Tensor
}

// newWorkspace allocates the workspace for chunks of up to chunk tokens. The system provides host memory only as it is touched,
// so a session that never sees a long prompt takes memory only for the rows that it uses.
func newWorkspace(d *device, c *Config, chunk int) (ws *workspace, err error) {
	ws = &workspace{chunk: chunk, indices: make([]int32, 0, chunk)}
	defer func() {
		if err != nil {
			ws.free()
			err = fmt.Errorf("workspace for %d tokens: %w", chunk, err)
		}
	}()
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	for _, w := range []struct {
		flat *tensor.Tensor
		cols int
		head *tensor.Tensor // the same memory by heads
	}{
		{&ws.x, c.HiddenSize, nil}, {&ws.normed, c.HiddenSize, nil}, {&ws.product, c.HiddenSize, nil},
		{&ws.qFlat, q, &ws.q}, {&ws.kFlat, kv, &ws.k}, {&ws.vFlat, kv, &ws.v}, {&ws.attentionFlat, q, &ws.attention},
		{&ws.gate, c.IntermediateSize, nil}, {&ws.up, c.IntermediateSize, nil}, {&ws.rope, c.HeadDim, nil},
	} {
		full, err := tensor.New(d.Backend, tensor.F32, tensor.ShapeOf(chunk, w.cols))
		if err != nil {
			return ws, err
		}
		ws.bytes += int64(full.Size())
		ws.add(full, w.flat)
		if w.head != nil {
			heads, err := full.Reshape(chunk, w.cols/c.HeadDim, c.HeadDim)
			if err != nil {
				return ws, err
			}
			ws.add(heads, w.head)
		}
	}
	for _, w := range []struct {
		t    **tensor.Tensor
		on   tensor.Device
		rows int
		cols int
	}{
		{&ws.lastFull, d.Backend, headRows, c.HiddenSize}, {&ws.logitsFull, d.Backend, headRows, c.VocabSize},
		{&ws.ropeHost, nil, chunk, c.HeadDim}, // no device: the host
	} {
		if *w.t, err = tensor.New(w.on, tensor.F32, tensor.ShapeOf(w.rows, w.cols)); err != nil {
			return ws, err
		}
		ws.bytes += int64((*w.t).Size())
	}
	return ws, ws.resize(1)
}

// headRows is the most rows whose logits are computed at once, where those of many tokens are wanted: enough rows to read the
// output head's weights seldom, few enough that their logits, [headRows, vocab], stay small.
const headRows = 8

// workingBytes returns how many bytes a session of the default chunk, and the operations that compute it, take beyond weights
// and cache. It is an estimate for any machine: it takes the number of workers as a constant, so that a model that loads on
// one machine loads on another.
func (c *Config) workingBytes() int64 {
	const workers, floatBytes = 8, 4
	q, kv := int64(c.Heads)*int64(c.HeadDim), int64(c.KVHeads)*int64(c.HeadDim)
	hidden, wide, vocab := int64(c.HiddenSize), int64(c.IntermediateSize), int64(c.VocabSize)
	// The floats of a token's row: x, normed and product; q and attention; k and v; gate and up; rope and ropeHost.
	row := 3*hidden + 2*q + 2*kv + 2*wide + 2*int64(c.HeadDim)
	row += max(hidden, q, wide) / 2 // a product's activation, quantised: at most 2 bytes an element, half of a float
	choosing := 4 * vocab           // on the host: logits, probabilities, and the candidates' tokens and values
	return floatBytes*(defaultChunk*row+headRows*(hidden+vocab)+choosing) +
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

// add makes view a view of full, which has chunk rows: resize keeps it cut to the present number of tokens.
func (ws *workspace) add(full, view *tensor.Tensor) {
	ws.full = append(ws.full, full)
	ws.views = append(ws.views, view)
}

// resize cuts the views to a number of tokens, at most ws.chunk.
func (ws *workspace) resize(tokens int) error {
	if tokens == ws.tokens {
		return nil
	}
	for i, full := range ws.full {
		if err := full.SliceInto(ws.views[i], 0, tokens); err != nil {
			return err
		}
	}
	ws.tokens = tokens
	return nil
}

// free releases the memory.
func (ws *workspace) free() error {
	var errs []error
	for _, t := range append(ws.full, ws.lastFull, ws.logitsFull, ws.probabilities, ws.ropeHost) {
		if t != nil {
			errs = append(errs, t.Free())
		}
	}
	return errors.Join(errs...)
}
