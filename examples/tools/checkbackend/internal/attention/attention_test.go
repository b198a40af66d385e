package attention

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	_ "github.com/antigravity-go/antigravity/backend/cpu" // registers "cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/tensor"
)

// small is a shape that takes little time and has more than one page, more than one query of a head, and more than one conversation.
var small = shape{heads: 4, kvHeads: 2, dim: 32, slots: 200, queries: 5}

// faulty computes as the reference does, but for what a test replaces.
type faulty struct {
	*host.Reference
	attend func(r *host.Reference, q, out *tensor.Tensor, runs []backend.Run) error
	store  func(r *host.Reference, q, k, v, table *tensor.Tensor, runs []backend.Run) error
}

func (f *faulty) Run(ops ...backend.Op) error {
	return backend.Each(ops, func(op backend.Op) error {
		switch o := op.(type) {
		case *backend.Attend:
			if f.attend != nil {
				return f.attend(f.Reference, o.Q, o.Out, o.Runs)
			}
		case *backend.RoPEStore:
			if f.store != nil {
				return f.store(f.Reference, o.Q, o.K, o.V, o.Table, o.Runs)
			}
		}
		return f.Compute(op)
	})
}

func floatsOf(t *testing.T, x *tensor.Tensor) []float32 {
	t.Helper()
	f, err := tensor.Mut[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// situationNamed returns one of the situations.
func situationNamed(t *testing.T, name string) []situation {
	t.Helper()
	list, err := situationsOf(name)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// examineOne looks at one backend, and returns its results by their steps.
func examineOne(t *testing.T, b backend.Backend, exact bool, e examination) map[string]*result {
	t.Helper()
	e.backends = []named{{"tested", exact, b}}
	found := map[string]*result{}
	if err := e.do(t.Context(), func(r *result) {
		if r.backend == "tested" {
			found[r.step.name] = r
		} else if r.verdict.bad() {
			t.Errorf("the reference: %v %s %s is %s: %v %+v", r.dtype, r.situation, r.step.name, r.verdict, r.err, r.definition)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestPlantedFaultsAreNamed plants a fault, and wants the step that is at fault and the place of its first difference.
func TestPlantedFaultsAreNamed(t *testing.T) {
	last := small.slots - 1
	for _, c := range []struct {
		name      string
		situation string
		fault     faulty
		good      []string // steps that must not be affected
		bad       string   // the step to look at
		first     []int    // its first difference; nil: any
		worst     func(at []int) bool
	}{
		{"one wrong element of the output", "prompt", faulty{attend: func(r *host.Reference, q, out *tensor.Tensor, runs []backend.Run) error {
			err := r.Run(&backend.Attend{Q: q, Out: out, Runs: runs})
			if x := floatsOf(t, out); q.Shape().Dim(0) == small.queries {
				x[(3*small.heads+1)*small.dim+5] += 0.25
			}
			return err
		}}, []string{"queries", "keys", "values", "sums", "pages"}, "output", []int{3, 1, 5}, nil},
		{"sines of the wrong sign", "prompt", faulty{store: func(r *host.Reference, q, k, v, table *tensor.Tensor, runs []backend.Run) error {
			x := floatsOf(t, table)
			for i := range x {
				if i%small.dim >= small.dim/2 {
					x[i] = -x[i]
				}
			}
			return r.Run(&backend.RoPEStore{Q: q, K: k, V: v, Table: table, Runs: runs})
		}}, []string{"values", "weights", "output"}, "queries", []int{0, 0, 0}, nil},
		{"keys not rotated", "token", faulty{store: func(r *host.Reference, q, k, v, table *tensor.Tensor, runs []backend.Run) error {
			if err := r.Run(&backend.RoPE{X: q, Table: table}); err != nil {
				return err
			}
			return r.Run(&backend.RoPEStore{K: k, V: v, Runs: runs})
		}}, []string{"queries", "values", "weights", "output"}, "keys", []int{0, 0, last, 0}, nil},
		{"the first slot of the second page is that of the first", "prompt", faulty{store: func(r *host.Reference, q, k, v, table *tensor.Tensor, runs []backend.Run) error {
			if err := r.Run(&backend.RoPEStore{Q: q, K: k, V: v, Table: table, Runs: runs}); err != nil {
				return err
			}
			s := runs[0].Slots
			one, err := tensor.New(r, s.DType, tensor.ShapeOf(1, s.HeadDim))
			if err != nil {
				return err
			}
			if err := r.Run(&backend.ReadSlots{Slots: s, Head: 1, First: 0, Values: one}); err != nil {
				return err
			}
			return r.Run(&backend.WriteSlots{Slots: s, Head: 1, First: backend.PageSlots, Values: one})
		}}, []string{"queries", "keys", "weights", "output"}, "values", []int{0, 1, backend.PageSlots, 0}, nil},
		{"the second page is read from the first", "token", faulty{attend: func(r *host.Reference, q, out *tensor.Tensor, runs []backend.Run) error {
			wrong := *runs[0].Slots
			wrong.Heads = slices.Clone(wrong.Heads)
			for h := range wrong.Heads {
				pages := slices.Clone(wrong.Heads[h].Pages)
				pages[1] = pages[0]
				wrong.Heads[h].Pages = pages
			}
			return r.Run(&backend.Attend{Q: q, Out: out, Runs: []backend.Run{{Tokens: runs[0].Tokens, Slots: &wrong}}})
		}}, []string{"queries", "keys", "values", "sums"}, "pages", []int{0, small.slots, 0, 0}, nil},
		{"the second page's keys are the first's", "token", faulty{attend: func(r *host.Reference, q, out *tensor.Tensor, runs []backend.Run) error {
			s := runs[0].Slots
			for h := range s.Heads {
				n := s.Heads[h].Len - backend.PageSlots
				if n <= 0 {
					continue
				}
				keys, err := tensor.New(r, s.DType, tensor.ShapeOf(n, s.HeadDim))
				if err != nil {
					return err
				}
				if err := errors.Join(r.Run(&backend.ReadSlots{Slots: s, Head: h, First: 0, Keys: keys}), r.Run(&backend.WriteSlots{Slots: s, Head: h, First: backend.PageSlots, Keys: keys})); err != nil {
					return err
				}
			}
			return r.Run(&backend.Attend{Q: q, Out: out, Runs: runs})
		}}, []string{"queries", "keys", "values"}, "scores", nil, func(at []int) bool { return at[2] >= backend.PageSlots }},
		{"a scale of 1.1/√d", "prompt", faulty{attend: func(r *host.Reference, q, out *tensor.Tensor, runs []backend.Run) error {
			if err := r.Run(&backend.Scale{X: q, By: 1.1}); err != nil {
				return err
			}
			return r.Run(&backend.Attend{Q: q, Out: out, Runs: runs})
		}}, []string{"queries", "keys", "values", "sums"}, "scores", nil, nil},
		{"the last slot is not seen", "token", faulty{attend: func(r *host.Reference, q, out *tensor.Tensor, runs []backend.Run) error {
			short := *runs[0].Slots
			short.Heads = slices.Clone(short.Heads)
			for h := range short.Heads {
				short.Heads[h].Len = max(short.Heads[h].Len-1, 1)
			}
			return r.Run(&backend.Attend{Q: q, Out: out, Runs: []backend.Run{{Tokens: runs[0].Tokens, Slots: &short}}})
		}}, []string{"queries", "keys", "values"}, "scores", nil, func(at []int) bool { return at[2] == last }},
		{"the output is written before the queries are waited for", "prompt", faulty{attend: func(r *host.Reference, q, out *tensor.Tensor, runs []backend.Run) error {
			if err := r.Run(&backend.Attend{Q: q, Out: out, Runs: runs}); err != nil {
				return err
			}
			floatsOf(t, out)[0] = float32(math.NaN())
			return nil
		}}, []string{"queries", "sums"}, "output", []int{0, 0, 0}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.fault.Reference = host.NewReference()
			found := examineOne(t, &c.fault, true, examination{
				shape: small, situations: situationNamed(t, c.situation), types: []tensor.DType{tensor.F16}, seed: 1,
			})
			for _, name := range c.good {
				if r := found[name]; r.verdict.bad() {
					t.Errorf("%s is %s, and is not at fault: %v %s", name, r.verdict, r.err, r.reference.first.text(r.step.places))
				}
			}
			r := found[c.bad]
			if r.verdict != differs {
				t.Fatalf("%s is %s", c.bad, r.verdict)
			}
			if p, with, _ := r.fault(); with != "the reference" || c.first != nil && !slices.Equal(p.at, c.first) {
				t.Errorf("%s differs from %s first at %v, and should at %v", c.bad, with, p.at, c.first)
			}
			if c.worst != nil && !c.worst(r.reference.worst.at) {
				t.Errorf("%s differs most at %v", c.bad, r.reference.worst.at)
			}
			if found["whole"].verdict != differs {
				t.Errorf("whole is %s", found["whole"].verdict)
			}
		})
	}
}

// TestOthersMayRound holds a backend that promises no bits to the tolerance.
func TestOthersMayRound(t *testing.T) {
	for _, c := range []struct {
		by        float32
		tolerance float64
		want      verdict
	}{{1, 0, equal}, {1 + 1e-5, 0, close}, {1.05, 0, differs}, {1 + 1e-5, 1e-7, differs}} {
		b := &faulty{Reference: host.NewReference(), attend: func(r *host.Reference, q, out *tensor.Tensor, runs []backend.Run) error {
			return errors.Join(r.Run(&backend.Attend{Q: q, Out: out, Runs: runs}), r.Run(&backend.Scale{X: out, By: c.by}))
		}}
		e := examination{shape: small, situations: situationNamed(t, "token"), types: []tensor.DType{tensor.F32}, seed: 1, tolerance: c.tolerance,
			backends: []named{{"tested", false, b}}}
		if err := e.do(t.Context(), func(r *result) {
			if r.backend == "tested" && r.step.name == "output" && r.verdict != c.want {
				t.Errorf("times %v with a tolerance of %v is %s, not %s", c.by, c.tolerance, r.verdict, c.want)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestErrorsAreResults lets an operation fail.
func TestErrorsAreResults(t *testing.T) {
	fault := &backendtest.Fault{Err: errors.New("the driver has gone"), In: []string{"Attend"}}
	fault.Arm(0)
	d := backendtest.NewDevice(host.NewReference(), fault.Before)
	found := examineOne(t, d, true, examination{shape: small, situations: situationNamed(t, "token"), types: []tensor.DType{tensor.F32}, seed: 1})
	for name, want := range map[string]verdict{"keys": equal, "sums": equal, "weights": failed, "output": failed, "whole": failed} {
		if r := found[name]; r.verdict != want {
			t.Errorf("%s is %s, not %s: %v", name, r.verdict, want, r.err)
		}
	}
}

// TestBackendsGiveTheReferencesBits runs the program on all situations and types.
func TestBackendsGiveTheReferencesBits(t *testing.T) {
	var out, progress bytes.Buffer
	args := strings.Fields("-heads 4 -head-dim 32 -slots 140 -queries 4 -backend cpu -json")
	if err := Run(t.Context(), args, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if r.Verdict != equal && r.Verdict != absent || r.Verdict == equal && r.Values == 0 {
			t.Errorf("%+v", r)
		}
		seen[r.Backend+" "+r.Cache+" "+r.Situation+" "+r.Step] = true
	}
	if want := 2 * len(cacheTypes) * len(situations) * len(steps); len(seen) != want {
		t.Errorf("%d results, not %d", len(seen), want)
	}
}

// TestTables looks at what a person sees.
func TestTables(t *testing.T) {
	e := examination{shape: small, situations: situationNamed(t, "prompt"), types: []tensor.DType{tensor.F32, tensor.Q4_0}, seed: 1}
	e.backends = []named{{"tested", true, &faulty{Reference: host.NewReference(), attend: func(r *host.Reference, q, out *tensor.Tensor, runs []backend.Run) error {
		err := r.Run(&backend.Attend{Q: q, Out: out, Runs: runs})
		if q.Shape().Dim(0) == small.queries && runs[0].Slots.DType == tensor.Q4_0 {
			floatsOf(t, out)[(2*small.heads+3)*small.dim+7] *= -1
		}
		return err
	}}}}
	var b bytes.Buffer
	r := &report{w: &b, verbose: true}
	if err := e.do(t.Context(), r.add); err != nil {
		t.Fatal(err)
	}
	if err := r.print(&e); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"output", "equal  DIFFERENT", "tested, q4_0 cache, prompt, step output: weights times values (Attend)", "first    query 2, head 3, dim 7: got ",
		"around the first, from dim 5 on",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

func TestTime(t *testing.T) {
	var out bytes.Buffer
	args := strings.Fields("-time -heads 2 -kv-heads 1 -head-dim 32 -slots 130 -backend cpu -kv-type q8_0 -r 1 -json")
	if err := Run(t.Context(), args, &out, &out); err != nil {
		t.Fatal(err)
	}
	var one timing
	if err := json.Unmarshal(out.Bytes(), &one); err != nil || one.Slots != 130 || one.Queued <= 0 || one.Waited <= 0 || one.ReadBack != 0 {
		t.Errorf("%v %s", err, &out)
	}
}

// remote is a device with memory that the host cannot reach, as far as -time can see.
type remote struct{ *host.Reference }

type remoteMemory struct{ tensor.Memory }

type remoteBuffer struct{ tensor.Buffer }

func (m remoteMemory) Alloc(size int, d tensor.DType) (tensor.Buffer, error) {
	b, err := m.Memory.Alloc(size, d)
	return remoteBuffer{b}, err
}

func (r remote) Memory() tensor.Memory                             { return remoteMemory{r.Reference.Memory()} }
func (r remote) CopyFrom(t *tensor.Tensor) (*tensor.Tensor, error) { return host.CopyFrom(r, t) }

func TestTimeOfReadingBack(t *testing.T) {
	o := &options{examination: examination{shape: small, types: []tensor.DType{tensor.F16}, backends: []named{{"remote", true, remote{host.NewReference()}}}},
		lengths: []int{1, 130}, repetitions: 1}
	var out bytes.Buffer
	if err := o.measure(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if rows := strings.Split(strings.TrimSpace(out.String()), "\n"); len(rows) != 6 || strings.HasSuffix(rows[5], "-") {
		t.Errorf("no times of reading back in\n%s", &out)
	}
}

func TestMistakesOfUse(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-heads 3 -kv-heads 2", "-heads a multiple of -kv-heads"},
		{"-head-dim 33 -kv-type f32", "-head-dim 33"},
		{"-head-dim 48", "needs a multiple of 32"},
		{"-slots 0", "-slots 0"},
		{"-slots 4 -queries 5", "-queries 5"},
		{"-kv-type q4_k", `"q4_k" must be one of`},
		{"-kv-type ,", "at least one type"},
		{"-case nonsense", "there are prompt, token"},
		{"-r 0", "-r 0"},
		{"-tolerance -1", "-tolerance -1"},
		{"-tolerance NaN", "-tolerance NaN"},
		{"-slots 100000000", "-slots 100000000"},
	} {
		err := Run(t.Context(), strings.Fields(c.args), &bytes.Buffer{}, &bytes.Buffer{})
		var usage *cli.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
	if err := Run(t.Context(), []string{"-backend", "nonsense"}, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), `no backend "nonsense"`) {
		t.Error(err)
	}
}

// TestDefinition computes by hand what the definition is to be: two slots with the scores 0 and ln 3 have the weights 1/4 and 3/4.
func TestDefinition(t *testing.T) {
	key, err := encode(tensor.F32, []float32{0, 0, float32(math.Log(3) * math.Sqrt2), 0})
	if err != nil {
		t.Fatal(err)
	}
	value, err := encode(tensor.F32, []float32{4, 0, 0, 8})
	if err != nil {
		t.Fatal(err)
	}
	p := &problem{heads: 1, kvHeads: 1, dim: 2, dtype: tensor.F32, runs: []conversation{{tokens: 1, used: []int{2}}}, q: []float32{0, -1}, table: []float32{0, 1}}
	d, err := define(p, &stored{q: []float32{1, 0}, keys: [][][]byte{{key}}, values: [][][]byte{{value}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ got, want []float64 }{
		"queries": {d.queries()[0], []float64{1, 0}}, // (0, -1) turned by a quarter
		"scores":  {d.scores()[0], []float64{-math.Log(3), 0}},
		"weights": {d.weights()[0], []float64{0.25, 0.75}},
		"output":  {d.output()[0], []float64{1, 6}},
	} {
		for i := range c.want {
			if math.Abs(c.got[i]-c.want[i]) > 1e-6 {
				t.Errorf("%s are %v, not %v", name, c.got, c.want)
			}
		}
	}
}

func TestDifference(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		got, want float32
		bits      int
		abs       float64
		ulp       uint64
	}{
		{1, 1, 0, 0, 0}, {nan, nan, 0, 0, 0}, {0, float32(math.Copysign(0, -1)), 1, 0, 0}, {1, math.Nextafter32(1, 2), 1, 1.1920928955078125e-07, 1},
		{math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 1, 2.802596928649634e-45, 2}, {inf, inf, 0, 0, 0}, {1, nan, 1, math.Inf(1), math.MaxUint32},
	} {
		d, err := compare([]vector{{[]int{7}, []float32{c.got}}}, [][]float64{{float64(c.want)}}, 0)
		if err != nil || d.Bits != c.bits || d.Abs != c.abs || d.ULP != c.ulp || d.Values != 1 {
			t.Errorf("%v and %v: %+v, %v", c.got, c.want, d, err)
		}
		if c.bits > 0 && !slices.Equal(d.first.at, []int{7, 0}) {
			t.Errorf("%v and %v: first at %v", c.got, c.want, d.first.at)
		}
	}
	if _, err := compare(nil, [][]float64{{1}}, 0); err == nil {
		t.Error("a missing vector is no error")
	}
	if _, err := compare([]vector{{nil, []float32{1, 2}}}, [][]float64{{1}}, 0); err == nil {
		t.Error("a vector that is too long is no error")
	}
}
