package machine

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

func TestMeasure(t *testing.T) {
	l, err := Measure(0, 64<<20, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for name, rate := range map[string]float64{"memory": l.Memory, "cache": l.Cache, "integer": l.Integer, "float": l.Float} {
		if rate < 1e6 || math.IsInf(rate, 0) {
			t.Errorf("%s: %g per second", name, rate)
		}
	}
	if !strings.Contains(l.Legend(), "64 MiB") {
		t.Errorf("the legend does not tell the span:\n%s", l.Legend())
	}
	if _, err := Measure(1, 1000, time.Millisecond); err == nil {
		t.Error("a span that is smaller than a step was accepted")
	}
}

func TestReadersOfPortableKernels(t *testing.T) {
	if n := len(readers(asm.Portable())); n != 1 {
		t.Errorf("%d readers without kernels for panels, want the plain loop alone", n)
	}
}

func TestFloor(t *testing.T) {
	l := Limits{Threads: 1, Memory: 10e9, Cache: 100e9, Integer: 200e9, Float: 50e9}
	tests := []struct {
		name  string
		work  Work
		floor time.Duration
		bound Resource
	}{
		{"single token", Work{Memory: 10e6, Cache: 1e6, Integer: 20e6}, time.Millisecond, Memory},
		{"prompt", Work{Memory: 10e6, Cache: 1e6, Integer: 400e6}, 2 * time.Millisecond, Integer},
		{"both kinds", Work{Integer: 200e6, Float: 100e6}, 3 * time.Millisecond, Float},
		{"activations", Work{Cache: 100e6}, time.Millisecond, Cache},
		{"nothing", Work{}, 0, ""},
	}
	for _, test := range tests {
		if floor, bound := l.Floor(test.work); floor != test.floor || bound != test.bound {
			t.Errorf("%s: %v by %s, want %v by %s", test.name, floor, bound, test.floor, test.bound)
		}
	}
	if f := l.Figures(tests[0].work, 2*time.Millisecond); f.OfLimit != 0.5 || f.GBPerSecond != 5.5 || f.GMACPerSecond != 10 {
		t.Errorf("figures %+v", f)
	}
	if f := (Limits{}).Figures(tests[0].work, time.Second); f.OfLimit != 0 || f.BoundBy != "" {
		t.Errorf("without limits: %+v", f)
	}
}

func TestWork(t *testing.T) {
	zeros := func(d tensor.DType, dims ...int) *tensor.Tensor {
		z, err := tensor.New(nil, d, tensor.ShapeOf(dims...))
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	q4, f16 := zeros(tensor.Q4_0, 64, 32), zeros(tensor.F16, 64, 32)
	one, chunk := zeros(tensor.F32, 4, 32), zeros(tensor.F32, 3, 4, 32)
	runOf := func(d tensor.DType, tokens int) backend.Run { // to 10 slots of 2 heads of 32
		return backend.Run{Tokens: tokens, Slots: &backend.Slots{DType: d, HeadDim: 32, Heads: []backend.HeadSlots{{Len: 10}, {Len: 10}}}}
	}
	tests := []struct {
		name      string
		got, want Work
	}{
		{"q4_0 weights", MatMulWork(5, q4), Work{Memory: 64 * 18, Integer: 5 * 64 * 32}},
		{"two weights", MatMulWork(1, q4, f16), Work{Memory: 64*18 + 64*64, Integer: 64 * 32, Float: 64 * 32}},
		{"activations", TensorWork(one, one), Work{Cache: 2 * 4 * 32 * 4}},
		{"one token's attention", AttentionWork(one, runOf(tensor.F16, 1)), Work{Memory: 2 * 10 * 2 * 64, Cache: 2 * 4 * 32 * 4, Float: 2 * 10 * 4 * 32}},
		{"a chunk's attention", AttentionWork(chunk, runOf(tensor.Q8_0, 3)), Work{Memory: 2 * 10 * 2 * 34, Cache: 2 * 3 * 4 * 32 * 4, Integer: 2 * 27 * 4 * 32}},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, test.got, test.want)
		}
	}
}
