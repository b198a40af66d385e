package llama

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// all is a Constraint that allows everything, and sets bits that are no tokens. It forces some tokens at every n-th call, n = every.
type all struct{ every, n int }

func (a *all) Start() Matcher { return &all{every: a.every} }
func (a *all) Clone() Matcher { c := *a; return &c }
func (a *all) Accept(Token) error {
	a.n++
	return nil
}
func (a *all) Forced(dst []Token) []Token {
	if a.every > 0 && a.n%a.every == 1 {
		return append(dst, 5, 6, 7)
	}
	return dst
}
func (a *all) Allowed(set *TokenSet) error {
	for i := range set.Words() {
		set.Words()[i] = math.MaxUint64
	}
	return nil
}

// TestOnlyTokensAreAllowed gives a model more logits than its tokenizer has tokens, and a tokenizer more tokens than its model has logits:
// neither is allowed, and end tokens are allowed only if an answer may end.
func TestOnlyTokensAreAllowed(t *testing.T) {
	for _, c := range []struct{ tokens, logits int }{{100, 130}, {64, 128}, {100, 300}, {128, 128}, {130, 100}, {300, 100}} {
		end := Token(7)
		m := &Model{tokenizer: &Tokenizer{vocabulary: noVocabulary{c.tokens}}, ends: []Token{end}, config: &model.Config{VocabSize: c.logits, EOS: []int32{int32(end)}}}
		var s constraining
		for range 2 { // with new memory, and with memory used before
			if err := s.start(&all{}, m); err != nil {
				t.Fatal(err)
			}
			if over, err := s.next(); over || err != nil {
				t.Fatal(over, err)
			}
			if want := (c.logits + 63) / 64; len(s.allowed) != want {
				t.Fatalf("%+v: %d words, want %d", c, len(s.allowed), want)
			}
			for i := range 64 * len(s.allowed) {
				if got, want := s.allowed[i/64]>>(i%64)&1 != 0, i < c.tokens && Token(i) != end; got != want && i < c.logits {
					t.Errorf("%+v: token %d is allowed: %t", c, i, got)
				}
			}
			s.stop()
			if s.matcher != nil {
				t.Error("a matcher is kept")
			}
		}
	}
}

// allocations is testing.AllocsPerRun without its being limited to one processor; others' allocations count, too.
func allocations(runs int, f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(runs)
}

// TestConstrainedChoosingDoesNotAllocate computes and chooses token after token under a constraint, with forced tokens and without, with
// the matcher asked during steps, which a slow device makes worth it, and between them.
func TestConstrainedChoosingDoesNotAllocate(t *testing.T) {
	effort.Turn(t, 8)
	var pause time.Duration
	device := backendtest.NewDevice(cpu.New(1), func(call string, _ *tensor.Tensor) error {
		if call == "Gather" {
			time.Sleep(pause)
		}
		return nil
	})
	m := mustLoad(t, fixture.Path(t, "pebble/hf"), &LoadOptions{Backend: device})
	for _, pause = range []time.Duration{0, time.Millisecond} {
		for _, every := range []int{0, 8} {
			for _, p := range []Params{{}, {Temperature: 1, TopP: 0.9}, {RepeatPenalty: 1.1}} {
				s := mustSession(t, m, nil)
				if err := s.Prefill(t.Context(), []Token{1}); err != nil {
					t.Fatal(err)
				}
				if err := s.call.constraining.start(&all{every: every}, m); err != nil {
					t.Fatal(err)
				}
				s.call.params = p
				s.call.sampler.Start(p.sampling())
				s.call.sampler.Allowed = s.call.constraining.allowed
				overlapped, stats := 0, new(Stats)
				next := func() {
					if s.call.constraining.filling {
						overlapped++
					}
					over, err := s.call.constraining.next()
					if err != nil || over {
						t.Fatal(over, err)
					}
					token, forced, err := s.call.constraining.take()
					if err == nil && !forced {
						if token, err = s.call.choose(); err == nil {
							err = s.call.constraining.chosen(token)
						}
					}
					if err == nil {
						err = s.call.append(token, true, stats)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				for range 130 { // room in the token list, and scratch memory
					next()
				}
				overlapped = 0
				if n := allocations(60, next); n >= 0.9 {
					t.Errorf("%+v, forced every %d, steps longer by %v: %v allocations a token", p, every, pause, n)
				}
				if pause > 0 && runtime.GOMAXPROCS(0) > 1 && overlapped == 0 {
					t.Error("the matcher was not asked beside any step")
				}
				s.call.constraining.stop()
				s.Close()
			}
		}
	}
}
