package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/tools/internal/importance"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// watcher is a backend that computes with another one and sums the activations that weights are multiplied by. It has no fused operations,
// so that all products go through the plain ones.
type watcher struct {
	backend.Backend
	sums *importance.Matrix

	mu     sync.Mutex
	names  map[*tensor.Tensor]string // of the weights that are watched; nil: not watching yet
	counts map[string]int            // rows seen, by name
	buffer []byte                    // activations that do not lie in the host's memory
	err    error                     // the first mistake of the sums
}

func newWatcher(b backend.Backend, sums *importance.Matrix) *watcher {
	return &watcher{Backend: b, sums: sums, counts: map[string]int{}}
}

// layers is how the names of what layers consist of begin.
const layers = "blk."

// others are parts that have several dimensions and are no matrices: the filters of convolutions. Nor are the biases of experts.
var others = []model.Part{model.QueryFilter, model.KeyFilter, model.ValueFilter, model.ConvolutionFilter}

// matrix reports whether products are computed with a tensor of a layer.
func matrix(name string, t *tensor.Tensor) bool {
	isOther := func(p model.Part) bool {
		_, part, _ := strings.Cut(strings.TrimPrefix(name, layers), ".")
		return layers+"0."+part == checkpoint.GGUF(p, 0, false)
	}
	return t.Shape().NDim() > 1 && !strings.HasSuffix(name, ".bias") && !slices.ContainsFunc(others, isOther)
}

// watch begins to watch a model's matrices: those of its layers, and the output head if asked to.
func (w *watcher) watch(m *llama.Model, head bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = map[*tensor.Tensor]string{}
	for name, t := range m.Weights() {
		inLayer := strings.HasPrefix(name, layers)
		if matrix(name, t) && (inLayer || head) {
			w.names[t] = name
			if inLayer {
				w.counts[name] = 0
			}
		}
	}
}

// unseen lists the matrices of layers that nothing was multiplied with.
func (w *watcher) unseen() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, n := range w.counts {
		if n == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// record adds the rows of x, which are to be multiplied with weights.
func (w *watcher) record(x, weights *tensor.Tensor) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	name, ok := w.names[weights]
	if !ok || w.err != nil {
		return nil
	}
	values, err := w.read(x)
	if err != nil {
		return err
	}
	w.add(name, 1, x.Shape().Dim(-1), values, func(int) int { return 0 })
	return nil
}

// recordExperts adds to each expert's sums the rows of x that chose it. The rows of x are those of chosen [rows, k], or of its pairs.
func (w *watcher) recordExperts(x, weights, chosen *tensor.Tensor) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	name, ok := w.names[weights]
	if !ok || w.err != nil {
		return nil
	}
	values, err := w.read(x)
	if err != nil {
		return err
	}
	experts := make([]int32, chosen.Shape().NumElements())
	if err := w.Backend.ReadBuffer(chosen, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(experts))), 4*len(experts))); err != nil {
		return err
	}
	if err := backend.CheckChosen("MatMulExperts", experts, weights.Shape().Dim(0)); err != nil {
		return err
	}
	columns := x.Shape().Dim(-1)
	if share := len(experts) / x.Shape().Rows(); share > 1 { // pairs that have a row in common
		pairs := make([]float32, 0, len(experts)*columns)
		for row := range slices.Chunk(values, columns) {
			for range share {
				pairs = append(pairs, row...)
			}
		}
		values = pairs
	}
	w.add(name, weights.Shape().Dim(0), columns, values, func(row int) int { return int(experts[row]) })
	return nil
}

// add adds rows of some columns to the sums of a tensor of some matrices; matrix returns that of a row.
func (w *watcher) add(name string, matrices, columns int, values []float32, matrix func(row int) int) {
	sums, err := w.sums.Of(name, matrices, columns)
	if err != nil {
		w.err = fmt.Errorf("the matrices given with -in are another model's: %w", err)
		return
	}
	for i := range len(values) / columns {
		m := matrix(i)
		sums.Row(m, values[i*columns:][:columns])
		w.counts[name]++
		if v := sums.Squares[m*columns]; math.IsNaN(v) || math.IsInf(v, 0) {
			w.err = fmt.Errorf("the activations of %s are no finite numbers", name)
			return
		}
	}
}

// read returns the elements of x.
func (w *watcher) read(x *tensor.Tensor) ([]float32, error) {
	n := x.Size()
	if cap(w.buffer) < n {
		w.buffer = make([]byte, n)
	}
	b := w.buffer[:n]
	if err := w.Backend.ReadBuffer(x, b); err != nil {
		return nil, err
	}
	values := make([]float32, x.Shape().NumElements())
	return values, tensor.F32.Format().Dequantize(values, b)
}

// Fusions returns nil: products are computed one by one.
func (w *watcher) Fusions() []backend.Fusion { return nil }

// Run computes operations, and sums the activations that weights are multiplied by: those of experts by expert.
func (w *watcher) Run(ops ...backend.Op) error {
	for i, op := range ops {
		program := ops[i : i+1]
		var err error
		switch o := op.(type) {
		case *backend.MatMulTransposed:
			err = w.record(o.X, o.W)
		case *backend.MatMulExperts:
			err = w.recordExperts(o.X, o.W, o.Chosen)
		case backend.Fused:
			err, program = w.Run(o.Plain()...), nil
		}
		if err == nil {
			err = w.Backend.Run(program...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Prepare prepares weights as the other backend wants them. Weights that a loader has on a backend of its own are copied first, so that
// the other backend need not know that one.
func (w *watcher) Prepare(ctx context.Context, weights *tensor.Tensor) (*tensor.Tensor, error) {
	if weights.Device() == nil || weights.Device() == tensor.Device(w.Backend) {
		return backend.Prepare(ctx, w.Backend, weights)
	}
	moved, err := w.Backend.CopyFrom(weights)
	if err != nil {
		return nil, err
	}
	ready, err := backend.Prepare(ctx, w.Backend, moved)
	if err != nil || ready != moved {
		moved.Free()
	}
	return ready, err
}
