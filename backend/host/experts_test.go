package host_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/tensor"
)

// numbers makes a tensor of type I32.
func (s source) numbers(values []int32, dims ...int) *tensor.Tensor {
	s.t.Helper()
	x, err := tensor.New(nil, tensor.I32, tensor.ShapeOf(dims...))
	if err != nil {
		s.t.Fatal(err)
	}
	data, err := tensor.Mut[int32](x)
	if err != nil {
		s.t.Fatal(err)
	}
	copy(data, values)
	return x
}

// routed is what a rule says of a row of logits, computed in float64 from its words.
func routed(logits, bias, scales []float32, k int, r backend.Routing) (chosen []int32, weights []float64) {
	scores, sum := make([]float64, len(logits)), 0.0
	for i, v := range logits {
		switch r.Scores {
		case backend.SoftmaxAll:
			scores[i] = math.Exp(float64(v))
			sum += scores[i]
		case backend.Sigmoid:
			scores[i] = 1 / (1 + math.Exp(-float64(v)))
		default:
			scores[i] = float64(v)
		}
		chosen = append(chosen, int32(i))
	}
	if r.Scores == backend.SoftmaxAll {
		for i := range scores {
			scores[i] /= sum
		}
	}
	order := func(e int32) float64 {
		if bias == nil {
			return float64(logits[e])
		}
		return scores[e] + float64(bias[e])
	}
	slices.SortStableFunc(chosen, func(a, b int32) int {
		switch x, y := order(a), order(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	chosen, sum = chosen[:k], 0
	for _, e := range chosen {
		w := scores[e]
		if r.Scores == backend.SoftmaxChosen {
			w = math.Exp(w)
		}
		weights = append(weights, w)
		sum += w
	}
	for i, e := range chosen {
		if r.Scores == backend.SoftmaxChosen || r.Normalize {
			weights[i] /= sum
		}
		if r.Scale != 0 {
			weights[i] *= float64(r.Scale)
		}
		if scales != nil {
			weights[i] *= float64(scales[e])
		}
	}
	return chosen, weights
}

// TestRouteByDefinition compares with the definition. Many logits are equal.
func TestRouteByDefinition(t *testing.T) {
	const rows, experts, k = 50, 24, 5
	s, b := newSource(t), host.NewReference()
	for _, r := range []backend.Routing{
		{}, {Normalize: true}, {Scores: backend.SoftmaxChosen}, {Scores: backend.Sigmoid, Normalize: true, Scale: 1.5}, {Scores: backend.Sigmoid},
	} {
		for _, with := range []bool{false, true} {
			logits, chosen, weights := s.floats(rows, experts), s.numbers(nil, rows, k), s.floats(rows, k)
			for i := range values(t, logits)[:rows*experts/2] {
				values(t, logits)[i] = float32(s.IntN(4))
			}
			var bias, scales []float32
			if with {
				r.Bias, r.ExpertScales = s.floats(experts), s.floats(experts)
				bias, scales = values(t, r.Bias), values(t, r.ExpertScales)
				for i := range bias {
					bias[i] = float32(s.IntN(3)) / 2
				}
			}
			if err := b.Run(&backend.Route{Logits: logits, Routing: r, Chosen: chosen, Weights: weights}); err != nil {
				t.Fatal(err)
			}
			got, err := tensor.As[int32](chosen)
			if err != nil {
				t.Fatal(err)
			}
			for row := range rows {
				want, w := routed(values(t, logits)[row*experts:][:experts], bias, scales, k, r)
				if !slices.Equal(got[row*k:][:k], want) {
					t.Fatalf("%+v: row %d chose %v, want %v", r, row, got[row*k:][:k], want)
				}
				for i, x := range values(t, weights)[row*k:][:k] {
					if math.Abs(float64(x)-w[i]) > 1e-6*max(1, math.Abs(w[i])) {
						t.Errorf("%+v: weight %d of row %d is %g, want %g", r, i, row, x, w[i])
					}
				}
			}
		}
	}
}

// network makes a network of experts, and one that a backend has prepared.
func (s source) network(b backend.Backend, d tensor.DType, experts, n, width int) (plain, prepared *backend.ExpertNetwork) {
	s.t.Helper()
	plain = &backend.ExpertNetwork{
		Gate: s.as(d, experts, n, width), Up: s.as(d, experts, n, width), Down: s.as(d, experts, width, n),
		GateBias: s.floats(experts, n), UpBias: s.floats(experts, n), DownBias: s.floats(experts, width), Activation: backend.ActivateClamped, Limit: 7,
	}
	copied := *plain
	prepared = &copied
	for _, w := range []**tensor.Tensor{&prepared.Gate, &prepared.Up, &prepared.Down} {
		p, err := backend.Prepare(s.t.Context(), b, *w)
		if err != nil {
			s.t.Fatal(err)
		}
		*w = p
	}
	return plain, prepared
}

// feed returns the outputs of the experts for rows of x.
func (s source) feed(b backend.Backend, n *backend.ExpertNetwork, x, chosen, weights *tensor.Tensor) []float32 {
	s.t.Helper()
	rows, k, width := x.Shape().Dim(0), chosen.Shape().Dim(1), x.Shape().Dim(1)
	out, hidden := s.floats(rows, width), n.Gate.Shape().Dim(1)
	clear(values(s.t, out))
	err := b.Run(&backend.FeedExperts{X: x, Network: *n, Chosen: chosen, Weights: weights, Gate: s.floats(rows*k, hidden), Up: s.floats(rows*k, hidden), Down: s.floats(rows*k, width), Out: out})
	if err != nil {
		s.t.Fatal(err)
	}
	return copied(s.t, out)
}

// TestExpertsByDefinition compares with the definition in float64.
func TestExpertsByDefinition(t *testing.T) {
	const rows, experts, k, n, width = 7, 5, 3, 16, 32
	s, b := newSource(t), host.NewReference()
	net, _ := s.network(b, tensor.F32, experts, n, width)
	net.Limit = 2
	x, weights, chosen := s.floats(rows, width), s.floats(rows, k), s.numbers(nil, rows, k)
	ids, err := tensor.Mut[int32](chosen)
	if err != nil {
		t.Fatal(err)
	}
	for i := range ids {
		ids[i] = int32(s.IntN(experts)) // an expert may be chosen twice
	}
	got := s.feed(b, net, x, chosen, weights)
	product := func(w, bias *tensor.Tensor, e int, x []float64) []float64 {
		y := make([]float64, w.Shape().Dim(1))
		for i := range y {
			y[i] = float64(values(t, bias)[e*len(y)+i])
			for j, v := range x {
				y[i] += v * float64(values(t, w)[(e*len(y)+i)*len(x)+j])
			}
		}
		return y
	}
	for row := range rows {
		in, want := make([]float64, width), make([]float64, width)
		for i := range in {
			in[i] = float64(values(t, x)[row*width+i])
		}
		for i, e := range ids[row*k:][:k] {
			gate, up := product(net.Gate, net.GateBias, int(e), in), product(net.Up, net.UpBias, int(e), in)
			for j, g := range gate {
				g = min(g, 2)
				gate[j] = (min(max(up[j], -2), 2) + 1) * g / (1 + math.Exp(-1.702*g))
			}
			for j, y := range product(net.Down, net.DownBias, int(e), gate) {
				want[j] += float64(values(t, weights)[row*k+i]) * y
			}
		}
		for i, w := range want {
			if v := got[row*width+i]; math.Abs(float64(v)-w) > 1e-3 {
				t.Fatalf("row %d, element %d is %g, want %g", row, i, v, w)
			}
		}
	}
}

// TestExpertsInAnyCompany computes rows together, in another order, alone, with other threads and kernels, by the fused operation and by the
// plain ones: the bits are the same.
func TestExpertsInAnyCompany(t *testing.T) {
	effort.Turn(t, 8)
	const rows, experts, k, n, width = 70, 9, 3, 96, 256
	s := newSource(t)
	for i, d := range []tensor.DType{tensor.F32, tensor.BF16, tensor.Q4_0, tensor.Q8_0, tensor.Q4_K} {
		if !effort.Share(i, 2) {
			continue
		}
		n := n
		if d == tensor.Q4_K {
			n = 256
		}
		var want []float32
		x, weights, chosen := s.floats(rows, width), s.floats(rows, k), s.numbers(nil, rows, k)
		ids, err := tensor.Mut[int32](chosen)
		if err != nil {
			t.Fatal(err)
		}
		for i := range ids {
			ids[i] = int32(min(s.IntN(experts), s.IntN(experts)))
		}
		order := s.Perm(rows)
		shuffledX, shuffledWeights, shuffled := s.floats(rows, width), s.floats(rows, k), s.numbers(nil, rows, k)
		others, err := tensor.Mut[int32](shuffled)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range order {
			copy(values(t, shuffledX)[i*width:][:width], values(t, x)[row*width:])
			copy(values(t, shuffledWeights)[i*k:][:k], values(t, weights)[row*k:])
			copy(others[i*k:][:k], ids[row*k:])
		}
		var plain *backend.ExpertNetwork
		for _, threads := range []int{0, 1, 2, 3} {
			b := backend.Backend(host.NewReference())
			if threads > 0 {
				b = cpu.New(threads)
				defer b.Close()
			}
			if plain == nil {
				plain, _ = s.network(b, d, experts, n, width)
			}
			prepared := *plain
			for _, w := range []**tensor.Tensor{&prepared.Gate, &prepared.Up, &prepared.Down} {
				if *w, err = backend.Prepare(t.Context(), b, *w); err != nil {
					t.Fatal(err)
				}
			}
			check := func(what string, got []float32, from int) {
				t.Helper()
				if want == nil {
					want = got
				}
				if at := firstOther(got, want[from:]); at >= 0 {
					t.Fatalf("%v, %d threads, %s: element %d is %g, want %g", d, threads, what, from+at, got[at], want[from+at])
				}
			}
			check("together", s.feed(b, &prepared, x, chosen, weights), 0)
			check("as files have them", s.feed(b, plain, x, chosen, weights), 0)
			check("by plain operations", s.feed(plainly{b}, &prepared, x, chosen, weights), 0)
			got := make([]float32, rows*width)
			for i, v := range s.feed(b, &prepared, shuffledX, shuffled, shuffledWeights) {
				got[order[i/width]*width+i%width] = v
			}
			check("shuffled", got, 0)
			for _, row := range []int{0, rows / 2, rows - 1} {
				check(fmt.Sprintf("row %d alone", row), s.feed(b, &prepared, s.part(x, row), s.part(chosen, row), s.part(weights, row)), row*width)
			}
		}
	}
}

// plainly runs plain operations only.
type plainly struct{ backend.Backend }

func (p plainly) Run(ops ...backend.Op) error {
	for i, op := range ops {
		program := ops[i : i+1]
		if fused, ok := op.(backend.Fused); ok {
			program = fused.Plain()
		}
		if err := p.Backend.Run(program...); err != nil {
			return err
		}
	}
	return nil
}

// part returns row i of a tensor.
func (s source) part(x *tensor.Tensor, i int) *tensor.Tensor {
	s.t.Helper()
	part, err := x.Slice(i, i+1)
	if err != nil {
		s.t.Fatal(err)
	}
	return part
}

// firstOther returns where bits differ first, -1 if they do not.
func firstOther(got, want []float32) int {
	for i, v := range got {
		if math.Float32bits(v) != math.Float32bits(want[i]) {
			return i
		}
	}
	return -1
}

// TestExpertMistakes gives the operations numbers that are no expert's: they are errors.
func TestExpertMistakes(t *testing.T) {
	s := newSource(t)
	c := cpu.New(2)
	defer c.Close()
	for _, b := range []backend.Backend{host.NewReference(), c} {
		net, _ := s.network(b, tensor.F32, 4, 16, 32)
		for _, wrong := range []int32{-1, 4, math.MaxInt32, math.MinInt32} {
			chosen, x, gate, up, down := s.numbers([]int32{0, wrong}, 1, 2), s.floats(1, 32), s.floats(2, 16), s.floats(2, 16), s.floats(2, 32)
			for name, err := range map[string]error{
				"MatMulExperts": b.Run(&backend.MatMulExperts{X: x, W: net.Gate, Chosen: chosen, Out: gate}),
				"AddExpertBias": b.Run(&backend.AddExpertBias{Out: gate, Bias: net.GateBias, Chosen: chosen}),
				"FeedExperts":   b.Run(&backend.FeedExperts{X: x, Network: *net, Chosen: chosen, Weights: s.floats(1, 2), Gate: gate, Up: up, Down: down, Out: s.floats(1, 32)}),
			} {
				if err == nil {
					t.Errorf("%s: %s of expert %d is no error", b.Name(), name, wrong)
				}
			}
		}
	}
}

// TestExpertsAllocateNothing decodes a row again and again.
func TestExpertsAllocateNothing(t *testing.T) {
	s := newSource(t)
	c := cpu.New(2)
	defer c.Close()
	_, net := s.network(c, tensor.Q4_0, 8, 32, 64)
	x, weights, chosen, logits, out := s.floats(1, 64), s.floats(1, 2), s.numbers(nil, 1, 2), s.floats(1, 8), s.floats(1, 64)
	gate, up, down := s.floats(2, 32), s.floats(2, 32), s.floats(2, 64)
	program := []backend.Op{
		&backend.Route{Logits: logits, Routing: backend.Routing{Normalize: true}, Chosen: chosen, Weights: weights},
		&backend.FeedExperts{X: x, Network: *net, Chosen: chosen, Weights: weights, Gate: gate, Up: up, Down: down, Out: out},
	}
	once := func() {
		if err := c.Run(program...); err != nil {
			t.Fatal(err)
		}
	}
	once()
	if n := testing.AllocsPerRun(10, once); n > 0 {
		t.Errorf("%v allocations for a row, want none", n)
	}
}
