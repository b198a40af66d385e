package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/tensor"
)

// program runs the program and returns what it prints.
func program(args ...string) (string, error) {
	var out bytes.Buffer
	err := run(context.Background(), args, nil, &out, &out)
	return out.String(), err
}

func TestTheCPUIsClean(t *testing.T) {
	out, err := program("-quick", "-threads", "3")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range append(operationsOf(allChecks(true)), "bit for bit", "nothing is wrong") {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestEveryOperationIsChecked holds the list of checks against the contract.
func TestEveryOperationIsChecked(t *testing.T) {
	checked := operationsOf(allChecks(true))
	for _, want := range []string{
		"MatMul", "MatMulTransposed", "MatMulSlice", "AddAssign", "Scale", "SiLUMul", "RMSNorm", "Softmax", "RoPE", "AttentionGen",
		"Weigh", "Compact", "Gather", "CopySlice", "ReadBuffer", "Cast", "NormMatMul", "MatMulAdd", "NormSwiGLU", "RoPECast",
		"Attention", "Largest",
	} {
		if !slices.Contains(checked, want) {
			t.Errorf("%s is not checked", want)
		}
	}
	names := map[string]bool{}
	for _, c := range allChecks(false) {
		name := fmt.Sprint(c.name(), c.Prepared)
		if names[name] {
			t.Errorf("two checks are %s", name)
		}
		names[name] = true
	}
}

// broken is the CPU with one operation replaced.
type broken struct {
	*cpu.Backend
	scale        func(x *tensor.Tensor, v float32) error
	softmax      func(x *tensor.Tensor) error
	addAssign    func(a, b *tensor.Tensor) error
	matMul       func(a, b, out *tensor.Tensor) error
	attentionGen func(q, k, v, out *tensor.Tensor, n int) error
	gather       func(table *tensor.Tensor, indices []int32, out *tensor.Tensor) error
}

func (b *broken) Gather(table *tensor.Tensor, indices []int32, out *tensor.Tensor) error {
	if b.gather != nil {
		return b.gather(table, indices, out)
	}
	return b.Backend.Gather(table, indices, out)
}

func (b *broken) Scale(x *tensor.Tensor, v float32) error {
	if b.scale != nil {
		return b.scale(x, v)
	}
	return b.Backend.Scale(x, v)
}

func (b *broken) Softmax(x *tensor.Tensor) error {
	if b.softmax != nil {
		return b.softmax(x)
	}
	return b.Backend.Softmax(x)
}

func (b *broken) AddAssign(x, y *tensor.Tensor) error {
	if b.addAssign != nil {
		return b.addAssign(x, y)
	}
	return b.Backend.AddAssign(x, y)
}

func (b *broken) MatMul(x, y, out *tensor.Tensor) error {
	if b.matMul != nil {
		return b.matMul(x, y, out)
	}
	return b.Backend.MatMul(x, y, out)
}

func (b *broken) AttentionGen(q, k, v, out *tensor.Tensor, n int) error {
	if b.attentionGen != nil {
		return b.attentionGen(q, k, v, out, n)
	}
	return b.Backend.AttentionGen(q, k, v, out, n)
}

// poke writes a float at an index of a tensor's buffer, counted from the tensor's first element.
func poke(x *tensor.Tensor, i int, v float32) {
	copy(x.Buffer().Bytes()[x.Offset()+4*i:], encode(tensor.F32, []float32{v}))
}

func peek(x *tensor.Tensor, i int) float32 { return decode(tensor.F32, x.Data())[i] }

// collected is the reporter of tests.
type collected struct{ results []*result }

func (*collected) begin(backend.Backend, bool, uint64) {}
func (c *collected) add(r *result)                     { c.results = append(c.results, r) }
func (*collected) end(time.Duration)                   {}

// verdicts runs the quick checks of an operation.
func verdicts(t *testing.T, b backend.Backend, operation string, exact bool, timeout time.Duration) (map[verdict]int, []*result, error) {
	t.Helper()
	checks, err := chosen(allChecks(true), operation)
	if err != nil {
		t.Fatal(err)
	}
	c := &collected{}
	s := &suite{backend: b, exact: exact, seed: 1, timeout: timeout}
	err = s.run(t.Context(), checks, c)
	counts := map[verdict]int{}
	for _, r := range c.results {
		counts[r.Verdict]++
	}
	return counts, c.results, err
}

func TestFaultsAreFound(t *testing.T) {
	c := cpu.New(1)
	defer c.Close()
	forever := make(chan struct{})
	defer close(forever)
	for _, f := range []struct {
		name, operation string
		exact           bool
		backend         broken
		want            verdict
		all             bool // in each check
		detail          string
	}{
		{name: "one bit", operation: "Scale", exact: true, want: wrong, detail: "is", backend: broken{
			scale: func(x *tensor.Tensor, v float32) error {
				err := c.Scale(x, v)
				poke(x, 0, math.Float32frombits(math.Float32bits(peek(x, 0))^1))
				return err
			}}, all: true},
		{name: "an error of 0.1 %", operation: "Scale", want: wrong, detail: "is", backend: broken{
			scale: func(x *tensor.Tensor, v float32) error { return c.Scale(x, v*1.001) }}},
		{name: "nothing is done", operation: "MatMul", want: wrong, all: true, detail: "out[0 0] is NaN", backend: broken{
			matMul: func(_, _, _ *tensor.Tensor) error { return nil }}},
		{name: "NaN", operation: "Softmax", want: wrong, all: true, detail: "NaN", backend: broken{
			softmax: func(x *tensor.Tensor) error {
				err := c.Softmax(x)
				poke(x, x.Shape().NumElements()-1, float32(math.NaN()))
				return err
			}}},
		{name: "an error", operation: "Softmax", want: failed, all: true, detail: "out of breath", backend: broken{
			softmax: func(*tensor.Tensor) error { return errors.New("out of breath") }}},
		{name: "unsupported", operation: "Softmax", want: unsupported, all: true, detail: "not supported", backend: broken{
			softmax: func(*tensor.Tensor) error { return fmt.Errorf("softmax: %w", backend.ErrUnsupported) }}},
		{name: "prepared in vain", operation: "Gather", want: failed, detail: "could be prepared", backend: broken{
			gather: func(*tensor.Tensor, []int32, *tensor.Tensor) error { return backend.ErrUnsupported }}},
		{name: "a panic", operation: "Softmax", want: panicked, all: true, detail: "index out of range", backend: broken{
			softmax: func(x *tensor.Tensor) error { _ = x.Data()[1<<30+len(x.Data())]; return nil }}},
		{name: "before its output", operation: "AddAssign", want: overwrote, all: true, detail: "before", backend: broken{
			addAssign: func(x, y *tensor.Tensor) error { poke(x, -1, 1); return c.AddAssign(x, y) }}},
		{name: "after its output", operation: "AddAssign", want: overwrote, all: true, detail: "after", backend: broken{
			addAssign: func(x, y *tensor.Tensor) error { poke(x, x.Shape().NumElements(), 1); return c.AddAssign(x, y) }}},
		{name: "its input", operation: "MatMul", want: overwrote, all: true, detail: "changed its input a", backend: broken{
			matMul: func(x, y, out *tensor.Tensor) error { err := c.MatMul(x, y, out); poke(x, 0, 55); return err }}},
		{name: "a slot too many", operation: "AttentionGen", want: wrong, all: true, detail: "NaN", backend: broken{
			attentionGen: func(q, k, v, out *tensor.Tensor, n int) error { return c.AttentionGen(q, k, v, out, n+1) }}},
		{name: "a slot too few", operation: "AttentionGen", want: wrong, backend: broken{
			attentionGen: func(q, k, v, out *tensor.Tensor, n int) error { return c.AttentionGen(q, k, v, out, max(1, n-1)) }}},
		{name: "no checks of operands", operation: "Mistakes", want: failed, detail: "accepted", backend: broken{
			matMul: func(_, _, _ *tensor.Tensor) error { return nil }}},
		{name: "never returns", operation: "Softmax", want: hung, backend: broken{
			softmax: func(*tensor.Tensor) error { <-forever; return nil }}},
	} {
		t.Run(f.name, func(t *testing.T) {
			f.backend.Backend = c
			timeout := time.Minute
			if f.want == hung {
				timeout = 50 * time.Millisecond
			}
			counts, results, err := verdicts(t, &f.backend, f.operation, f.exact, timeout)
			if counts[f.want] == 0 || f.all && counts[f.want] < len(results) {
				t.Fatalf("%v, want %s", counts, f.want)
			}
			if (err == nil) == f.want.bad() {
				t.Errorf("the error is %v", err)
			}
			for _, r := range results {
				if r.Verdict == f.want && !strings.Contains(r.Detail, f.detail) {
					t.Errorf("%s: %q does not tell %q", r.about(), r.Detail, f.detail)
				}
			}
		})
	}
}

// floating is a device that computes products and attention with the weights, keys and values as floats, as GPUs do, where
// the reference rounds activations to 8 bits: it is right.
type floating struct{ *reference }

func (f floating) MatMulTransposed(a, w, out *tensor.Tensor) error {
	return f.MatMulSlice(a, w, w.Shape().Dim(0), w.Shape().Dim(1), out)
}

func (f floating) MatMulSlice(a, w *tensor.Tensor, rows, cols int, out *tensor.Tensor) error {
	if _, _, _, err := backend.CheckMatMulSlice(a, w, rows, cols, out); err != nil {
		return err
	}
	x, y := decode(tensor.F32, a.Data()), decode(w.DType(), w.Data())
	for i := range a.Shape().Rows() {
		for j := range rows {
			poke(out, i*rows+j, float32(dot(x[i*cols:(i+1)*cols], y[j*w.Shape().Dim(1):][:cols])))
		}
	}
	return nil
}

func (f floating) attended(q, k *tensor.Tensor, n int) *attended {
	d := k.Shape()
	h := heads{q.Shape().NumElements() / q.Shape().Dim(-1) / q.Shape().Dim(-2), q.Shape().Dim(-2), d.Dim(1), d.Dim(2), n}
	return &attended{heads: h, dtype: k.DType(), q: decode(tensor.F32, q.Data()), k: decode(k.DType(), k.Data())}
}

func (f floating) AttentionGen(q, k, v, out *tensor.Tensor, n int) error {
	if _, err := backend.CheckAttention(q, k, v, out, n); err != nil {
		return err
	}
	a, vals := f.attended(q, k, n), decode(v.DType(), v.Data())
	a.each(func(query, kv int, p, _ []float64) {
		for e := range a.dim {
			sum := 0.0
			for j, weight := range p {
				sum += weight * float64(vals[(j*a.kvHeads+kv)*a.dim+e])
			}
			poke(out, query*a.dim+e, float32(sum))
		}
	})
	return nil
}

func (f floating) Weigh(q, k, sums *tensor.Tensor, n int) error {
	if _, err := backend.CheckWeigh(q, k, sums, n); err != nil {
		return err
	}
	width := sums.Shape().Dim(1)
	f.attended(q, k, n).each(func(_, kv int, p, _ []float64) {
		for j, weight := range p {
			poke(sums, kv*width+j, peek(sums, kv*width+j)+float32(weight))
		}
	})
	return nil
}

// TestOtherRoundingIsTolerated checks the tolerances with a device that is right but not the reference.
func TestOtherRoundingIsTolerated(t *testing.T) {
	for _, operation := range []string{"MatMulTransposed", "MatMulSlice", "NormMatMul", "MatMulAdd", "NormSwiGLU", "AttentionGen", "Attention", "Weigh", "Mistakes"} {
		t.Run(operation, func(t *testing.T) {
			_, results, _ := verdicts(t, floating{newReference()}, operation, false, time.Minute)
			worst := 0.0
			for _, r := range results {
				if r.Verdict != passed {
					t.Errorf("%s %s: %s %s", r.Type, r.about(), r.Verdict, r.Detail)
				}
				if r.Tolerance > 0 {
					worst = max(worst, float64(r.Relative)/r.Tolerance)
				}
			}
			t.Logf("at most %.2f of the tolerance", worst)
		})
	}
}

// hasty is a floating device that leaves out the last block of an inner product.
type hasty struct{ floating }

func (h hasty) MatMulTransposed(a, w, out *tensor.Tensor) error {
	if cols := w.Shape().Dim(1) - w.DType().BlockLen(); cols > 0 {
		less, err := h.CopyFrom(a)
		if err != nil {
			return err
		}
		defer less.Free()
		for row := range a.Shape().Rows() {
			for i := cols; i < w.Shape().Dim(1); i++ {
				poke(less, row*w.Shape().Dim(1)+i, 0)
			}
		}
		a = less
	}
	return h.floating.MatMulTransposed(a, w, out)
}

// TestABlockTooFewIsFound checks that the tolerances are not too wide: one block in up to 64 shows for every type of weight.
func TestABlockTooFewIsFound(t *testing.T) {
	_, results, err := verdicts(t, hasty{floating{newReference()}}, "MatMulTransposed", false, time.Minute)
	if err == nil {
		t.Error("no error")
	}
	for _, r := range results {
		if long := strings.Contains(r.Shape, " 2048]"); long && r.Verdict != wrong {
			t.Errorf("%s %s: %s", r.Type, r.about(), r.Verdict)
		}
	}
}

func TestJSON(t *testing.T) {
	out, err := program("-json", "-quick", "-op", "scale, Compact")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(out) {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if r.Verdict != passed || r.Shape == "" {
			t.Errorf("%s", line)
		}
		seen[r.Operation]++
	}
	if len(seen) != 2 || seen["Scale"] == 0 || seen["Compact"] == 0 {
		t.Errorf("checks of %v", seen)
	}
	if text, err := json.Marshal(number(math.Inf(1))); err != nil || string(text) != "null" {
		t.Errorf("infinity is %s, %v", text, err)
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	table := newTable(&out, false)
	for _, r := range []result{
		{check: check{Operation: "Scale", Type: "f32"}, Tolerance: 0.5, Verdict: passed},
		{check: check{Operation: "Scale", Type: "f16"}, Tolerance: 0.5, Verdict: passed},
		{check: check{Operation: "Scale", Type: "q4_0", Shape: "[3]", Input: "large", Prepared: true}, Verdict: wrong, Detail: "it is 5"},
		{check: check{Operation: "Scale", Type: "q4_0", Shape: "[4]", Input: "zeros"}, Verdict: failed, Detail: "log:\nline\n"},
		{check: check{Operation: "Scale", Type: "q4_0", Shape: "[5]", Input: "zeros"}, Verdict: failed, Detail: "log:\nline\n"},
		{check: check{Operation: "Scale", Type: "q4_0", Shape: "[6]", Input: "zeros"}, Verdict: failed, Detail: "log:\nline\n"},
		{check: check{Operation: "Scale", Type: "q8_0"}, Verdict: unsupported},
		{check: check{Operation: "Scale", Type: "bf16"}, Tolerance: 0.5, Verdict: passed},
		{check: check{Operation: "RoPE", Type: "f32"}, Verdict: passed},
	} {
		table.add(&r)
	}
	table.end(time.Second)
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"Scale 3 types 3 0 0 0.5 0.0 ms ok",
		"Scale q4_0 4 0 0 0 0.0 ms FAIL (4)",
		"wrong [3], large, prepared: it is 5",
		"error [4], zeros: log:",
		"line",
		"error [5], zeros: log: … (as above)",
		"and 1 more (-v shows all)",
		"Scale q8_0 1 0 0 0 0.0 ms unsupported",
		"RoPE f32 1 0 0 0 0.0 ms ok",
		"",
		"9 checks in 1.0 s: 1 unsupported, these fail",
		"Scale q4_0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table is\n%s", out.String())
	}
}

func TestCommandLine(t *testing.T) {
	if out, err := program("-list"); err != nil || !strings.Contains(out, "cpu ") || !strings.Contains(out, "opencl ") {
		t.Errorf("the list is %q, %v", out, err)
	}
	if _, err := program("-h"); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	var usage *cli.UsageError
	for _, args := range [][]string{{"-op", "MatMul,Divide"}, {"-timeout", "-1s"}, {"word"}} {
		if _, err := program(args...); !errors.As(err, &usage) {
			t.Errorf("%v: %v, want a usage error", args, err)
		}
	}
	if _, err := program("-backend", "abacus"); err == nil || !strings.Contains(err.Error(), "cpu") {
		t.Errorf("an unknown backend: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, []string{"-quick"}, nil, new(bytes.Buffer), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
