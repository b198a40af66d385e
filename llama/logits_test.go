package llama_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// distant is a device that counts how often logits are read or searched there, and fails when told to.
type distant struct {
	*backendtest.Device
	reads, searches       int
	unreadable, blind     bool
	naked                 bool // it does not mask
	late                  bool // what it has computed turns out to have failed when it is waited for
	unreadableIn, blindIn int  // reads and searches that still succeed
}

func newDistant() *distant {
	d := new(distant)
	d.Device = backendtest.NewDevice(cpu.New(1), d.before)
	return d
}

func (d *distant) before(call string, x *tensor.Tensor) error {
	fails := false
	switch {
	case call == "ReadBuffer" && x.Shape().Dim(-1) == vocabulary && x.DType() == tensor.F32:
		d.reads++
		fails = d.unreadable && d.reads > d.unreadableIn
	case call == "Mask":
		fails = d.naked
	case call == "Largest":
		d.searches++
		fails = d.blind && d.searches > d.blindIn
	case call == "Synchronize":
		fails = d.late
	}
	if fails {
		return errDevice
	}
	return nil
}

// vocabulary is Pebble's.
const vocabulary = 4096

// everything is a mask that forbids nothing.
type everything struct{}

func (everything) Apply([]llama.Token, []float32) error { return nil }

// told returns the tokens of an answer, calling inside after each.
func told(t *testing.T, s *llama.Session, p llama.Params, inside func(i int)) (tokens []llama.Token) {
	t.Helper()
	p.MaxTokens = 24
	i := 0
	for piece, err := range s.Chat(t.Context(), story, p) {
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, piece.Tokens...)
		inside(i)
		i++
	}
	return tokens
}

func nothing(int) {}

// TestLogitsTravelOnlyWhenWanted counts the logits that travel, and compares answers with those of a session with logits asked for at every
// token.
func TestLogitsTravelOnlyWhenWanted(t *testing.T) {
	device := newDistant()
	m := otherModel(t, device)
	if m.Config().VocabSize != vocabulary {
		t.Fatalf("Pebble has %d tokens", m.Config().VocabSize)
	}
	for _, c := range []struct {
		name   string
		p      llama.Params
		travel bool
	}{
		{"greedy", llama.Params{}, false},
		{"greedy with top-k", llama.Params{TopK: 5}, false},
		{"top-k", llama.Params{Temperature: 1, TopK: 40, Seed: 1}, false},
		{"top-k, top-p and min-p", llama.Params{Temperature: 0.7, TopK: 256, TopP: 0.9, MinP: 0.01, Seed: 2}, false},
		{"a huge top-k", llama.Params{Temperature: 1, TopK: 1000, Seed: 3}, true},
		{"top-p alone", llama.Params{Temperature: 1, TopP: 0.9, Seed: 4}, false},
		{"min-p alone", llama.Params{Temperature: 1.5, MinP: 0.05, Seed: 5}, false},
		{"temperature alone", llama.Params{Temperature: 1, Seed: 6}, false},
		{"nearly greedy", llama.Params{Temperature: 0.001, Seed: 7}, true},
		{"a penalty", llama.Params{RepeatPenalty: 1.1}, true},
		{"a mask", llama.Params{Mask: everything{}}, true},
		{"log-probabilities", llama.Params{Logprobs: 2}, true},
		{"a constraint, greedy", llama.Params{Constraint: record(t, m)}, false},
		{"a constraint, top-k", llama.Params{Constraint: record(t, m), Temperature: 1, TopK: 40}, false},
		{"a constraint, top-p", llama.Params{Constraint: record(t, m), Temperature: 0.5, TopP: 0.9}, false},
		{"a constraint, temperature alone", llama.Params{Constraint: record(t, m), Temperature: 1.5}, false},
		{"a constraint and a penalty", llama.Params{Constraint: record(t, m), RepeatPenalty: 1.1}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain := newSession(t, pebbleModel(t), nil)
			want := told(t, plain, c.p, func(int) { logitsOf(plain) })
			device.reads, device.searches = 0, 0
			s := newSession(t, m, nil)
			got := told(t, s, c.p, nothing)
			if !slices.Equal(got, want) {
				t.Errorf("answered %v, want %v", got, want)
			}
			if c.travel != (device.reads > 0) || c.travel == (device.searches > 0) {
				t.Errorf("logits were read %d times and searched %d times", device.reads, device.searches)
			}
			if !slices.Equal(logitsOf(s), logitsOf(plain)) || logitsOf(s) == nil {
				t.Error("the logits after the answer differ")
			}
		})
	}
}

// TestLogitsInsideTheLoop asks for the logits in the midst of an answer.
func TestLogitsInsideTheLoop(t *testing.T) {
	device := newDistant()
	s := newSession(t, otherModel(t, device), nil)
	want := told(t, newSession(t, pebbleModel(t), nil), llama.Params{}, nothing)
	got := told(t, s, llama.Params{}, func(i int) {
		if l := logitsOf(s); len(l) != vocabulary || slices.Index(l, slices.Max(l)) < 0 {
			t.Errorf("%d logits after piece %d", len(l), i)
		}
	})
	if !slices.Equal(got, want) {
		t.Errorf("answered %v, want %v", got, want)
	}
	if err := s.Close(); err != nil || logitsOf(s) != nil {
		t.Errorf("a closed session has logits (%v)", err)
	}
}

// TestFailingChoiceGoesBack lets a device fail to search or to read the logits, whenever they are wanted after a move there.
func TestFailingChoiceGoesBack(t *testing.T) {
	effort.Turn(t, 8)
	m := pebbleModel(t)
	top := llama.Params{Temperature: 1, TopK: 40, Seed: 5}
	words := newForm(t, m, part{set: letters, least: 200, most: 200})
	for number, c := range []struct {
		name string
		p    llama.Params
		fail func(d *distant, at int)
	}{
		{"greedy", llama.Params{}, func(d *distant, at int) { d.blind, d.blindIn = true, at }},
		{"greedy, neither", llama.Params{}, func(d *distant, at int) { d.blind, d.blindIn, d.unreadable = true, at, true }},
		{"top-k", top, func(d *distant, at int) { d.blind, d.blindIn = true, at }},
		{"a penalty", llama.Params{RepeatPenalty: 1.1}, func(d *distant, at int) { d.unreadable, d.unreadableIn = true, at }},
		{"a constraint", llama.Params{Constraint: words}, func(d *distant, at int) { d.blind, d.blindIn = true, at }},
		{"a constraint, masking", llama.Params{Constraint: words, Temperature: 1}, func(d *distant, at int) { d.naked = true }},
		{"a constraint, top-k", llama.Params{Constraint: words, Temperature: 1, TopK: 4}, func(d *distant, at int) { d.naked, d.unreadable = true, true }},
	} {
		want := told(t, newSession(t, m, nil), c.p, nothing)
		for i, at := range []int{0, 1, 5} {
			if !effort.Share(number+i, 3) {
				continue
			}
			t.Run(fmt.Sprintf("%s, %d", c.name, at), func(t *testing.T) {
				device := newDistant()
				other := otherModel(t, device)
				s := newSession(t, m, nil)
				got := told(t, s, c.p, func(i int) {
					if i == 3 {
						if _, err := s.Move(t.Context(), other); err != nil {
							t.Fatal(err)
						}
						device.reads, device.searches = 0, 0
						c.fail(device, at)
					}
				})
				if !slices.Equal(got, want) {
					t.Errorf("answered %v, want %v", got, want)
				}
				if b := s.DeviceErrors(); len(b) != 1 || !errors.Is(b[0], errDevice) {
					t.Errorf("setbacks %v", b)
				}
			})
		}
	}
}

// TestUnreadableLogits asks every call for logits that a device does not give: of a session that can go back, and of one that
// cannot.
func TestUnreadableLogits(t *testing.T) {
	effort.Turn(t, 8)
	home := pebbleModel(t)
	score := func(s *llama.Session) error { _, err := s.Score(t.Context(), stream(1)); return err }
	fork := func(s *llama.Session) error {
		f, err := s.Fork()
		if err == nil {
			err = f.Close()
		}
		return err
	}
	logits := func(s *llama.Session) error {
		if logitsOf(s) == nil {
			return errDevice
		}
		return nil
	}
	for name, call := range map[string]func(s *llama.Session) error{
		"score": score, "fork": fork, "logits": logits, "save": func(s *llama.Session) error { return s.Save(new(bytes.Buffer)) },
	} {
		for _, moved := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, moved %t", name, moved), func(t *testing.T) {
				device := newDistant()
				other := otherModel(t, device)
				start := other
				if moved {
					start = home
				}
				s := newSession(t, start, nil)
				if err := s.Prefill(t.Context(), stream(20)); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Move(t.Context(), other); err != nil {
					t.Fatal(err)
				}
				if err := s.Prefill(t.Context(), []llama.Token{7}); err != nil { // its logits lie there
					t.Fatal(err)
				}
				device.unreadable = true
				if err := call(s); moved != (err == nil) || err != nil && !errors.Is(err, errDevice) {
					t.Errorf("%v", err)
				}
				if n := len(s.DeviceErrors()); moved != (n == 1) {
					t.Errorf("%d setbacks", n)
				}
				device.unreadable = false // the device has recovered
				want := newSession(t, home, nil)
				tokens := s.Tokens()
				if err := want.Prefill(t.Context(), tokens); err != nil {
					t.Fatal(err)
				}
				if len(tokens) < 21 || !slices.Equal(goOn(t, s, 3), goOn(t, want, 3)) {
					t.Errorf("after %d tokens the session goes on differently", len(tokens))
				}
			})
		}
	}
}

// TestLateFailure has a device that reports a failure only when it is waited for: the call that computed must wait.
func TestLateFailure(t *testing.T) {
	for _, moved := range []bool{true, false} {
		device := newDistant()
		other := otherModel(t, device)
		start := other
		if moved {
			start = pebbleModel(t)
		}
		s := newSession(t, start, nil)
		if _, err := s.Move(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		device.late = true
		err := s.Prefill(t.Context(), stream(20))
		if moved != (err == nil) || err != nil && !errors.Is(err, errDevice) || moved != (len(s.DeviceErrors()) == 1) {
			t.Errorf("moved %t: %v, setbacks %v", moved, err, s.DeviceErrors())
		}
		if moved != (logitsOf(s) != nil) {
			t.Errorf("moved %t: %d logits", moved, len(logitsOf(s)))
		}
	}
}

// TestMoveBringsLogits moves a session with logits on the device that it leaves, which may refuse to give them.
func TestMoveBringsLogits(t *testing.T) {
	home := pebbleModel(t)
	want := told(t, newSession(t, home, nil), llama.Params{}, nothing)
	for _, unreadable := range []bool{false, true} {
		device := newDistant()
		device.unreadable = unreadable
		s := newSession(t, otherModel(t, device), nil)
		got := told(t, s, llama.Params{}, func(i int) {
			if i == 6 {
				if _, err := s.Move(t.Context(), home); err != nil {
					t.Fatal(err)
				}
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("unreadable %t: answered %v, want %v", unreadable, got, want)
		}
		if s.DeviceErrors() != nil || device.reads != 1 {
			t.Errorf("unreadable %t: %d reads, setbacks %v", unreadable, device.reads, s.DeviceErrors())
		}
	}
}
