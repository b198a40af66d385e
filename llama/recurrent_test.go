package llama_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// recurrentFault is a device's that is lost, or fails once, at a call of any operation that changes a state.
func recurrentFault(once bool) *backendtest.Fault {
	fault := lossy()
	fault.In, fault.Once = append(fault.In, "Convolve", "Recur"), once
	return fault
}

// slowDevice is a device with a fault, on which drafts pay.
func slowDevice(fault *backendtest.Fault, slow time.Duration) *backendtest.Device {
	return backendtest.NewDevice(cpu.New(1), func(call string, t *tensor.Tensor) error {
		if call == "Gather" {
			time.Sleep(slow)
		}
		return fault.Before(call, t)
	})
}

// recurrentCalls are calls that take states forward and back. Each is tried again until it succeeds, at most tries times. went is how the
// conversation goes on, for drafts.
func recurrentCalls(t *testing.T, s *llama.Session, went []llama.Token, tries int) (drafted, accepted int, err error) {
	params := llama.Params{MaxTokens: 9, Temperature: 0.5, Seed: 3}
	calls := []func() error{
		func() error { return s.Prefill(t.Context(), shortStream(120)[s.Position():]) },
		func() error {
			if params.MaxTokens <= 0 {
				return nil
			}
			params.Draft = &guesser{went, rand.New(rand.NewPCG(5, 7))}
			before := s.Position()
			piece, err := llama.Collect(s.Generate(t.Context(), nil, params))
			drafted, accepted = drafted+piece.Stats.DraftedTokens, accepted+piece.Stats.AcceptedTokens
			params.MaxTokens -= s.Position() - before
			params.Temperature = 0 // the generator of another answer begins anew
			return err
		},
		func() error { return s.Truncate(len(s.Tokens()) - 4) },
		func() error { return s.Prefill(t.Context(), []llama.Token{9}) },
		func() error { return s.Truncate(110) },
		func() error { return s.Prefill(t.Context(), nil) },
		func() error { return s.Prefill(t.Context(), shortStream(140)[len(s.Tokens()):]) },
	}
	for _, call := range calls {
		for try := 0; ; try++ {
			err := call()
			if err == nil {
				break
			}
			if try == tries-1 {
				return drafted, accepted, err
			}
		}
	}
	return drafted, accepted, nil
}

// TestRecurrentDeviceLost loses the device that a session was moved to at each call of prompts, answers with drafts and Truncates in turn:
// the session goes on on its first device as if nothing had happened.
func TestRecurrentDeviceLost(t *testing.T) {
	effort.Turn(t, 8)
	fault := recurrentFault(false)
	drafts, accepted := 0, 0
	for _, family := range recurrentFamilies {
		m := familyModel(t, family, nil)
		other := familyModel(t, family, &llama.LoadOptions{Backend: slowDevice(fault, 300*time.Microsecond)})
		for i, options := range []*llama.SessionOptions{{Chunk: 33}, {Snapshots: llama.NoSnapshots, Chunk: 50}} {
			base := newSession(t, m, options)
			if err := base.Prefill(t.Context(), shortStream(90)); err != nil {
				t.Fatal(err)
			}
			plain := fork(t, base)
			if _, _, err := recurrentCalls(t, plain, nil, 1); err != nil {
				t.Fatal(err)
			}
			went := answered(t, base)
			state := save(t, plain)
			for _, readable := range []bool{true, false} {
				spare(fault, readable)
				for calls, lost := 0, true; lost; calls += stride(23) {
					lost = lose(t, base, other, fault, calls, func(s *llama.Session) {
						d, a, err := recurrentCalls(t, s, went, 1)
						drafts, accepted = drafts+d, accepted+a
						if !fault.Struck() {
							fault.Disarm()
						}
						if err != nil || !bytes.Equal(save(t, s), state) {
							t.Errorf("%s %d, readable %v, lost at call %d: the session went on differently: %v", family, i, readable, calls, err)
						}
					})
				}
			}
		}
	}
	t.Logf("%d tokens were drafted, and %d of them accepted", drafts, accepted)
}

// answered returns the tokens with which recurrentCalls's answer goes on.
func answered(t *testing.T, base *llama.Session) []llama.Token {
	t.Helper()
	s := fork(t, base)
	defer s.Close()
	if err := s.Prefill(t.Context(), shortStream(120)[s.Position():]); err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Generate(t.Context(), nil, llama.Params{MaxTokens: 9, Temperature: 0.5, Seed: 3}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s.Tokens()
}

// TestRecurrentDeviceFailsOnce lets one call of a session fail that has nowhere to go back to: done again, the call gives what it would
// have given.
func TestRecurrentDeviceFailsOnce(t *testing.T) {
	effort.Turn(t, 8)
	fault := recurrentFault(true)
	for _, family := range recurrentFamilies {
		m := familyModel(t, family, &llama.LoadOptions{Backend: slowDevice(fault, 100*time.Microsecond)})
		for i, options := range []*llama.SessionOptions{{Chunk: 33}, {Snapshots: llama.NoSnapshots}} {
			run := func(s *llama.Session) error {
				if err := s.Prefill(t.Context(), shortStream(30)); err != nil {
					return err
				}
				for n := 31; n <= 34; n++ { // in place
					if err := s.Prefill(t.Context(), shortStream(n)[n-1:]); err != nil {
						return err
					}
				}
				for _, err := range s.Generate(t.Context(), nil, llama.Params{MaxTokens: 4}) {
					if err != nil {
						return err
					}
				}
				if err := s.Truncate(32); err != nil {
					return err
				}
				return s.Prefill(t.Context(), []llama.Token{7, 8})
			}
			for calls, struck := 0, true; struck; calls += stride(7) {
				s := newSession(t, m, options)
				fault.Arm(calls)
				err := run(s)
				struck = fault.Struck()
				fault.Disarm()
				if struck != errors.Is(err, errDevice) {
					t.Fatalf("%s %d, call %d: %v", family, i, calls, err)
				}
				// Whatever failed, the session goes on from its tokens as a new one does.
				want := newSession(t, m, options)
				tokens := append(s.Tokens(), 3)
				if err := errors.Join(want.Prefill(t.Context(), tokens), s.Prefill(t.Context(), tokens[len(tokens)-1:])); err != nil {
					t.Fatalf("%s %d, call %d: %v", family, i, calls, err)
				}
				if !slices.Equal(logitsOf(s), logitsOf(want)) {
					t.Errorf("%s %d: after call %d failed (%v), at %d tokens, the logits are others", family, i, calls, err, len(tokens)-1)
				}
				s.Close()
				want.Close()
			}
			if left := m.MemoryUsage().Caches; left != 0 {
				t.Errorf("%s: %d bytes are left", family, left)
			}
		}
	}
}

// turns makes a conversation of messages that end with an end token, as a chat template does.
func turns(m *llama.Model, random *rand.Rand, messages, length int) (tokens []llama.Token) {
	end := m.Config().EOS[0]
	for range messages {
		for range length/2 + random.IntN(length) {
			tokens = append(tokens, llama.Token(10+random.IntN(240)))
		}
		tokens = append(tokens, end)
	}
	return tokens
}

// TestEditedTurn edits the middle turn of a chat of twenty turns, and counts the tokens that are computed again: hardly more than what
// comes after the change.
func TestEditedTurn(t *testing.T) {
	effort.Turn(t, 8)
	m := familyModel(t, "lfm2", nil)
	for _, snapshots := range []int{4, 8, 16} {
		p := newPool(t, m, &llama.PoolOptions{Session: llama.SessionOptions{Snapshots: snapshots}})
		random := rand.New(rand.NewPCG(1, 2))
		var history []llama.Token
		var begins []int // of the turns
		params := llama.Params{MaxTokens: 20, Temperature: 1, Seed: 4}
		ask := func(prompt []llama.Token) llama.Piece {
			t.Helper()
			piece, err := llama.Collect(p.Generate(t.Context(), prompt, params))
			if err != nil {
				t.Fatal(err)
			}
			history = append(slices.Clone(prompt), piece.Tokens...)
			return piece
		}
		for turn := range 20 {
			begins = append(begins, len(history))
			if turn > 0 {
				history = append(history, m.Config().EOS[0])
			}
			if s := ask(append(history, turns(m, random, 1, 40)...)).Stats; turn > 0 && s.PromptTokens-s.ReusedTokens > 62 {
				t.Errorf("turn %d: %d tokens of %d were reused", turn, s.ReusedTokens, s.PromptTokens)
			}
		}
		whole := len(history)
		for _, turn := range []int{10, 10, 3, 17} {
			at := begins[turn] + 1
			edited := slices.Clone(history)
			edited[at+3] = edited[at+3]%300 + 11
			before := p.Stats()
			piece := ask(edited)
			fresh := newSession(t, m, nil)
			if want, err := llama.Collect(fresh.Generate(t.Context(), edited, params)); err != nil || !slices.Equal(piece.Tokens, want.Tokens) {
				t.Fatalf("the answer is not a new session's: %v", err)
			}
			fresh.Close()
			computed, must := piece.Stats.PromptTokens-piece.Stats.ReusedTokens, len(edited)-at-3
			t.Logf("%d snapshots: changed at %d of %d tokens: %d computed, %d come after the change", snapshots, at+3, whole, computed, must)
			if counted := int(p.Stats().ComputedTokens - before.ComputedTokens); counted != computed {
				t.Errorf("the pool counts %d tokens, the answer %d", counted, computed)
			}
			if float64(computed) > (1+8/float64(snapshots))*float64(must)+16 {
				t.Errorf("%d snapshots, turn %d: %d tokens are computed, %d come after the change", snapshots, turn, computed, must)
			}
		}
		p.Close()
	}
}

// TestBranches goes back to one place again and again: from the second time on nothing before it is computed.
func TestBranches(t *testing.T) {
	effort.Turn(t, 8)
	for _, family := range recurrentFamilies {
		m := familyModel(t, family, nil)
		s := newSession(t, m, nil)
		common := shortStream(150)
		for i := range 6 {
			reused, err := s.Sync(t.Context(), append(slices.Clone(common), llama.Token(240+i), 5, 6))
			if err != nil {
				t.Fatal(err)
			}
			if i > 1 && reused != len(common) {
				t.Errorf("%s: the beginning of %d tokens is shared, and %d were reused at time %d", family, len(common), reused, i)
			}
			want := newSession(t, m, nil)
			if err := want.Prefill(t.Context(), s.Tokens()); err != nil || !slices.Equal(logitsOf(s), logitsOf(want)) {
				t.Errorf("%s, time %d: the logits are not a new session's: %v", family, i, err)
			}
			want.Close()
		}
	}
}

// TestPoolSharesSystemPrompts asks a pool with one beginning and many ends, one after the other and at once.
func TestPoolSharesSystemPrompts(t *testing.T) {
	for _, family := range recurrentFamilies {
		m := familyModel(t, family, nil)
		random := rand.New(rand.NewPCG(3, 4))
		system := turns(m, random, 1, 150)
		p := newPool(t, m, &llama.PoolOptions{MaxSessions: 3})
		const asks = 8
		done := make(chan error, asks)
		for i := range asks {
			prompt := append(slices.Clone(system), turns(m, random, 1, 10+i)...)
			go func() {
				_, err := llama.Collect(p.Generate(t.Context(), prompt, llama.Params{MaxTokens: 3}))
				done <- err
			}()
		}
		for range asks {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		stats := p.Stats()
		if want := int64((asks - 1) * len(system)); stats.ReusedTokens < want {
			t.Errorf("%s: %d tokens were reused, want %d: %+v", family, stats.ReusedTokens, want, stats)
		}
		p.Close()
	}
}

// TestSnapshotsWithinABudget bounds a pool's memory: snapshots go before conversations do, and those that conversations share last.
func TestSnapshotsWithinABudget(t *testing.T) {
	m := familyModel(t, "qwen35", nil)
	random := rand.New(rand.NewPCG(3, 4))
	for _, maxBytes := range []int64{1, 500 << 10, 4 << 20} {
		p := newPool(t, m, &llama.PoolOptions{MaxBytes: maxBytes, Session: llama.SessionOptions{SnapshotEvery: 20}})
		system := turns(m, random, 1, 100)
		for range effort.Of(6, 12, 30) {
			prompt := append(slices.Clone(system), turns(m, random, 2, 30)...)
			if _, err := llama.Collect(p.Generate(t.Context(), prompt, llama.Params{MaxTokens: 3})); err != nil {
				t.Fatal(err)
			}
			if stats := p.Stats(); stats.Bytes > maxBytes && stats.Idle > 0 {
				t.Errorf("%d bytes, with a budget of %d", stats.Bytes, maxBytes)
			}
		}
		t.Logf("%d bytes: %+v", maxBytes, p.Stats())
		p.Close()
		if left := m.MemoryUsage().Caches; left != 0 {
			t.Errorf("%d bytes are left", left)
		}
	}
}

// TestSavedSnapshots restores a session with its snapshots: going back computes no more than before.
func TestSavedSnapshots(t *testing.T) {
	m := familyModel(t, "granite4h", nil)
	for _, saved := range []bool{true, false} {
		o := &llama.SessionOptions{SaveSnapshots: saved}
		s := newSession(t, m, o)
		tokens := turns(m, rand.New(rand.NewPCG(3, 4)), 4, 40)
		if err := s.Prefill(t.Context(), tokens); err != nil {
			t.Fatal(err)
		}
		restored, err := m.Restore(bytes.NewReader(save(t, s)), o)
		if err != nil {
			t.Fatal(err)
		}
		other := append(slices.Clone(tokens[:len(tokens)-10]), 5, 6)
		var reused [2]int
		for i, s := range []*llama.Session{s, restored} {
			if reused[i], err = s.Sync(t.Context(), other); err != nil {
				t.Fatal(err)
			}
		}
		if want := reused[0]; reused[0] == 0 || saved && reused[1] != want || !saved && reused[1] != 0 || !slices.Equal(logitsOf(s), logitsOf(restored)) {
			t.Errorf("snapshots saved %v: %v tokens are reused", saved, reused)
		}
		restored.Close()
	}
}

// TestRecurrentDraftModel drafts with a recurrent model: it goes back a few tokens before each draft, and computes no prompt again.
func TestRecurrentDraftModel(t *testing.T) {
	for _, family := range recurrentFamilies {
		passes := 0
		small := familyModel(t, family, &llama.LoadOptions{Trace: &llama.Trace{Pass: func(i llama.PassInfo) { passes += i.Prompts }}})
		d, err := llama.NewDraftModel(small, nil)
		if err != nil {
			t.Fatal(err)
		}
		context := shortStream(200)
		for range 30 {
			draft := d.Draft(make([]llama.Token, 0, 4), context)
			context = append(context, 7)
			context = append(context, draft[:min(1, len(draft))]...)
		}
		if passes > 500 {
			t.Errorf("%s: the draft model computed %d rows of prompts", family, passes)
		}
	}
}
