package kvcache_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// The shapes of a recurrent layer for tests.
const (
	stateWidth    = 4
	stateChannels = 24
	stateKeyHeads = 1
	stateHeads    = 2
	stateKeyDim   = 8
	stateValueDim = 20
)

// recurrence is a layer with a convolution and a delta rule. Its inputs are formulas of tokens.
type recurrence struct {
	testing.TB
	backend backend.Backend
	store   *kvcache.Store
	batch   *kvcache.States
	weights *tensor.Tensor
}

func newRecurrence(t testing.TB, b backend.Backend) *recurrence {
	r := &recurrence{TB: t, backend: b, store: kvcache.NewStore(b, 64, 1, 1, 32), batch: kvcache.NewStates(b)}
	r.weights = r.numbers(func(i int) float32 { return float32(i%7)/4 - 0.6 }, stateWidth, stateChannels)
	return r
}

// numbers makes a tensor of a formula.
func (r *recurrence) numbers(f func(i int) float32, dims ...int) *tensor.Tensor {
	x, err := tensor.New(r.backend, tensor.F32, tensor.ShapeOf(dims...))
	if err != nil {
		r.Fatal(err)
	}
	values, err := tensor.Mut[float32](x)
	if err != nil {
		r.Fatal(err)
	}
	for i := range values {
		values[i] = f(i)
	}
	return x
}

// of makes a tensor with rows that depend on tokens.
func (r *recurrence) of(tokens []int, scale, shift float32, dims ...int) *tensor.Tensor {
	x := 1
	for _, d := range dims {
		x *= d
	}
	return r.numbers(func(i int) float32 {
		random := rand.New(rand.NewPCG(uint64(tokens[i/x]), uint64(i%x)))
		return scale*(random.Float32()-0.5) + shift
	}, append([]int{len(tokens)}, dims...)...)
}

// newState makes an empty state.
func (r *recurrence) newState() *kvcache.State {
	s, err := r.store.NewState(tensor.ShapeOf(stateWidth-1, stateChannels), backend.StateShape(stateHeads, stateKeyDim, stateValueDim))
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// forward computes the tokens of states after Begin, and returns what comes out.
func (r *recurrence) forward(states []*kvcache.State, rows [][]int) ([]float32, error) {
	r.batch.Reset()
	for i, s := range states {
		if err := r.batch.Add(s, len(rows[i])); err != nil {
			return nil, err
		}
	}
	t := slices.Concat(rows...)
	x, y := r.of(t, 1, 0, stateChannels), r.of(t, 1, 0, stateChannels)
	if err := r.batch.Convolve(0, x, r.weights, nil, y); err != nil {
		return nil, err
	}
	q, k := r.of(t, 1, 0.1, stateKeyHeads, stateKeyDim), r.of(t, 0.7, 0, stateKeyHeads, stateKeyDim)
	v, out := r.of(t, 2, 0, stateHeads, stateValueDim), r.of(t, 0, 0, stateHeads, stateValueDim)
	g, beta := r.of(t, 0.2, -0.11, stateHeads), r.of(t, 0.6, 0.5, stateHeads)
	if err := r.batch.Recur(1, q, k, v, g, beta, out, true); err != nil {
		return nil, err
	}
	var all []float32
	for _, o := range []*tensor.Tensor{y, out} {
		values := make([]float32, o.Shape().NumElements())
		if err := backend.ReadFloats(r.backend, o, values); err != nil {
			return nil, err
		}
		all = append(all, values...)
	}
	r.batch.Reset()
	return all, nil
}

// bits returns what a state writes when it is saved without snapshots.
func (r *recurrence) bits(s *kvcache.State) []byte {
	r.Helper()
	var b bytes.Buffer
	if err := s.Save(&b, func(int) bool { return false }); err != nil {
		r.Fatal(err)
	}
	return b.Bytes()
}

// fresh returns what a new state writes that has seen tokens.
func (r *recurrence) fresh(tokens []int) []byte {
	r.Helper()
	s := r.newState()
	defer s.Free()
	if len(tokens) > 0 {
		if err := s.Begin(len(tokens), kvcache.Step{}); err != nil {
			r.Fatal(err)
		}
		if _, err := r.forward([]*kvcache.State{s}, [][]int{tokens}); err != nil {
			r.Fatal(err)
		}
		s.End()
	}
	return r.bits(s)
}

// TestStatePrograms plays random calls: a state is always what a fresh one would be that has seen the same tokens.
func TestStatePrograms(t *testing.T) {
	effort.Turn(t, 8)
	for seed := range uint64(60) {
		r := newRecurrence(t, host.NewReference())
		random := rand.New(rand.NewPCG(seed, 3))
		s, other := r.newState(), r.newState() // other is in each step, too
		var tokens, others []int
		for call := range 40 {
			rows := make([]int, 1+random.IntN(9))
			for i := range rows {
				rows[i] = random.IntN(1000)
			}
			what := ""
			switch random.IntN(8) {
			case 0, 1, 2, 3:
				step := kvcache.Step{Keep: random.IntN(2) == 0}
				if step.Guesses = random.IntN(3) == 0; step.Guesses {
					step.Keep = false
				}
				for range random.IntN(3) {
					step.Marks = append(step.Marks, len(tokens)+random.IntN(12))
				}
				slices.Sort(step.Marks)
				what = fmt.Sprintf("%d rows %+v", len(rows), step)
				if err := errors.Join(s.Begin(len(rows), step), other.Begin(1, kvcache.Step{})); err != nil {
					t.Fatal(err)
				}
				list, all := []*kvcache.State{s, other}, [][]int{rows, {7}}
				if random.IntN(2) == 0 {
					slices.Reverse(list)
					slices.Reverse(all)
				}
				if _, err := r.forward(list, all); err != nil {
					t.Fatal(err)
				}
				other.End()
				others = append(others, 7)
				if step.Keep && random.IntN(4) == 0 {
					what += " taken back"
					if err := s.TakeBack(len(tokens)); err != nil {
						t.Fatal(err)
					}
					break
				}
				s.End()
				tokens = append(tokens, rows...)
				if step.Guesses {
					n := len(tokens) - random.IntN(len(rows))
					what += fmt.Sprintf(", %d accepted", len(rows)-len(tokens)+n)
					if err := s.Truncate(n); err != nil {
						t.Fatal(err)
					}
					if s.Seen() != n {
						t.Fatalf("seed %d, call %d (%s): %d tokens, want %d", seed, call, what, s.Seen(), n)
					}
					tokens = tokens[:n]
				}
			case 4:
				n := random.IntN(len(tokens) + 1)
				what = fmt.Sprintf("truncate %d to %d", len(tokens), n)
				want := s.Reach(n)
				if err := s.Truncate(n); err != nil || s.Seen() != want || want > n {
					t.Fatalf("seed %d: %s: %d, %v", seed, what, s.Seen(), err)
				}
				tokens = tokens[:want]
			case 5:
				what = "copy"
				if err := s.Settle(); err != nil {
					t.Fatal(err)
				}
				c := s.Clone()
				if err := s.Begin(1, kvcache.Step{}); err != nil {
					t.Fatal(err)
				}
				if _, err := r.forward([]*kvcache.State{s}, [][]int{{1}}); err != nil {
					t.Fatal(err)
				}
				s.End()
				s.Free()
				s = c
			case 6:
				what = "restored"
				var b bytes.Buffer
				if err := s.Save(&b, func(at int) bool { return at%2 == 0 }); err != nil {
					t.Fatal(err)
				}
				s.Free()
				s = r.newState()
				if err := s.Restore(&b); err != nil {
					t.Fatal(err)
				}
			case 7:
				what = "keep"
				if err := s.Keep(); err != nil {
					t.Fatal(err)
				}
				if list := s.Snapshots(nil); len(list) > 3 {
					if err := s.Drop(list[random.IntN(len(list))]); err != nil {
						t.Fatal(err)
					}
				}
			}
			if s.Seen() != len(tokens) {
				t.Fatalf("seed %d, call %d (%s): %d tokens, want %d", seed, call, what, s.Seen(), len(tokens))
			}
			if random.IntN(3) == 0 && !bytes.Equal(r.bits(s), r.fresh(tokens)) {
				t.Fatalf("seed %d, call %d (%s): the state is not that of its %d tokens", seed, call, what, len(tokens))
			}
		}
		if !bytes.Equal(r.bits(s), r.fresh(tokens)) || !bytes.Equal(r.bits(other), r.fresh(others)) {
			t.Fatalf("seed %d: the states are not those of their tokens", seed)
		}
		for _, at := range slices.Backward(s.Snapshots(nil)) {
			if err := s.Truncate(at); err != nil || !bytes.Equal(r.bits(s), r.fresh(tokens[:at])) {
				t.Fatalf("seed %d: the snapshot of %d tokens is not that of these (%v)", seed, at, err)
			}
		}
		if err := errors.Join(s.Free(), other.Free()); err != nil || r.store.Bytes() != 0 {
			t.Fatalf("seed %d: %d bytes are left: %v", seed, r.store.Bytes(), err)
		}
		if err := r.store.Free(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGuessesOutputs compares what comes out of a step with guesses with the same rows one by one.
func TestGuessesOutputs(t *testing.T) {
	r := newRecurrence(t, host.NewReference())
	one, all := r.newState(), r.newState()
	tokens := []int{5, 6, 7, 8}
	var want [2][]float32
	for _, token := range tokens {
		if err := one.Begin(1, kvcache.Step{}); err != nil {
			t.Fatal(err)
		}
		out, err := r.forward([]*kvcache.State{one}, [][]int{{token}})
		if err != nil {
			t.Fatal(err)
		}
		one.End()
		want[0], want[1] = append(want[0], out[:stateChannels]...), append(want[1], out[stateChannels:]...)
	}
	if err := all.Begin(len(tokens), kvcache.Step{Guesses: true}); err != nil {
		t.Fatal(err)
	}
	got, err := r.forward([]*kvcache.State{all}, [][]int{tokens})
	if err != nil || !slices.Equal(got, slices.Concat(want[0], want[1])) {
		t.Errorf("guesses give other results: %v", err)
	}
}

// TestStatesShare counts the memory of copies, snapshots and steps.
func TestStatesShare(t *testing.T) {
	r := newRecurrence(t, host.NewReference())
	s := r.newState()
	if r.store.Bytes() != 0 {
		t.Errorf("an empty state takes %d bytes", r.store.Bytes())
	}
	step := func(s *kvcache.State, o kvcache.Step, rows ...int) {
		t.Helper()
		if err := s.Begin(len(rows), o); err != nil {
			t.Fatal(err)
		}
		if _, err := r.forward([]*kvcache.State{s}, [][]int{rows}); err != nil {
			t.Fatal(err)
		}
		s.End()
	}
	step(s, kvcache.Step{Keep: true}, 1, 2, 3)
	one := r.store.Bytes()
	check := func(what string, want int64) {
		t.Helper()
		if got := r.store.Bytes(); got != want*one {
			t.Errorf("%s: %d bytes, want %d of %d", what, got, want, one)
		}
	}
	step(s, kvcache.Step{Keep: true}, 4, 5)
	check("a second step", 1)
	if err := s.Keep(); err != nil {
		t.Fatal(err)
	}
	c := s.Clone()
	check("a snapshot and a copy", 1)
	step(c, kvcache.Step{}, 6)
	check("a copy that goes on", 2)
	step(s, kvcache.Step{Keep: true, Marks: []int{6}}, 7, 8)
	check("the original goes on, with a snapshot", 4)
	if err := errors.Join(s.Free(), c.Free()); err != nil {
		t.Fatal(err)
	}
	check("nothing", 0)
}

// TestStateThatFails loses the device at each call of some steps: afterwards the state is what it was, or goes back to a snapshot.
func TestStateThatFails(t *testing.T) {
	for calls := 0; ; calls++ {
		fault := &backendtest.Fault{Err: errors.New("lost"), In: []string{"CopySlice", "Convolve", "Recur"}}
		r := newRecurrence(t, backendtest.NewDevice(host.NewReference(), fault.Before))
		s := r.newState()
		var tokens []int
		fault.Arm(calls)
		for i, step := range []kvcache.Step{{Keep: true, Marks: []int{2}}, {Guesses: true}, {}, {Keep: true, Marks: []int{10}}, {}} {
			rows := []int{i, i + 1, i + 2}
			err := s.Begin(len(rows), step)
			if err == nil {
				_, err = r.forward([]*kvcache.State{s}, [][]int{rows})
			}
			if err != nil {
				if step.Keep && s.Seen() != len(tokens) && !fault.Struck() {
					t.Errorf("calls %d, step %d: %v", calls, i, err)
				}
				if err := s.TakeBack(len(tokens)); err != nil {
					t.Fatal(err)
				}
				break
			}
			s.End()
			tokens = append(tokens, rows...)
			if step.Guesses {
				tokens = tokens[:len(tokens)-1]
				if err := s.Truncate(len(tokens)); err != nil {
					t.Fatal(err)
				}
			}
		}
		lost := fault.Struck()
		fault.Disarm()
		if got := s.Seen(); got > len(tokens) || !bytes.Equal(r.bits(s), r.fresh(tokens[:got])) {
			t.Fatalf("calls %d: the state is not that of %d of %d tokens", calls, got, len(tokens))
		}
		s.Free()
		if r.store.Bytes() != 0 {
			t.Fatalf("calls %d: %d bytes are left", calls, r.store.Bytes())
		}
		if !lost {
			return
		}
	}
}

// TestForgottenState sees that the values of a state that nobody refers to any more come back.
func TestForgottenState(t *testing.T) {
	r := newRecurrence(t, host.NewReference())
	func() {
		s := r.newState()
		if err := s.Begin(3, kvcache.Step{Keep: true, Marks: []int{2}}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.forward([]*kvcache.State{s}, [][]int{{1, 2, 3}}); err != nil {
			t.Fatal(err)
		}
		s.End()
		s.Clone()
	}()
	for range 1000 {
		if runtime.GC(); r.store.Bytes() == 0 {
			return
		}
	}
	t.Errorf("%d bytes are left", r.store.Bytes())
}

// FuzzRestoreState reads damaged states.
func FuzzRestoreState(f *testing.F) {
	r := newRecurrence(f, host.NewReference())
	s := r.newState()
	if err := s.Begin(5, kvcache.Step{Keep: true, Marks: []int{2, 5}}); err != nil {
		f.Fatal(err)
	}
	if _, err := r.forward([]*kvcache.State{s}, [][]int{{1, 2, 3, 4, 5}}); err != nil {
		f.Fatal(err)
	}
	s.End()
	var whole bytes.Buffer
	if err := s.Save(&whole, func(int) bool { return true }); err != nil {
		f.Fatal(err)
	}
	s.Free()
	f.Add(whole.Bytes())
	f.Add(whole.Bytes()[:100])
	f.Add([]byte{5, 0, 0, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := r.newState()
		err := s.Restore(bytes.NewReader(data))
		if list := s.Snapshots(nil); err == nil && (!slices.IsSorted(list) || len(list) > 0 && (list[0] < 1 || list[len(list)-1] > s.Seen())) {
			t.Errorf("%d tokens, snapshots %v", s.Seen(), list)
		}
		if err := s.Free(); err != nil {
			t.Error(err)
		}
		if r.store.Bytes() != 0 {
			t.Errorf("%d bytes are left", r.store.Bytes())
		}
	})
}
