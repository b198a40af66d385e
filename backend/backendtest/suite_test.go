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
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestEveryOperationIsChecked holds the list of checks against the contract.
func TestEveryOperationIsChecked(t *testing.T) {
	checked := operations()
	for _, want := range []string{
		"MatMul", "MatMulTransposed", "MatMulRounded", "AddAssign", "Scale", "SiLUMul", "GELUMul", "GELUErf", "ReLUSquared", "XIELU", "AddScaled", "MatchMagnitude", "CutOff", "Softcap", "LayerNorm", "RMSNorm", "Softmax", "RoPE",
		"MulAssign", "SigmoidMul", "Softplus", "Convolve", "Recur", "Gather", "CopySlice", "ReadBuffer", "Cast", "NormMatMul", "MatMulAdd", "NormSwiGLU", "Project", "Largest", "Mask",
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
	replaced func(op backend.Op) (mine bool, err error)
}

func (b *broken) Run(ops ...backend.Op) error {
	for i, op := range ops {
		mine, err := b.replaced(op)
		if !mine {
			err = b.Backend.Run(ops[i : i+1]...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// instead replaces the operations of a type.
func instead[P backend.Op](compute func(o P) error) func(op backend.Op) (bool, error) {
	return func(op backend.Op) (bool, error) {
		if o, ok := op.(P); ok {
			return true, compute(o)
		}
		return false, nil
	}
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
	effort.Turn(t, 8)
	t.Parallel()
	c := cpu.New(1)
	defer c.Close()
	forever := make(chan struct{})
	defer close(forever)
	for _, f := range []struct {
		name, operation string
		exact           bool
		replaced        func(op backend.Op) (bool, error)
		want            Verdict
		all             bool // in each check
		detail          string
	}{
		{name: "one bit", operation: "Scale", exact: true, want: Wrong, detail: "is", all: true, replaced: instead(func(o *backend.Scale) error {
			err := c.Run(o)
			poke(o.X, 0, math.Float32frombits(math.Float32bits(peek(o.X, 0))^1))
			return err
		})},
		{name: "an error of 0.1 %", operation: "Scale", want: Wrong, detail: "is", replaced: instead(func(o *backend.Scale) error {
			return c.Run(&backend.Scale{X: o.X, By: o.By * 1.001})
		})},
		{name: "nothing is done", operation: "MatMul", want: Wrong, all: true, detail: "out[0 0] is NaN", replaced: instead(func(*backend.MatMul) error { return nil })},
		{name: "NaN", operation: "Softmax", want: Wrong, all: true, detail: "NaN", replaced: instead(func(o *backend.Softmax) error {
			err := c.Run(o)
			poke(o.X, o.X.Shape().NumElements()-1, float32(math.NaN()))
			return err
		})},
		{name: "an error", operation: "Softmax", want: Failed, all: true, detail: "out of breath", replaced: instead(func(*backend.Softmax) error {
			return errors.New("out of breath")
		})},
		{name: "unsupported", operation: "Softmax", want: Unsupported, all: true, detail: "not supported", replaced: instead(func(*backend.Softmax) error {
			return fmt.Errorf("softmax: %w", backend.ErrUnsupported)
		})},
		{name: "prepared in vain", operation: "Gather", want: Failed, detail: "could be prepared", replaced: instead(func(*backend.Gather) error {
			return backend.ErrUnsupported
		})},
		{name: "a panic", operation: "Softmax", want: Panicked, all: true, detail: "index out of range", replaced: instead(func(o *backend.Softmax) error {
			_ = o.X.Data()[1<<30+len(o.X.Data())]
			return nil
		})},
		{name: "before its output", operation: "AddAssign", want: Overwrote, all: true, detail: "before", replaced: instead(func(o *backend.AddAssign) error {
			poke(o.A, -1, 1)
			return c.Run(o)
		})},
		{name: "after its output", operation: "AddAssign", want: Overwrote, all: true, detail: "after", replaced: instead(func(o *backend.AddAssign) error {
			poke(o.A, o.A.Shape().NumElements(), 1)
			return c.Run(o)
		})},
		{name: "its input", operation: "MatMul", want: Overwrote, all: true, detail: "changed its input a", replaced: instead(func(o *backend.MatMul) error {
			err := c.Run(o)
			poke(o.A, 0, 55)
			return err
		})},
		{name: "a slot too few", operation: "Attend", want: Wrong, replaced: instead(func(o *backend.Attend) error {
			for i := range o.Runs[0].Slots.Heads {
				h := &o.Runs[0].Slots.Heads[i]
				h.Len = max(h.Len-1, o.Runs[0].Tokens)
			}
			return c.Run(o)
		})},
		{name: "a slot too many of a head", operation: "Attend", want: Wrong, replaced: instead(func(o *backend.Attend) error {
			h := &o.Runs[len(o.Runs)-1].Slots.Heads[0]
			h.Len = min(h.Len+1, len(h.Pages)*backend.PageSlots)
			return c.Run(o)
		})},
		{name: "the first run alone", operation: "Attend", want: Failed, detail: "rows", replaced: instead(func(o *backend.Attend) error {
			return c.Run(&backend.Attend{Q: o.Q, Out: o.Out, Runs: o.Runs[:1]})
		})},
		{name: "one list for all heads", operation: "Compact", exact: true, want: Failed, detail: "in range", replaced: instead(func(o *backend.Compact) error {
			return c.Run(&backend.Compact{Slots: o.Slots, Keep: slices.Repeat(o.Keep[:1], len(o.Keep))})
		})},
		{name: "a slot of another token", operation: "RoPEStore", want: Wrong, replaced: instead(func(o *backend.RoPEStore) error {
			h := &o.Runs[0].Slots.Heads[0]
			if h.Len == o.Runs[0].Tokens {
				return c.Run(o)
			}
			h.Len--
			defer func() { h.Len++ }()
			return c.Run(o)
		})},
		{name: "a page of someone else's", operation: "RoPEStore", want: Failed, detail: errSpare.Error(), replaced: instead(func(o *backend.RoPEStore) error {
			slab := o.Runs[0].Slots.Heads[0].Pages[0].Slab
			for i := range slab.Data() {
				slab.Data()[i] ^= 1
			}
			return c.Run(o)
		})},
		{name: "no checks of operands", operation: "Mistakes", want: Failed, detail: "accepted", replaced: instead(func(*backend.MatMul) error { return nil })},
		{name: "never returns", operation: "Softmax", want: Hung, replaced: instead(func(*backend.Softmax) error {
			<-forever
			return nil
		})},
	} {
		t.Run(f.name, func(t *testing.T) {
			b := &broken{c, f.replaced}
			timeout := time.Minute
			if f.want == Hung {
				timeout = 50 * time.Millisecond
			}
			last := f.want
			if f.all {
				last = ""
			}
			counts, results := verdicts(t, b, f.operation, f.exact, timeout, last)
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

func (f floating) Run(ops ...backend.Op) error { return backend.Each(ops, f.compute) }

func (f floating) compute(op backend.Op) error {
	switch o := op.(type) {
	case *backend.MatMulTransposed:
		f.multiply(o)
		return nil
	case *backend.Attend:
		return f.attend(o)
	case *backend.AccumulateAttention:
		return f.accumulate(o)
	}
	return f.Compute(op)
}

func (f floating) multiply(o *backend.MatMulTransposed) {
	m, n, k := o.Dims()
	x, y := valuesOf(o.X), valuesOf(o.W)
	for i := range m {
		for j := range n {
			poke(o.Out, i*n+j, float32(dot(x[i*k:(i+1)*k], y[j*k:][:k])))
		}
	}
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
	a := &attended{heads: heads{r.Tokens, d.Dim(1), len(s.Heads), s.HeadDim}, dtype: s.DType, also: also{window: s.Window, limit: s.Cap, together: r.Together, whole: r.Whole}}
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
		if err := f.Reference.Run(&backend.ReadSlots{Slots: s, Head: head, Keys: k, Values: v}); err != nil {
			return nil, err
		}
		a.k, a.v = append(a.k, valuesOf(k)...), append(a.v, valuesOf(v)...)
	}
	return a, nil
}

func (f floating) attend(o *backend.Attend) error {
	d, row := o.Dims(), 0
	for _, r := range o.Runs {
		a, err := f.attended(o.Q, row, r)
		if err != nil {
			return err
		}
		a.attend(func(i int, v float32) { poke(o.Out, row*d.Heads*d.HeadDim+i, v) })
		row += r.Tokens
	}
	return nil
}

func (f floating) accumulate(o *backend.AccumulateAttention) error {
	a, err := f.attended(o.Q, 0, o.Run)
	if err != nil {
		return err
	}
	width := o.Sums.Shape().Dim(1)
	a.each(func(_, kv int, p, _ []float64) {
		for j, weight := range p {
			poke(o.Sums, kv*width+j, peek(o.Sums, kv*width+j)+float32(weight))
		}
	})
	return nil
}

// TestOtherRoundingIsTolerated checks the tolerances with a device that is right but not the reference.
func TestOtherRoundingIsTolerated(t *testing.T) {
	for i, operation := range []string{"MatMulTransposed", "NormMatMul", "MatMulAdd", "NormSwiGLU", "Project", "Attend", "AccumulateAttention", "Mistakes"} {
		if !effort.Share(i, 8) {
			continue
		}
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

func (h hasty) Run(ops ...backend.Op) error {
	return backend.Each(ops, func(op backend.Op) error {
		o, ok := op.(*backend.MatMulTransposed)
		if !ok {
			return h.compute(op)
		}
		_, _, k := o.Dims()
		if cols := k - o.W.DType().BlockLen(); cols > 0 {
			less, err := h.CopyFrom(o.X)
			if err != nil {
				return err
			}
			defer less.Free()
			for row := range o.X.Shape().Rows() {
				for i := cols; i < k; i++ {
					poke(less, row*k+i, 0)
				}
			}
			o = &backend.MatMulTransposed{X: less, W: o.W, Out: o.Out}
		}
		h.multiply(o)
		return nil
	})
}

// TestABlockTooFewIsFound checks that the tolerances are not too wide: one block in up to 64 shows for every type of weight.
func TestABlockTooFewIsFound(t *testing.T) {
	effort.Turn(t, 8)
	t.Parallel()
	_, results := verdicts(t, hasty{floating{host.NewReference()}}, "MatMulTransposed", false, time.Minute, "")
	for _, r := range results {
		if long := strings.Contains(r.Shape, " 2048]"); long && r.Verdict != Wrong {
			t.Errorf("%v: %s", r.Check, r.Verdict)
		}
	}
}
