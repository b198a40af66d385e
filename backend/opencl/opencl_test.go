//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// openTest opens the device, or skips the test if there is no device.
func openTest(t testing.TB, o Options) *Backend {
	t.Helper()
	b, err := New(o)
	if errors.Is(err, cl.ErrNoLibrary) || errors.Is(err, ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// TestBackend runs the suite that every backend must pass.
func TestBackend(t *testing.T) { backendtest.Run(t, openTest(t, Options{})) }

// must fails the test of an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bench is a backend together with the processor and the reference, with random operands for all.
type bench struct {
	testing.TB
	*rand.Rand
	gpu       *Backend
	host      *cpu.Backend
	reference *host.Reference // its pages are in the device's layout
	size      float32         // of the random numbers
}

func newBench(t testing.TB, o Options) *bench {
	processor := cpu.New(1)
	t.Cleanup(func() { processor.Close() })
	return &bench{t, rand.New(rand.NewPCG(3, 4)), openTest(t, o), processor, host.NewReference(), 1}
}

// floats makes a random tensor of the host's.
func (b *bench) floats(dims ...int) *tensor.Tensor {
	b.Helper()
	values := make([]float32, tensor.ShapeOf(dims...).NumElements())
	for i := range values {
		values[i] = b.size * float32(b.NormFloat64())
	}
	x, err := tensor.FromFloats(values, dims...)
	must(b, err)
	return x
}

// typed makes a random tensor of a type; of types that cannot be written, random blocks with small scales.
func (b *bench) typed(d tensor.DType, dims ...int) *tensor.Tensor {
	b.Helper()
	x, err := tensor.New(nil, d, tensor.ShapeOf(dims...))
	must(b, err)
	must(b, b.host.Run(&backend.Cast{Src: b.floats(dims...), Dst: x}))
	return x
}

// widened returns a tensor as F32 of the host's.
func (b *bench) widened(t *tensor.Tensor) *tensor.Tensor {
	b.Helper()
	x, err := tensor.New(nil, tensor.F32, t.Shape())
	must(b, err)
	must(b, b.host.Run(&backend.Cast{Src: t, Dst: x}))
	return x
}

// on copies a tensor to the device.
func (b *bench) on(t *tensor.Tensor) *tensor.Tensor {
	b.Helper()
	x, err := t.ToDevice(b.gpu)
	must(b, err)
	return x
}

// prepared prepares weights.
func (b *bench) prepared(t *tensor.Tensor) *tensor.Tensor {
	b.Helper()
	x, err := b.gpu.Prepare(b.Context(), t)
	must(b, err)
	return x
}

// read returns a device tensor's floats.
func (b *bench) read(t *tensor.Tensor) []float32 {
	b.Helper()
	x, err := b.host.CopyFrom(t)
	must(b, err)
	defer runtime.KeepAlive(x)
	return slices.Clone(b.values(x))
}

func (b *bench) values(t *tensor.Tensor) []float32 {
	b.Helper()
	v, err := tensor.As[float32](t)
	must(b, err)
	return v
}

// equal compares a device tensor's bits with the host's. Of NaNs there are many, which are all alike.
func (b *bench) equal(what string, got, want *tensor.Tensor) {
	b.Helper()
	g, w := b.read(got), b.values(want)
	if len(g) != len(w) {
		b.Errorf("%s: %d elements, want %d", what, len(g), len(w))
		return
	}
	different, first := 0, 0
	for i := range w {
		if math.Float32bits(g[i]) != math.Float32bits(w[i]) && (g[i] == g[i] || w[i] == w[i]) {
			if different++; different == 1 {
				first = i
			}
		}
	}
	runtime.KeepAlive(want)
	if different > 0 {
		b.Errorf("%s: %d of %d elements differ, the first is number %d: %x (%[5]g), want %x (%[6]g)", what, different, len(w), first, g[first], w[first])
	}
}

// TestMain keeps away from the user's cache. Of the time that the tests take on pocl, nearly all is its compiler's, and most of that goes
// into optimising: with POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable in the environment they take a quarter of it, if they compute little. Tests
// of whole models compute much, and are quicker with optimised kernels.
func TestMain(m *testing.M) {
	if os.Getenv(cacheVariable) == "" { // leave the user's cache alone, and spare the time that drivers take to hand binaries out
		os.Setenv(cacheVariable, "off")
	}
	m.Run()
}
