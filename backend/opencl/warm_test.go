//go:build opencl && (amd64 || arm64)

package opencl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// never is the end of tuning without an end.
func never() bool { return false }

// forever is a bound that lets all shapes be tuned.
const forever = 24 * time.Hour

// tunable makes a backend on which even small products are tuned, in few divisions.
func tunable(t *testing.T, folder string) *bench {
	b := newBench(t, Options{Cache: folder})
	b.gpu.tuning.from, b.gpu.tuning.try = 1, candidates[:2]
	return b
}

// TestWarm multiplies with weights that are worth tuning: nothing is tuned but while the device warms up, the results have the same bits, and
// another backend finds them again.
func TestWarm(t *testing.T) {
	folder := t.TempDir()
	b := tunable(t, folder)
	const n, k = 256, 1024
	stored := b.typed(tensor.Q4_0, n, k)
	w := b.prepared(stored)
	multiply := func(m int) error {
		x, want, out := b.floats(m, k), b.floats(m, n), b.on(b.floats(m, n))
		must(t, b.host.Run(&backend.MatMulTransposed{X: x, W: stored, Out: want}))
		if err := b.gpu.Run(&backend.MatMulTransposed{X: b.on(x), W: w, Out: out}); err != nil {
			return err
		}
		b.equal(fmt.Sprintf("the product of %d rows", m), out, want)
		return nil
	}
	for _, m := range []int{1, 3, 10} {
		must(t, multiply(m))
	}
	if len(b.gpu.tuning.best) != 0 {
		t.Errorf("tuned %v before the device warms up", b.gpu.tuning.best)
	}
	var computed []int
	done := 0
	warming := backend.Warming{
		Within: forever,
		Compute: func(sequences, tokens int) error {
			computed = append(computed, sequences*tokens)
			return multiply(sequences * tokens)
		},
		Progress: func(now, of int) {
			if now <= done || of != len(warmPasses) {
				t.Errorf("%d passes of %d are done, after %d", now, of, done)
			}
			done = now
		},
	}
	must(t, b.gpu.Warm(t.Context(), warming))
	if done != len(warmPasses) || len(computed) != done || slices.Max(computed) < usualPrompt {
		t.Errorf("%d passes: %v", done, computed)
	}
	for _, pass := range warmPasses {
		m := pass.sequences
		shape := productShape{"multiply", "q4_0", n, k, rowsFor(m)}
		if m == 1 {
			shape.kernel, shape.m = "matvec", 0
		}
		if _, ok := b.gpu.tuning.best[shape]; !ok {
			t.Errorf("%v was not tuned", shape)
		}
	}
	tuned := len(b.gpu.tuning.best)
	must(t, multiply(5))
	if len(b.gpu.tuning.best) != tuned {
		t.Error("tuned after the device has warmed up")
	}
	again := openTest(t, Options{Cache: folder})
	if !maps.Equal(again.tuning.best, b.gpu.tuning.best) {
		t.Errorf("tuned %v, found %v", b.gpu.tuning.best, again.tuning.best)
	}
}

// TestWarmLate warms up without time: passes that need kernels of their own are computed, and nothing is tuned.
func TestWarmLate(t *testing.T) {
	b := tunable(t, t.TempDir())
	w, x := b.prepared(b.typed(tensor.Q4_0, 64, 64)), b.on(b.floats(1, 64))
	passes := 0
	warming := backend.Warming{Compute: func(int, int) error {
		passes++
		return b.gpu.Run(&backend.MatMulTransposed{X: x, W: w, Out: b.on(b.floats(1, 64))})
	}}
	must(t, b.gpu.Warm(t.Context(), warming))
	if passes != mustWarm || len(b.gpu.tuning.best) != 0 {
		t.Errorf("%d passes, tuned %v", passes, b.gpu.tuning.best)
	}
	warming.Within, passes = forever, 0
	ctx := countdown.New(t.Context(), 2) // is looked at before the pass, and before the first trial
	if err := b.gpu.Warm(ctx, warming); !errors.Is(err, context.Canceled) || passes != 1 || len(b.gpu.tuning.best) != 0 {
		t.Errorf("%v after %d passes, tuned %v", err, passes, b.gpu.tuning.best)
	}
	if b.gpu.tuning.late != nil {
		t.Error("shapes are tuned after the context has ended")
	}
}

// TestWarmModel loads a model on a device that is worth tuning: afterwards neither a prompt nor answers, alone or several at once, need a
// kernel that has not been compiled, and all memory but the weights' has been given back.
func TestWarmModel(t *testing.T) {
	b := openTest(t, Options{})
	b.tuning.from = 1
	b.selections.selects = true
	passes := 0
	m, err := pebble.Load(&llama.LoadOptions{Backend: b, WarmUp: 1, Warming: func(int, int) { passes++ }})
	must(t, err)
	defer m.Close()
	before := b.queue.programs.Kernels()
	if passes == 0 || len(b.tuning.best) != 0 {
		t.Errorf("%d passes, and results %v", passes, b.tuning.best)
	}
	if used, weights := b.Memory().Used(), m.MemoryUsage().Weights; used-weights > 16<<20 {
		t.Errorf("%d bytes are in use, and the weights have %d", used, weights)
	}
	pool, err := m.NewPool(nil)
	must(t, err)
	defer pool.Close()
	prompt := m.Tokenizer().EncodeSpecial(strings.Repeat("Once upon a time ", 20), true)
	var all sync.WaitGroup
	for _, n := range []int{1, 40, len(prompt)} {
		all.Go(func() {
			p := llama.Params{MaxTokens: 5}
			if n == 40 {
				p.Temperature, p.TopP = 0.7, 0.9
			}
			for _, err := range pool.Generate(t.Context(), prompt[:n], p) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, kernel := range b.queue.programs.Kernels() {
		if !slices.Contains(before, kernel) {
			t.Errorf("compiled after loading: %s", kernel)
		}
	}
}

// TestGuess looks for divisions of shapes without results.
func TestGuess(t *testing.T) {
	b := openTest(t, Options{})
	few, many, far := teams{64, 4, 0}, teams{128, 1, 8}, teams{256, 2, 0}
	b.tuning.best = map[productShape]teams{
		{"matvec", "q4_0", 2048, 2048, 0}: few, {"matvec", "q4_0", 128256, 2048, 0}: far, {"multiply", "q4_0", 2048, 2048, 6}: many,
	}
	b.tuning.shipped = map[productShape]teams{{"matvec", "q4_0", 2560, 2560, 0}: {128, 8, 0}, {"matvec", "q4_0", 2048, 2048, 0}: far}
	for _, c := range []struct {
		shape productShape
		want  teams
	}{
		{productShape{"matvec", "q4_0", 2048, 1024, 0}, few},
		{productShape{"matvec", "q4_0", 150000, 2560, 0}, far},
		{productShape{"matvec", "q4_0", 2560, 2500, 0}, teams{128, 8, 0}},
		{productShape{"matvec", "q8_0", 2048, 2048, 0}, few}, // as of the format that is most like it
		{productShape{"matvec", "f16", 2048, 2048, 0}, tiled},
		{productShape{"multiply", "q4_0", 4096, 4096, 8}, many},
		{productShape{"norm_matvec", "q4_0", 2048, 2048, 6}, tiled},
	} {
		for range 2 {
			if got := b.tuning.guess(c.shape, tiled); got != c.want {
				t.Errorf("%v: %v, want %v", c.shape, got, c.want)
			}
		}
	}
	if got, ok := b.tuning.result(productShape{"matvec", "q4_0", 2048, 2048, 0}); !ok || got != few {
		t.Errorf("%v, want the result of this device, %v", got, few)
	}
}

// usualModels are the sizes of the models that TestKnownDevices tunes products of.
var usualModels = []struct {
	name                         string
	hidden, queries, keys, inner int // queries and keys: of all heads together
	vocabulary                   int
}{
	{"Llama 3.2 1B", 2048, 2048, 512, 8192, 128256},
	{"Llama 3.2 3B", 3072, 3072, 1024, 8192, 128256},
	{"Llama 3.1 8B", 4096, 4096, 1024, 14336, 128256},
	{"Qwen 3 0.6B", 1024, 2048, 1024, 3072, 151936},
	{"Qwen 3 4B", 2560, 4096, 1024, 9728, 151936},
	{"Qwen 3 8B", 4096, 4096, 1024, 12288, 151936},
}

// tuneModel tunes the products of a model of usualModels with weights of a type.
func tuneModel(t *testing.T, gpu *Backend, i int, d tensor.DType) {
	m := usualModels[i]
	weights := func(d tensor.DType, n, k int) *tensor.Tensor {
		w, err := tensor.New(nil, d, tensor.ShapeOf(n, k))
		must(t, err)
		defer w.Free()
		prepared, err := gpu.Prepare(t.Context(), w)
		must(t, err)
		t.Cleanup(func() { prepared.Free() })
		return prepared
	}
	q, k, v, o := weights(d, m.queries, m.hidden), weights(d, m.keys, m.hidden), weights(d, m.keys, m.hidden), weights(d, m.hidden, m.queries)
	gate, up, down := weights(d, m.inner, m.hidden), weights(d, m.inner, m.hidden), weights(d, m.hidden, m.inner)
	head := weights(d, m.vocabulary, m.hidden)
	must(t, gpu.Warm(t.Context(), backend.Warming{Within: forever, Compute: func(sequences, tokens int) (err error) {
		rows := sequences * tokens
		floats := func(dims ...int) *tensor.Tensor {
			x, e := tensor.New(gpu, tensor.F32, tensor.ShapeOf(dims...))
			err = errors.Join(err, e)
			return x
		}
		of := func(cols int) *tensor.Tensor { return floats(rows, cols) }
		x, normed, product, norm, inner, second := of(m.hidden), of(m.hidden), of(m.hidden), floats(m.hidden), of(m.inner), of(m.inner)
		qs, ks, vs, logits := of(m.queries), of(m.keys), of(m.keys), floats(min(rows, mostSeveral), m.vocabulary)
		if err != nil {
			return err
		}
		for _, t := range []*tensor.Tensor{x, normed, product, norm, inner, second, qs, ks, vs, logits} {
			defer t.Free()
		}
		some, few := &tensor.Tensor{}, &tensor.Tensor{}
		if err := errors.Join(x.SliceInto(some, 0, min(rows, mostSeveral)), normed.SliceInto(few, 0, min(rows, mostSeveral))); err != nil {
			return err
		}
		return errors.Join(
			gpu.Run(&backend.NormMatMul{X: x, Norm: norm, Eps: 1e-5, Normed: normed, Ws: []*tensor.Tensor{q, k, v}, Outs: []*tensor.Tensor{qs, ks, vs}}),
			gpu.Run(&backend.MatMulAdd{X: qs, W: o, Product: product, Out: x}),
			gpu.Run(&backend.NormSwiGLU{X: x, Norm: norm, Eps: 1e-5, Normed: normed, Gate: gate, Up: up, Product: second, Out: inner}),
			gpu.Run(&backend.MatMulAdd{X: inner, W: down, Product: product, Out: x}),
			gpu.Run(&backend.NormMatMul{X: some, Norm: norm, Eps: 1e-5, Normed: few, Ws: []*tensor.Tensor{head}, Outs: []*tensor.Tensor{logits}}))
	}}))
}
