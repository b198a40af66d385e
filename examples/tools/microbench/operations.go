package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/tensor"
)

// Each operation has a function that makes its operands and says how much work a call is. Weights, caches and states have several copies,
// which take turns, so that they come from memory. For example, matmul with m=1, n=4096, k=4096 and weights of Q8_0:
//
//	x       [1, 4096] of F32, random
//	w       copies of [4096, 4096] of Q8_0
//	out     [1, 4096] of F32
//	run(i)  MatMulTransposed(x, w[i%len(w)], out)
//	work    16777216 multiply-accumulates, 17825792 bytes of weights, 32768 bytes of activations

// operation is something to measure.
type operation struct {
	name    string
	about   string         // what it computes, in terms of m, n and k
	m, n, k int            // the dimensions unless given; 0: it has no such dimension
	types   []tensor.DType // that -dtype may be, the first unless given
	setUp   func(l *lab, c testCase) (*subject, error)
}

// subject is an operation with its operands.
type subject struct {
	run  func(i int) error // computes call i, with the i-th copy of the operands
	work machine.Work      // of one call
}

// The names of operations with dimensions of their own kind.
const (
	attentionName = "attention"
	ropeName      = "rope"
	expertsName   = "experts"
	recurName     = "recur"
	scanName      = "scan"
)

var (
	f32Only   = []tensor.DType{tensor.F32}
	stored    = storedTypes()
	cached    = []tensor.DType{tensor.F16, tensor.F32, tensor.Q8_0, tensor.Q4_0}
	quantized = []tensor.DType{tensor.Q4_0, tensor.Q4_1, tensor.Q8_0}
	narrow    = []tensor.DType{tensor.F16, tensor.BF16}
)

// operations returns the operations.
func operations() []operation {
	return []operation{
		{"matmul", "x [m, k] times weights [n, k] of -dtype, transposed", 1, 2048, 2048, stored, matmul},
		{attentionName, "m tokens attend to n slots of a cache of -dtype, with -heads of length k", 1, 1024, 64, cached, attention},
		{expertsName, "gated network of m rows, each with 8 of 128 experts [n, k] of -dtype", 1, 768, 2048, stored, experts},
		{"rmsnorm", "norm of the rows of x [m, k]", 256, 0, 2048, f32Only, rmsNorm},
		{ropeName, "rotation of x [m tokens, n heads, k]", 256, 32, 64, f32Only, rope},
		{"silu", "a = silu(a)·b of [m, k]", 256, 0, 8192, f32Only, silu},
		{"add", "a += b of [m, k]", 256, 0, 2048, f32Only, add},
		{"scale", "x *= v of [m, k]", 256, 0, 2048, f32Only, scale},
		{"softmax", "softmax of the rows of x [m, k]", 256, 0, 2048, f32Only, softmax},
		{"cast", "conversion of x [m, k] from f32 to -dtype", 256, 0, 512, narrow, cast},
		{"quantize", "conversion of x [m, k] from f32 to -dtype", 256, 0, 2048, quantized, cast},
		{"multiply", "a *= b of [m, k]", 256, 0, 2048, f32Only, multiply},
		{"sigmoid", "a = σ(a)·b of [m, k]", 256, 0, 2048, f32Only, sigmoid},
		{"softplus", "a = ln(1+e^(a+b)) of [m, k], b one row", 256, 0, 16, f32Only, softplus},
		{"convolve", "causal convolution of n taps of each of the k channels of x [m, k]", 1, 4, 6144, f32Only, convolve},
		{recurName, "m tokens pass through the states [k, k] of n heads by the delta rule", 1, 16, 128, f32Only, recurrence(true)},
		{scanName, "the same without the difference, as in Mamba 2", 1, 16, 128, f32Only, recurrence(false)},
		{"gather", "m rows, here and there, of a table [n, k] of -dtype", 256, 128256, 2048, stored, gather},
	}
}

// storedTypes returns the types that weights are stored in, the quantised ones first.
func storedTypes() []tensor.DType {
	types := tensor.WeightTypes()
	slices.SortStableFunc(types, func(a, b tensor.DType) int { return min(1, b.BlockLen()-1) - min(1, a.BlockLen()-1) })
	return types
}

// find returns the operation of a name, or nil.
func find(name string) *operation {
	for _, op := range operations() {
		if op.name == name {
			return &op
		}
	}
	return nil
}

func operationNames() (list []string) {
	for _, op := range operations() {
		list = append(list, op.name)
	}
	return list
}

// describeOperations lists the operations for the help.
func describeOperations() string {
	var b strings.Builder
	fmt.Fprintln(&b, "Operations")
	for _, op := range operations() {
		types := ""
		if len(op.types) > 1 {
			types = " (" + typeNames(op.types) + ")"
		}
		fmt.Fprintf(&b, "  %-10s %s%s\n", op.name, op.about, types)
	}
	return b.String()
}

func typeNames(types []tensor.DType) string {
	list := make([]string, len(types))
	for i, d := range types {
		list[i] = d.String()
	}
	return strings.Join(list, ", ")
}

func matmul(l *lab, c testCase) (*subject, error) {
	w, err := l.weights(c.dtype, c.n, c.k)
	if err != nil {
		return nil, err
	}
	t, err := l.activations(random(c.m, c.k), random(c.m, c.n))
	if err != nil {
		return nil, err
	}
	x, out := t[0], t[1]
	return &subject{
		func(i int) error { return l.Run(&backend.MatMulTransposed{X: x, W: w[i%len(w)], Out: out}) },
		machine.MatMulWork(c.m, w[0]).Plus(machine.TensorWork(x, out)),
	}, nil
}

func attention(l *lab, c testCase) (*subject, error) {
	caches, err := l.caches(c.dtype, c.n, c.kvHeads, c.k)
	if err != nil {
		return nil, err
	}
	t, err := l.activations(random(c.m, c.heads, c.k), random(c.m, c.heads, c.k))
	if err != nil {
		return nil, err
	}
	q, out := t[0], t[1]
	runs := make([][]backend.Run, len(caches)) // of each call, in turn
	for i, s := range caches {
		runs[i] = []backend.Run{{Tokens: c.m, Slots: s}}
	}
	return &subject{
		func(i int) error { return l.Run(&backend.Attend{Q: q, Out: out, Runs: runs[i%len(runs)]}) },
		machine.AttentionWork(q, runs[0]...),
	}, nil
}

func gather(l *lab, c testCase) (*subject, error) {
	tables, err := l.weights(c.dtype, c.n, c.k)
	if err != nil {
		return nil, err
	}
	t, err := l.activations(random(c.m, c.k))
	if err != nil {
		return nil, err
	}
	work := machine.TensorWork(t[0])
	work.Memory = int64(c.m) * int64(tables[0].RowBytes())
	indices := make([]int32, c.m)
	return &subject{func(i int) error {
		for j := range indices {
			indices[j] = int32(uint64(i*c.m+j) * 0x9e3779b97f4a7c15 >> 16 % uint64(c.n)) // far from each other
		}
		return l.Run(&backend.Gather{Table: tables[i%len(tables)], Indices: indices, Out: t[0]})
	}, work}, nil
}

func cast(l *lab, c testCase) (*subject, error) {
	y, err := l.zeros(c.dtype, c.m, c.k)
	if err != nil {
		return nil, err
	}
	return l.onActivations(func(t []*tensor.Tensor) (func(int) error, machine.Work) {
		return func(int) error { return l.Run(&backend.Cast{Src: t[0], Dst: y}) }, machine.TensorWork(t[0], y)
	}, random(c.m, c.k))
}

func rmsNorm(l *lab, c testCase) (*subject, error) {
	return l.onActivations(func(t []*tensor.Tensor) (func(int) error, machine.Work) {
		return func(int) error { return l.Run(&backend.RMSNorm{X: t[0], W: t[1], Eps: 1e-5}) }, machine.TensorWork(t[0], t[0], t[1])
	}, random(c.m, c.k), all(1, c.k))
}

// rope rotates in place, by 45° each time.
func rope(l *lab, c testCase) (*subject, error) {
	return l.onActivations(func(t []*tensor.Tensor) (func(int) error, machine.Work) {
		return func(int) error { return l.Run(&backend.RoPE{X: t[0], Table: t[1]}) }, machine.TensorWork(t[0], t[0], t[1])
	}, random(c.m, c.n, c.k), all(math.Sqrt2/2, c.m, c.k))
}

// silu computes in place: the float32 nearest to silu(x) is x for a large x, so that the numbers stay what they are.
func silu(l *lab, c testCase) (*subject, error) {
	return l.onActivations(func(t []*tensor.Tensor) (func(int) error, machine.Work) {
		return func(int) error { return l.Run(&backend.SiLUMul{A: t[0], B: t[1]}) }, machine.TensorWork(t[0], t[0], t[1])
	}, all(40, c.m, c.k), all(1, c.m, c.k))
}

func add(l *lab, c testCase) (*subject, error) {
	return l.onActivations(func(t []*tensor.Tensor) (func(int) error, machine.Work) {
		return func(int) error { return l.Run(&backend.AddAssign{A: t[0], B: t[1]}) }, machine.TensorWork(t[0], t[0], t[1])
	}, random(c.m, c.k), random(c.m, c.k))
}

func scale(l *lab, c testCase) (*subject, error) {
	return l.onActivations(func(t []*tensor.Tensor) (func(int) error, machine.Work) {
		return func(int) error { return l.Run(&backend.Scale{X: t[0], By: 1}) }, machine.TensorWork(t[0], t[0])
	}, random(c.m, c.k))
}

func softmax(l *lab, c testCase) (*subject, error) {
	return l.onActivations(func(t []*tensor.Tensor) (func(int) error, machine.Work) {
		return func(int) error { return l.Run(&backend.Softmax{X: t[0]}) }, machine.TensorWork(t[0], t[0])
	}, random(c.m, c.k))
}

func multiply(l *lab, c testCase) (*subject, error) {
	return l.onActivations(func(t []*tensor.Tensor) (func(int) error, machine.Work) {
		return func(int) error { return l.Run(&backend.MulAssign{A: t[0], B: t[1]}) }, machine.TensorWork(t[0], t[0], t[1])
	}, random(c.m, c.k), all(1, c.m, c.k))
}

func sigmoid(l *lab, c testCase) (*subject, error) {
	return l.onActivations(func(t []*tensor.Tensor) (func(int) error, machine.Work) {
		return func(int) error { return l.Run(&backend.SigmoidMul{A: t[0], B: t[1]}) }, machine.TensorWork(t[0], t[0], t[1])
	}, random(c.m, c.k), all(1, c.m, c.k))
}

func softplus(l *lab, c testCase) (*subject, error) {
	return l.onActivations(func(t []*tensor.Tensor) (func(int) error, machine.Work) {
		return func(int) error { return l.Run(&backend.Softplus{A: t[0], Bias: t[1]}) }, machine.TensorWork(t[0], t[0], t[1])
	}, random(c.m, c.k), all(-1, 1, c.k))
}

// convolve computes with states that take turns, as those of a model's layers do.
func convolve(l *lab, c testCase) (*subject, error) {
	states, err := l.states(max(c.n, 2)-1, c.k)
	if err != nil {
		return nil, err
	}
	t, err := l.activations(random(c.m, c.k), random(max(c.n, 2), c.k), random(c.m, c.k))
	if err != nil {
		return nil, err
	}
	of := stretches(states, c.m)
	work := machine.TensorWork(t...).Plus(machine.StatesWork(of[:1]))
	work.Float = int64(c.m) * int64(t[1].Shape().NumElements())
	return &subject{func(i int) error {
		return l.Run(&backend.Convolve{X: t[0], W: t[1], Out: t[2], Of: of[i%len(of):][:1]})
	}, work}, nil
}

// recurrence computes with states that take turns. Keys and queries have unit length, as in models.
func recurrence(delta bool) func(l *lab, c testCase) (*subject, error) {
	return func(l *lab, c testCase) (*subject, error) {
		shape := backend.StateShape(c.n, c.k, c.k)
		states, err := l.states(shape.Dim(0), shape.Dim(1), shape.Dim(2), shape.Dim(3))
		if err != nil {
			return nil, err
		}
		unit := all(float32(1/math.Sqrt(float64(c.k))), c.m, c.n, c.k)
		t, err := l.activations(unit, unit, random(c.m, c.n, c.k), all(-0.1, c.m, c.n), all(0.5, c.m, c.n), random(c.m, c.n, c.k))
		if err != nil {
			return nil, err
		}
		of := stretches(states, c.m)
		return &subject{
			func(i int) error {
				return l.Run(&backend.Recur{Q: t[0], K: t[1], V: t[2], G: t[3], Beta: t[4], Out: t[5], Delta: delta, Of: of[i%len(of):][:1]})
			},
			machine.RecurWork(t[0], t[2], delta, of[:1]),
		}, nil
	}
}

// stretches returns a stretch of rows for each state.
func stretches(states []*tensor.Tensor, rows int) (of []backend.Stretch) {
	for _, s := range states {
		of = append(of, backend.Stretch{State: s, Rows: rows})
	}
	return of
}
