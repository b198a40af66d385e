package backendtest

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestEveryOperationIsChecked holds the list of checks against the contract.
func TestEveryOperationIsChecked(t *testing.T) {
	checked := operations()
	for _, want := range []string{
		"MatMul", "MatMulTransposed", "AddAssign", "Scale", "SiLUMul", "GELUMul", "GELUErf", "Softcap", "LayerNorm", "RMSNorm", "Softmax", "RoPE",
		"MulAssign", "SigmoidMul", "Softplus", "Convolve", "Recur", "Gather", "CopySlice", "ReadBuffer", "Cast", "NormMatMul", "MatMulAdd", "NormSwiGLU", "Project", "ProjectAdd", "Largest", "Mask",
		"RoPEStore", "Attend", "AttendTexts", "AccumulateAttention", "Compact", "CopyPage", "ReadSlots", "WriteSlots",
	} {
		if !slices.Contains(checked, want) {
			t.Errorf("%s is not checked", want)
		}
	}
	names := map[string]bool{}
	for _, c := range Checks(false) {
		name := c.String()
		if names[name] {
			t.Errorf("two checks are %s", name)
		}
		names[name] = true
	}
}

// operations lists the operations that are checked, each once.
func operations() (names []string) {
	for _, c := range Checks(true) {
		if !slices.Contains(names, c.Operation) {
			names = append(names, c.Operation)
		}
	}
	return names
}

// broken is the CPU with one operation replaced.
type broken struct {
	*cpu.Backend
	scale     func(x *tensor.Tensor, v float32) error
	softmax   func(x *tensor.Tensor) error
	addAssign func(a, b *tensor.Tensor) error
	matMul    func(a, b, out *tensor.Tensor) error
	gather    func(table *tensor.Tensor, indices []int32, out *tensor.Tensor) error
	attend    func(q, out *tensor.Tensor, runs []backend.Run) error
	compact   func(s *backend.Slots, keep [][]int32) error
	ropeStore func(q, k, v, table *tensor.Tensor, runs []backend.Run) error
}

func (b *broken) Attend(q, out *tensor.Tensor, runs []backend.Run) error {
	if b.attend != nil {
		return b.attend(q, out, runs)
	}
	return b.Backend.Attend(q, out, runs)
}

func (b *broken) Compact(s *backend.Slots, keep [][]int32) error {
	if b.compact != nil {
		return b.compact(s, keep)
	}
	return b.Backend.Compact(s, keep)
}

func (b *broken) RoPEStore(q, k, v, table *tensor.Tensor, runs []backend.Run) error {
	if b.ropeStore != nil {
		return b.ropeStore(q, k, v, table, runs)
	}
	return b.Backend.RoPEStore(q, k, v, table, runs)
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

// poke writes a float at an index of a tensor's buffer, counted from the tensor's first element.
func poke(x *tensor.Tensor, i int, v float32) {
	copy(x.Buffer().Bytes()[x.Offset()+4*i:], encode(tensor.F32, []float32{v}))
}

func peek(x *tensor.Tensor, i int) float32 { return valuesOf(x)[i] }

// valuesOf returns the values of a tensor, which it keeps reachable until all are read.
func valuesOf(x *tensor.Tensor) []float32 {
	defer runtime.KeepAlive(x)
	return decode(x.DType(), x.Data())
}

// verdicts runs the quick checks of an operation, up to one that hangs or has the last verdict that is wanted.
func verdicts(t *testing.T, b backend.Backend, operation string, exact bool, timeout time.Duration, last Verdict) (map[Verdict]int, []*Result) {
	t.Helper()
	s := &Suite{Backend: b, Exact: exact, Seed: 1, Timeout: timeout}
	counts, results := map[Verdict]int{}, []*Result(nil)
	for _, c := range Checks(true) {
		if c.Operation != operation {
			continue
		}
		r, err := s.Do(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		counts[r.Verdict]++
		results = append(results, r)
		if s.Stuck() || r.Verdict == last {
			break
		}
	}
	return counts, results
}

func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	c := cpu.New(1)
	defer c.Close()
	forever := make(chan struct{})
	defer close(forever)
	for _, f := range []struct {
		name, operation string
		exact           bool
		backend         broken
		want            Verdict
		all             bool // in each check
		detail          string
	}{
		{name: "one bit", operation: "Scale", exact: true, want: Wrong, detail: "is", backend: broken{
			scale: func(x *tensor.Tensor, v float32) error {
				err := c.Scale(x, v)
				poke(x, 0, math.Float32frombits(math.Float32bits(peek(x, 0))^1))
				return err
			}}, all: true},
		{name: "an error of 0.1 %", operation: "Scale", want: Wrong, detail: "is", backend: broken{
			scale: func(x *tensor.Tensor, v float32) error { return c.Scale(x, v*1.001) }}},
		{name: "nothing is done", operation: "MatMul", want: Wrong, all: true, detail: "out[0 0] is NaN", backend: broken{
			matMul: func(_, _, _ *tensor.Tensor) error { return nil }}},
		{name: "NaN", operation: "Softmax", want: Wrong, all: true, detail: "NaN", backend: broken{
			softmax: func(x *tensor.Tensor) error {
				err := c.Softmax(x)
				poke(x, x.Shape().NumElements()-1, float32(math.NaN()))
				return err
			}}},
		{name: "an error", operation: "Softmax", want: Failed, all: true, detail: "out of breath", backend: broken{
			softmax: func(*tensor.Tensor) error { return errors.New("out of breath") }}},
		{name: "unsupported", operation: "Softmax", want: Unsupported, all: true, detail: "not supported", backend: broken{
			softmax: func(*tensor.Tensor) error { return fmt.Errorf("softmax: %w", backend.ErrUnsupported) }}},
		{name: "prepared in vain", operation: "Gather", want: Failed, detail: "could be prepared", backend: broken{
			gather: func(*tensor.Tensor, []int32, *tensor.Tensor) error { return backend.ErrUnsupported }}},
		{name: "a panic", operation: "Softmax", want: Panicked, all: true, detail: "index out of range", backend: broken{
			softmax: func(x *tensor.Tensor) error { _ = x.Data()[1<<30+len(x.Data())]; return nil }}},
		{name: "before its output", operation: "AddAssign", want: Overwrote, all: true, detail: "before", backend: broken{
			addAssign: func(x, y *tensor.Tensor) error { poke(x, -1, 1); return c.AddAssign(x, y) }}},
		{name: "after its output", operation: "AddAssign", want: Overwrote, all: true, detail: "after", backend: broken{
			addAssign: func(x, y *tensor.Tensor) error { poke(x, x.Shape().NumElements(), 1); return c.AddAssign(x, y) }}},
		{name: "its input", operation: "MatMul", want: Overwrote, all: true, detail: "changed its input a", backend: broken{
			matMul: func(x, y, out *tensor.Tensor) error { err := c.MatMul(x, y, out); poke(x, 0, 55); return err }}},
		{name: "a slot too few", operation: "Attend", want: Wrong, backend: broken{
			attend: func(q, out *tensor.Tensor, runs []backend.Run) error {
				for i := range runs[0].Slots.Heads {
					h := &runs[0].Slots.Heads[i]
					h.Len = max(h.Len-1, runs[0].Tokens)
				}
				return c.Attend(q, out, runs)
			}}},
		{name: "a slot too many of a head", operation: "Attend", want: Wrong, backend: broken{
			attend: func(q, out *tensor.Tensor, runs []backend.Run) error {
				h := &runs[len(runs)-1].Slots.Heads[0]
				h.Len = min(h.Len+1, len(h.Pages)*backend.PageSlots)
				return c.Attend(q, out, runs)
			}}},
		{name: "the first run alone", operation: "Attend", want: Failed, detail: "rows", backend: broken{
			attend: func(q, out *tensor.Tensor, runs []backend.Run) error { return c.Attend(q, out, runs[:1]) }}},
		{name: "one list for all heads", operation: "Compact", exact: true, want: Failed, detail: "in range", backend: broken{
			compact: func(s *backend.Slots, keep [][]int32) error {
				return c.Compact(s, slices.Repeat(keep[:1], len(keep)))
			}}},
		{name: "a slot of another token", operation: "RoPEStore", want: Wrong, backend: broken{
			ropeStore: func(q, k, v, table *tensor.Tensor, runs []backend.Run) error {
				h := &runs[0].Slots.Heads[0]
				if h.Len == runs[0].Tokens {
					return c.RoPEStore(q, k, v, table, runs)
				}
				h.Len--
				defer func() { h.Len++ }()
				return c.RoPEStore(q, k, v, table, runs)
			}}},
		{name: "a page of someone else's", operation: "RoPEStore", want: Failed, detail: errSpare.Error(), backend: broken{
			ropeStore: func(q, k, v, table *tensor.Tensor, runs []backend.Run) error {
				slab := runs[0].Slots.Heads[0].Pages[0].Slab
				for i := range slab.Data() {
					slab.Data()[i] ^= 1
				}
				return c.RoPEStore(q, k, v, table, runs)
			}}},
		{name: "no checks of operands", operation: "Mistakes", want: Failed, detail: "accepted", backend: broken{
			matMul: func(_, _, _ *tensor.Tensor) error { return nil }}},
		{name: "never returns", operation: "Softmax", want: Hung, backend: broken{
			softmax: func(*tensor.Tensor) error { <-forever; return nil }}},
	} {
		t.Run(f.name, func(t *testing.T) {
			f.backend.Backend = c
			timeout := time.Minute
			if f.want == Hung {
				timeout = 50 * time.Millisecond
			}
			last := f.want
			if f.all {
				last = ""
			}
			counts, results := verdicts(t, &f.backend, f.operation, f.exact, timeout, last)
			if counts[f.want] == 0 || f.all && counts[f.want] < len(results) {
				t.Fatalf("%v, want %s", counts, f.want)
			}
			for _, r := range results {
				if r.Verdict == f.want && !strings.Contains(r.Detail, f.detail) {
					t.Errorf("%v: %q does not tell %q", r.Check, r.Detail, f.detail)
				}
			}
		})
	}
}

// floating is a device that computes products and attention with the weights, keys and values as floats, as GPUs do, where
// the reference rounds activations to 8 bits: it is right.
type floating struct{ *host.Reference }

func (f floating) MatMulTransposed(a, w, out *tensor.Tensor) error {
	m, n, k, err := backend.CheckMatMulTransposed(a, w, out)
	if err != nil {
		return err
	}
	x, y := valuesOf(a), valuesOf(w)
	for i := range m {
		for j := range n {
			poke(out, i*n+j, float32(dot(x[i*k:(i+1)*k], y[j*k:][:k])))
		}
	}
	return nil
}

// attend calls out for each element of the attention of some rows to keys and values as floats.
func (a *attended) attend(out func(i int, v float32)) {
	a.each(func(query, kv int, p, _ []float64) {
		for e := range a.dim {
			sum := 0.0
			for j, weight := range p {
				sum += weight * float64(a.row(a.v, kv, j)[e])
			}
			out(query*a.dim+e, float32(sum))
		}
	})
}

// attended reads what a run attends to with rows of queries [tokens, heads, dim] from the given one on.
func (f floating) attended(q *tensor.Tensor, row int, r backend.Run) (*attended, error) {
	s, d := r.Slots, q.Shape()
	a := &attended{heads: heads{r.Tokens, d.Dim(1), len(s.Heads), s.HeadDim}, dtype: s.DType, also: also{window: s.Window, limit: s.Cap}}
	if s.Sinks != nil {
		a.sinks = valuesOf(s.Sinks)
	}
	a.q = valuesOf(q)[row*d.Dim(1)*d.Dim(2):]
	for head := range s.Heads {
		n := s.Heads[head].Len
		a.first, a.used = append(a.first, len(a.k)/s.HeadDim), append(a.used, n)
		k, err := tensor.New(nil, tensor.F32, tensor.ShapeOf(n, s.HeadDim))
		if err != nil {
			return nil, err
		}
		v, err := tensor.New(nil, tensor.F32, k.Shape())
		if err != nil {
			return nil, err
		}
		if err := f.ReadSlots(s, head, 0, k, v); err != nil {
			return nil, err
		}
		a.k, a.v = append(a.k, valuesOf(k)...), append(a.v, valuesOf(v)...)
	}
	return a, nil
}

func (f floating) Attend(q, out *tensor.Tensor, runs []backend.Run) error {
	d, err := backend.CheckAttend(q, out, runs)
	if err != nil {
		return err
	}
	row := 0
	for _, r := range runs {
		a, err := f.attended(q, row, r)
		if err != nil {
			return err
		}
		a.attend(func(i int, v float32) { poke(out, row*d.Heads*d.HeadDim+i, v) })
		row += r.Tokens
	}
	return nil
}

func (f floating) AccumulateAttention(q, sums *tensor.Tensor, run backend.Run) error {
	if _, err := backend.CheckAccumulateAttention(q, sums, run); err != nil {
		return err
	}
	a, err := f.attended(q, 0, run)
	if err != nil {
		return err
	}
	width := sums.Shape().Dim(1)
	a.each(func(_, kv int, p, _ []float64) {
		for j, weight := range p {
			poke(sums, kv*width+j, peek(sums, kv*width+j)+float32(weight))
		}
	})
	return nil
}

// TestOtherRoundingIsTolerated checks the tolerances with a device that is right but not the reference.
func TestOtherRoundingIsTolerated(t *testing.T) {
	for _, operation := range []string{"MatMulTransposed", "NormMatMul", "MatMulAdd", "NormSwiGLU", "Project", "ProjectAdd", "Attend", "AccumulateAttention", "Mistakes"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			_, results := verdicts(t, floating{host.NewReference()}, operation, false, time.Minute, "")
			worst := 0.0
			for _, r := range results {
				if r.Verdict != Passed {
					t.Errorf("%v: %s %s", r.Check, r.Verdict, r.Detail)
				}
				if r.Tolerance > 0 {
					worst = max(worst, r.Relative/r.Tolerance)
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
	t.Parallel()
	_, results := verdicts(t, hasty{floating{host.NewReference()}}, "MatMulTransposed", false, time.Minute, "")
	for _, r := range results {
		if long := strings.Contains(r.Shape, " 2048]"); long && r.Verdict != Wrong {
			t.Errorf("%v: %s", r.Check, r.Verdict)
		}
	}
}
