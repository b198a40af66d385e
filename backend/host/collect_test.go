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
			b.Attend(ones(1, 4, 64), ones(1, 4, 64), []backend.Run{{Tokens: 1, Slots: cache(n)}}),
			b.Attend(ones(32, 4, 64), ones(32, 4, 64), []backend.Run{{Tokens: 32, Slots: cache(n)}}),
			b.AccumulateAttention(ones(32, 4, 64), ones(2, n), backend.Run{Tokens: 32, Slots: cache(n)}),
			b.RoPEStore(nil, ones(32, 2, 64), ones(32, 2, 64), nil, []backend.Run{{Tokens: 32, Slots: cache(n)}}),
			b.Compact(cache(n), [][]int32{{3, 500}, {0, 1700}}),
			b.MatMulTransposed(ones(64, k), ones(n, k), ones(64, n)),
			backend.Fused(b).MatMulAdd(ones(64, k), ones(n, k), ones(64, n), ones(64, n)),
			backend.Fused(b).NormSwiGLU(ones(64, k), ones(k), 1e-5, ones(64, k), ones(n, k), ones(n, k), ones(64, n), ones(64, n)),
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
		"rows":       func() error { return b.AddAssign(f32(3, 64), f32(3, 64)) },
		"gather":     func() error { return b.Gather(on(tensor.Q8_0, 8, 64), []int32{1, 2}, f32(2, 64)) },
		"product":    func() error { return b.MatMulTransposed(f32(3, 64), on(tensor.Q4_0, 32, 64), f32(3, 32)) },
		"fused":      func() error { return b.MatMulAdd(f32(3, 64), on(tensor.Q4_0, 32, 64), f32(3, 32), f32(3, 32)) },
		"attention":  func() error { return b.Attend(f32(3, 4, 64), f32(3, 4, 64), runs()) },
		"weighing":   func() error { return b.AccumulateAttention(f32(3, 4, 64), f32(2, 40), runs()[0]) },
		"compaction": func() error { return b.Compact(runs()[0].Slots, [][]int32{{3}, {5, 7}}) },
		"rotation":   func() error { return b.RoPEStore(f32(3, 4, 64), f32(3, 2, 64), f32(3, 2, 64), f32(3, 64), runs()) },
		"selection":  func() error { return b.Largest(f32(3, 64), make([]int32, 6), make([]float32, 6)) },
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
