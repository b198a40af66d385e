package llama_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

var errDevice = errors.New("the device is lost")

func otherModel(t testing.TB, b backend.Backend) *llama.Model {
	t.Helper()
	m, err := pebble.Load(&llama.LoadOptions{Backend: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func TestMoveKeepsTheConversation(t *testing.T) {
	whole := t
	others := map[string]*llama.Model{"pebble": otherModel(t, cpu.New(1))}
	eachModel(t, states(t), func(t *testing.T, family string, m *llama.Model, _ string, options *llama.SessionOptions) {
		if others[family] == nil {
			others[family] = familyModel(whole, family, &llama.LoadOptions{Backend: cpu.New(1)})
		}
		other := others[family]
		stay, move := newSession(t, m, options), newSession(t, m, options)
		for _, s := range []*llama.Session{stay, move} {
			if err := s.Prefill(t.Context(), shortStream(250)); err != nil {
				t.Fatal(err)
			}
		}
		caches := m.MemoryUsage().Caches
		report, err := move.Move(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		if report.Position != 250 || report.Bytes != stay.CacheUsage().Bytes || report.Duration <= 0 {
			t.Errorf("%+v", report)
		}
		if other.MemoryUsage().Caches == 0 || m.MemoryUsage().Caches >= caches {
			t.Error("the cache is not counted where it is")
		}
		if !slices.Equal(goOn(t, move, 60), goOn(t, stay, 60)) {
			t.Error("the moved session gives other logits")
		}
		move.Close()
		if other.MemoryUsage().Caches != 0 {
			t.Error("closing leaves memory behind")
		}
	})
}

// answer collects tokens, calling between after each.
func answer(t *testing.T, s *llama.Session, between func(i int)) (tokens []llama.Token, text string) {
	t.Helper()
	var all strings.Builder
	i := 0
	for piece, err := range s.Chat(t.Context(), story, llama.Params{MaxTokens: 40, RepeatPenalty: 1.1, Stop: []string{"nothing"}}) {
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, piece.Tokens...)
		all.WriteString(piece.Text)
		between(i)
		i++
	}
	return tokens, all.String()
}

func TestMoveInsideTheLoop(t *testing.T) {
	m, other := pebbleModel(t), otherModel(t, cpu.New(1))
	want, _ := answer(t, newSession(t, m, nil), func(int) {})
	s := newSession(t, m, nil)
	got, _ := answer(t, s, func(i int) {
		to := map[int]*llama.Model{5: other, 9: m, 10: other}[i]
		if to == nil {
			return
		}
		if _, err := s.Move(t.Context(), to); err != nil {
			t.Fatal(err)
		}
	})
	if !slices.Equal(got, want) {
		t.Errorf("with moves: %v, without: %v", got, want)
	}
}

func TestFailedMoveChangesNothing(t *testing.T) {
	m := pebbleModel(t)
	s := newSession(t, m, nil)
	if err := s.Prefill(t.Context(), stream(100)); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	other := otherModel(t, cpu.New(1))
	if _, err := s.Move(cancelled, other); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	other.Close()
	if _, err := s.Move(t.Context(), other); !errors.Is(err, llama.ErrClosed) {
		t.Errorf("to a closed model: %v", err)
	}
	want := newSession(t, m, nil)
	if err := want.Prefill(t.Context(), stream(100)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(goOn(t, s, 10), goOn(t, want, 10)) {
		t.Error("a failed move changes logits")
	}
}

// A device that fails at any call after a move loses no token and repeats no token.
func TestDeviceFailureGoesBack(t *testing.T) {
	effort.Turn(t, 8)
	m := pebbleModel(t)
	want, text := answer(t, newSession(t, m, nil), func(int) {})
	for _, readable := range []bool{true, false} {
		for i, calls := range []int{0, 1, 5, 6, 7, 8, 20, 50} {
			if !effort.Share(i, 2) {
				continue
			}
			fault := &backendtest.Fault{Err: errDevice, In: []string{"Attend", "MatMulTransposed"}, Lost: !readable} // the latter is the output head
			other := otherModel(t, backendtest.NewDevice(cpu.New(1), fault.Before))
			s := newSession(t, m, nil)
			got, gotText := answer(t, s, func(i int) {
				if i == 4 {
					if _, err := s.Move(t.Context(), other); err != nil {
						t.Fatal(err)
					}
					fault.Arm(calls)
				}
			})
			if !slices.Equal(got, want) || gotText != text {
				t.Errorf("failing after %d calls: %v, want %v", calls, got, want)
			}
			if b := s.DeviceErrors(); len(b) != 1 || !errors.Is(b[0], errDevice) {
				t.Errorf("failing after %d calls: setbacks %v", calls, b)
			}
			s.Close()
			other.Close()
		}
	}
}

func TestSwitch(t *testing.T) {
	m := pebbleModel(t)
	want, _ := answer(t, newSession(t, m, nil), func(int) {})
	load := func(context.Context) (*llama.Model, error) { return pebble.Load(&llama.LoadOptions{Threads: 1}) }
	slow := func(context.Context) (*llama.Model, error) {
		return pebble.Load(&llama.LoadOptions{Backend: backendtest.NewDevice(cpu.New(1), func(call string, _ *tensor.Tensor) error {
			if call == "Attend" {
				time.Sleep(10 * time.Millisecond) // slower than this processor in company and under the race detector
			}
			return nil
		})})
	}
	for name, c := range map[string]struct {
		options llama.SwitchOptions
		check   func(r llama.SwitchReport) bool
	}{
		"at a threshold":  {llama.SwitchOptions{Load: load, Threshold: 40}, func(r llama.SwitchReport) bool { return r.Moved && r.Migration.Position >= 40 }},
		"never reached":   {llama.SwitchOptions{Load: load, Threshold: 4000}, func(r llama.SwitchReport) bool { return !r.Moved && r.Ready && r.Err == nil }},
		"not worth it":    {llama.SwitchOptions{Load: slow, Expect: 1}, func(r llama.SwitchReport) bool { return !r.Moved && r.Threshold > 1 }},
		"loading fails":   {llama.SwitchOptions{Load: func(context.Context) (*llama.Model, error) { return nil, errDevice }}, func(r llama.SwitchReport) bool { return errors.Is(r.Err, errDevice) }},
		"loading panics":  {llama.SwitchOptions{Load: func(context.Context) (*llama.Model, error) { panic("driver") }}, func(r llama.SwitchReport) bool { return r.Err != nil }},
		"a closed device": {llama.SwitchOptions{Load: func(ctx context.Context) (*llama.Model, error) { m, _ := load(ctx); m.Close(); return m, nil }}, func(r llama.SwitchReport) bool { return r.Err != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, m, nil)
			w, err := llama.NewSwitch(t.Context(), s, c.options)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			defer s.Close()
			if err := w.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			var got []llama.Token
			for piece, err := range w.Watch(t.Context(), s.Chat(t.Context(), story, llama.Params{MaxTokens: 40, RepeatPenalty: 1.1})) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, piece.Tokens...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			if r := w.Report(); !c.check(r) || r.String() == "" || r.Threshold == math.MinInt {
				t.Errorf("%v (%+v)", r, r)
			}
		})
	}
	for _, bad := range []llama.SwitchOptions{{}, {Load: load, Threshold: -1}} {
		if _, err := llama.NewSwitch(t.Context(), newSession(t, m, nil), bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
