package host_test

import (
	"runtime"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestOperandsAreNotCollected lets operations have the last references to their operands while the collector runs all the time.
func TestOperandsAreNotCollected(t *testing.T) {
	effort.Turn(t, 8)
	b := cpu.New(2)
	defer b.Close()
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
			}
		}
	}()
	ones := func(dims ...int) *tensor.Tensor {
		x, err := tensor.New(b, tensor.F32, tensor.ShapeOf(dims...))
		if err != nil {
			t.Fatal(err)
		}
		values, err := tensor.As[float32](x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range values {
			values[i] = 1
		}
		runtime.KeepAlive(x)
		return x
	}
	cache := func(used int) *backend.Slots {
		s := &backend.Slots{DType: tensor.F32, HeadDim: 64}
		for range 2 {
			h := backend.HeadSlots{Len: used}
			for len(h.Pages)*backend.PageSlots < used {
				h.Pages = append(h.Pages, backend.Page{Slab: ones(1, 2, backend.PageSlots, 64)})
			}
			s.Heads = append(s.Heads, h)
		}
		return s
	}
	const n, k = 2000, 512
	for range effort.Of(1, 2, 2) {
		for _, err := range []error{
			b.Run(&backend.Attend{Q: ones(1, 4, 64), Out: ones(1, 4, 64), Runs: []backend.Run{{Tokens: 1, Slots: cache(n)}}}),
			b.Run(&backend.Attend{Q: ones(32, 4, 64), Out: ones(32, 4, 64), Runs: []backend.Run{{Tokens: 32, Slots: cache(n)}}}),
			b.Run(&backend.AccumulateAttention{Q: ones(32, 4, 64), Sums: ones(2, n), Run: backend.Run{Tokens: 32, Slots: cache(n)}}),
			b.Run(&backend.RoPEStore{K: ones(32, 2, 64), V: ones(32, 2, 64), Runs: []backend.Run{{Tokens: 32, Slots: cache(n)}}}),
			b.Run(&backend.Compact{Slots: cache(n), Keep: [][]int32{{3, 500}, {0, 1700}}}),
			b.Run(&backend.MatMulTransposed{X: ones(64, k), W: ones(n, k), Out: ones(64, n)}),
			b.Run(&backend.MatMulAdd{X: ones(64, k), W: ones(n, k), Product: ones(64, n), Out: ones(64, n)}),
			b.Run(&backend.NormSwiGLU{X: ones(64, k), Norm: ones(k), Eps: 1e-5, Normed: ones(64, k), Gate: ones(n, k), Up: ones(n, k), Product: ones(64, n), Out: ones(64, n)}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestScratchForgetsOperands sees that no task keeps an operation's tensors once the operation is over: their memory is given back
// when nobody else refers to them.
func TestScratchForgetsOperands(t *testing.T) {
	b := cpu.New(2)
	defer b.Close()
	on := func(d tensor.DType, dims ...int) *tensor.Tensor {
		x, err := tensor.New(b, d, tensor.ShapeOf(dims...))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	f32 := func(dims ...int) *tensor.Tensor { return on(tensor.F32, dims...) }
	runs := func() []backend.Run {
		s := &backend.Slots{DType: tensor.F16, HeadDim: 64}
		for range 2 {
			s.Heads = append(s.Heads, backend.HeadSlots{Pages: []backend.Page{{Slab: on(tensor.F16, 1, 2, backend.PageSlots, 64)}}, Len: 30})
		}
		return []backend.Run{{Tokens: 3, Slots: s}}
	}
	for name, run := range map[string]func() error{
		"rows": func() error { return b.Run(&backend.AddAssign{A: f32(3, 64), B: f32(3, 64)}) },
		"gather": func() error {
			return b.Run(&backend.Gather{Table: on(tensor.Q8_0, 8, 64), Indices: []int32{1, 2}, Out: f32(2, 64)})
		},
		"product": func() error {
			return b.Run(&backend.MatMulTransposed{X: f32(3, 64), W: on(tensor.Q4_0, 32, 64), Out: f32(3, 32)})
		},
		"fused": func() error {
			return b.Run(&backend.MatMulAdd{X: f32(3, 64), W: on(tensor.Q4_0, 32, 64), Product: f32(3, 32), Out: f32(3, 32)})
		},
		"attention": func() error { return b.Run(&backend.Attend{Q: f32(3, 4, 64), Out: f32(3, 4, 64), Runs: runs()}) },
		"weighing": func() error {
			return b.Run(&backend.AccumulateAttention{Q: f32(3, 4, 64), Sums: f32(2, 40), Run: runs()[0]})
		},
		"compaction": func() error { return b.Run(&backend.Compact{Slots: runs()[0].Slots, Keep: [][]int32{{3}, {5, 7}}}) },
		"rotation": func() error {
			return b.Run(&backend.RoPEStore{Q: f32(3, 4, 64), K: f32(3, 2, 64), V: f32(3, 2, 64), Table: f32(3, 64), Runs: runs()})
		},
		"selection": func() error {
			return b.Run(&backend.Largest{X: f32(3, 64), Indices: make([]int32, 6), Values: make([]float32, 6)})
		},
	} {
		if err := run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for range 200 { // unreachable memory is given back some time after a collection
			if runtime.GC(); b.Memory().Used() == 0 {
				break
			}
			runtime.Gosched()
		}
		if used := b.Memory().Used(); used != 0 {
			t.Errorf("%s: %d bytes of operands are kept", name, used)
		}
	}
}
