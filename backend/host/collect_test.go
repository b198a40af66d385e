package host_test

import (
	"runtime"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
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
	const n, k = 2000, 512
	for range 2 {
		for _, err := range []error{
			b.Attention(ones(32, 4, 64), ones(n, 2, 64), ones(n, 2, 64), ones(32, 4, 64), n),
			b.Weigh(ones(32, 4, 64), ones(n, 2, 64), ones(2, n), n),
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
