package llama_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// lossy returns a fault of a device that is lost at a call of any operation that caches need. What it holds can then still be
// read, or not.
func lossy() *backendtest.Fault {
	return &backendtest.Fault{Err: errDevice, In: []string{"Attend", "RoPEStore", "Compact", "CopySlice", "AccumulateAttention", "ReadSlots", "WriteSlots", "CopyPage", "RoPE", "ReadBuffer"}}
}

// spare reports whether what a lost device holds can be read.
func spare(fault *backendtest.Fault, readable bool) {
	if fault.Spared = nil; readable {
		fault.Spared = []string{"ReadBuffer", "ReadSlots"}
	}
}

// evictors are policies that read, move and rotate in different ways.
func evictors(t *testing.T, budget int) map[string]*llama.SessionOptions {
	return map[string]*llama.SessionOptions{
		"sinks":        {Eviction: policyOf(t, "sliding", budget), Positions: llama.ReanchorSinks},
		"turned sinks": {Eviction: policyOf(t, "sliding", budget), Positions: llama.ReanchorSinks, KV: tensor.Q4_0},
		"h2o":          {Eviction: policyOf(t, "h2o", budget)},
		"snapkv":       {Eviction: policyOf(t, "snapkv", budget)},
		"pyramidkv":    {Eviction: policyOf(t, "pyramidkv", budget)},
		"ada":          {Eviction: policyOf(t, "ada", budget)},
	}
}

// evictedBefore returns a session in which exactly the given number of evictions has happened.
func evictedBefore(t *testing.T, m *llama.Model, o *llama.SessionOptions, evictions int) *llama.Session {
	t.Helper()
	s := newSession(t, m, o)
	for n := 40; s.Position() < 40 || s.CacheUsage().Evictions < evictions; n = 1 {
		if err := s.Prefill(t.Context(), shortStream(s.Position() + n)[s.Position():]); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.CacheUsage().Evictions; got != evictions {
		t.Fatalf("%d evictions, want %d", got, evictions)
	}
	return s
}

// lose moves a copy of a session to a device that is lost after some calls, and runs something there. It reports whether
// the device was lost, which it is not if fewer calls were made.
func lose(t *testing.T, base *llama.Session, to *llama.Model, fault *backendtest.Fault, calls int, run func(s *llama.Session)) (lost bool) {
	t.Helper()
	fault.Disarm()
	s := fork(t, base)
	defer s.Close()
	if _, err := s.Move(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	fault.Arm(calls)
	run(s)
	return fault.Struck()
}

// stride returns the distance of moments that are tried: n if the test may take long, 1 if everything is tried.
func stride(n int) int { return effort.Of(4*n, n, 1) }

// TestDeviceLostDuringEviction loses the device that a session was moved to at each call of an eviction in turn. If the cache can be
// copied, or computed anew, the session goes on on its first device as if nothing had happened; else the error says so.
func TestDeviceLostDuringEviction(t *testing.T) {
	effort.Turn(t, 8)
	fault := lossy()
	m, other := pebbleModel(t), otherModel(t, backendtest.NewDevice(cpu.New(1), fault.Before))
	deviceLostDuringEviction(t, fault, m, other, evictors(t, 48))
}

// TestFamilyDeviceLostDuringEviction is TestDeviceLostDuringEviction for models with states, which go back to that of the eviction, and for models with layers that
// share caches of several sizes.
func TestFamilyDeviceLostDuringEviction(t *testing.T) {
	effort.Turn(t, 8)
	for i, family := range unlikeFamilies {
		if !effort.Share(i, 2) {
			continue
		}
		fault := recurrentFault(false)
		m, other := familyModel(t, family, nil), familyModel(t, family, &llama.LoadOptions{Backend: backendtest.NewDevice(cpu.New(1), fault.Before)})
		all := evictors(t, 48)
		for name, o := range all {
			if o.KV.Quantized() && m.Config().HeadDim%o.KV.BlockLen() != 0 {
				delete(all, name)
			}
		}
		deviceLostDuringEviction(t, fault, m, other, all)
	}
}

// deviceLostDuringEviction loses the device of the model other by fault.
func deviceLostDuringEviction(t *testing.T, fault *backendtest.Fault, m, other *llama.Model, all map[string]*llama.SessionOptions) {
	for name, options := range all {
		for _, before := range []int{0, 1} {
			base := evictedBefore(t, m, options, before)
			want := fork(t, base)
			wanted, err := want.Evict(30)
			if err != nil {
				t.Fatal(err)
			}
			goOn(t, want, 2)
			state, fresh := save(t, want), newSession(t, m, options)
			anew := goOn(t, fresh, 2)
			for _, readable := range []bool{true, false} {
				spare(fault, readable)
				for calls, lost := 0, true; lost; calls += stride(5) {
					what := fmt.Sprintf("%s after %d evictions, readable %v, lost at call %d", name, before, readable, calls)
					lost = lose(t, base, other, fault, calls, func(s *llama.Session) {
						result, err := s.Evict(30)
						result.Duration = wanted.Duration
						lost := fault.Struck()
						if !lost {
							fault.Disarm()
						}
						switch {
						case err != nil && before == 0:
							t.Errorf("%s: %v", what, err)
						case err != nil:
							checkStuck(t, what, s, err, anew)
						case result != wanted:
							t.Errorf("%s: %+v, want %+v", what, result, wanted)
						default:
							if goOn(t, s, 2); !bytes.Equal(save(t, s), state) {
								t.Errorf("%s: the session went on differently", what)
							}
						}
						if b := s.DeviceErrors(); err == nil && lost && (len(b) != 1 || !errors.Is(b[0], errDevice)) {
							t.Errorf("%s: setbacks %v", what, b)
						}
					})
				}
			}
		}
	}
}

// checkStuck checks a session that cannot go back with its cache: its errors say so until it begins anew on its first device, and then it
// gives the logits of a new session.
func checkStuck(t *testing.T, what string, s *llama.Session, err error, anew []float32) {
	t.Helper()
	if !errors.Is(err, errDevice) || !strings.Contains(err.Error(), "cannot be copied, nor computed anew") {
		t.Errorf("%s: %v", what, err)
	}
	if then := s.Prefill(t.Context(), shortStream(1)); !errors.Is(then, errDevice) || errors.Is(err, kvcache.ErrBroken) && !errors.Is(then, kvcache.ErrBroken) {
		t.Errorf("%s: %v, and then %v", what, err, then)
	}
	if err := s.Truncate(0); err != nil {
		t.Errorf("%s: begin anew: %v", what, err)
	}
	if !slices.Equal(goOn(t, s, 2), anew) {
		t.Errorf("%s: begun anew, the session gives other logits", what)
	}
}

// TestDeviceLostDuringAnswer loses the device at calls of a few tokens with an eviction among them. The answer stays the same;
// only when nothing can be read back from the device, and the eviction was before, it ends with what has been delivered.
func TestDeviceLostDuringAnswer(t *testing.T) {
	effort.Turn(t, 8)
	fault := lossy()
	m, other := pebbleModel(t), otherModel(t, backendtest.NewDevice(cpu.New(1), fault.Before))
	prompt, err := m.Tokenizer().Template(story, llama.TemplateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	generate := func(s *llama.Session) (tokens []llama.Token, err error) {
		for piece, err := range s.Generate(t.Context(), nil, llama.Params{MaxTokens: 6, Temperature: 0.5, Seed: 3}) {
			if err != nil {
				return tokens, err
			}
			tokens = append(tokens, piece.Tokens...)
		}
		return tokens, nil
	}
	for name, options := range evictors(t, len(prompt)+1) {
		base := newSession(t, m, options)
		if err := base.Prefill(t.Context(), prompt); err != nil {
			t.Fatal(err)
		}
		undisturbed := fork(t, base)
		want, err := generate(undisturbed)
		if err != nil || undisturbed.CacheUsage().Evictions != 1 {
			t.Fatalf("%s: %v, %+v", name, err, undisturbed.CacheUsage())
		}
		state := save(t, undisturbed)
		for _, readable := range []bool{true, false} {
			spare(fault, readable)
			for calls, lost := 0, true; lost; calls += stride(21) {
				what := fmt.Sprintf("%s, readable %v, lost at call %d", name, readable, calls)
				lost = lose(t, base, other, fault, calls, func(s *llama.Session) {
					got, err := generate(s)
					lost := fault.Struck()
					fault.Disarm()
					switch {
					case err != nil && !readable && s.CacheUsage().Evictions == 1:
						if !errors.Is(err, errDevice) || !slices.Equal(got, want[:len(got)]) {
							t.Errorf("%s: %v, %v", what, got, err)
						}
					case err != nil || !slices.Equal(got, want):
						t.Errorf("%s: %v, want %v; %v", what, got, want, err)
					case !bytes.Equal(save(t, s), state):
						t.Errorf("%s: the cache is another", what)
					case lost && len(s.DeviceErrors()) != 1:
						t.Errorf("%s: setbacks %v", what, s.DeviceErrors())
					}
				})
			}
		}
	}
}

// fork copies a session for a test.
func fork(t *testing.T, s *llama.Session) *llama.Session {
	t.Helper()
	f, err := s.Fork()
	if err != nil {
		t.Fatal(err)
	}
	return f
}
