package llama_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestCopiesAreTheOriginal plays the same random calls, Truncate included, in sessions that are replaced before each call: by themselves,
// by a fork, by a session restored from a saved state, and by a session moved to another device. After each call their saved states, logits
// and records included, must be equal byte for byte.
func TestCopiesAreTheOriginal(t *testing.T) {
	effort.Turn(t, 8)
	copiesAreTheOriginal(t, 0, twoDevices(t), append(plainOptions(t),
		&llama.SessionOptions{Eviction: policyOf(t, "pyramidkv", 32)},
		&llama.SessionOptions{Eviction: policyOf(t, "ada", 32)},
		&llama.SessionOptions{Eviction: policyOf(t, "snapkv", 30), Capacity: 100, EvictAfterPrompt: true, Chunk: 16},
		&llama.SessionOptions{Eviction: policyOf(t, "h2o", 30), Capacity: 100, EvictAfterPrompt: true, Chunk: 16}))
}

// TestCopiesOfFamilies is TestCopiesAreTheOriginal for models with states that go back to snapshots: the copies have other snapshots, or no
// snapshots; and for models with layers that share caches of several sizes.
func TestCopiesOfFamilies(t *testing.T) {
	effort.Turn(t, 8)
	for number, family := range unlikeFamilies {
		t.Run(family, func(t *testing.T) {
			var models [2]*llama.Model
			for i := range models {
				models[i] = familyModel(t, family, &llama.LoadOptions{Backend: cpu.New(1)})
			}
			all := []*llama.SessionOptions{
				{Chunk: 16},
				{Chunk: 7, Snapshots: 2, SnapshotEvery: 5},
				{Snapshots: llama.NoSnapshots, KV: tensor.F32},
				{SaveSnapshots: true, Snapshots: 3, SnapshotEvery: 9},
				{Eviction: policyOf(t, "sliding", 24)},
				{Eviction: policyOf(t, "snapkv", 30), Chunk: 5},
				{Eviction: policyOf(t, "sliding", 40), Positions: llama.ReanchorSinks},
			}
			copiesAreTheOriginal(t, number, models, all)
		})
	}
}

// copiesAreTheOriginal plays the calls with each of some options. Unless the tests are long, half of them have their turn, which half goes by number.
func copiesAreTheOriginal(t *testing.T, number int, models [2]*llama.Model, all []*llama.SessionOptions) {
	copies := []struct {
		name string
		copy func(t *testing.T, s *llama.Session, o *llama.SessionOptions) *llama.Session
	}{
		{"original", func(_ *testing.T, s *llama.Session, _ *llama.SessionOptions) *llama.Session { return s }},
		{"fork", func(t *testing.T, s *llama.Session, _ *llama.SessionOptions) *llama.Session {
			f := fork(t, s)
			s.Close()
			return f
		}},
		{"restored", func(t *testing.T, s *llama.Session, o *llama.SessionOptions) *llama.Session {
			r, err := models[0].Restore(bytes.NewReader(save(t, s)), o)
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
			return r
		}},
		{"moved", func(t *testing.T, s *llama.Session, _ *llama.SessionOptions) *llama.Session {
			for _, to := range []*llama.Model{models[1], models[0]} {
				if _, err := s.Move(t.Context(), to); err != nil {
					t.Fatal(err)
				}
			}
			return s
		}},
	}
	for i, options := range all {
		if !effort.Share(number+i, 2) {
			continue
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			random := rand.New(rand.NewPCG(7, uint64(i)))
			sessions := make([]*llama.Session, len(copies))
			for c := range sessions {
				sessions[c] = newSession(t, models[0], options)
			}
			defer func() {
				for _, s := range sessions {
					s.Close()
				}
			}()
			before := 0
			for range effort.Of(12, 30, 100) {
				n := len(sessions[0].Tokens())
				what, run := randomCall(t, random, n, n-before)
				before = n
				var want []byte
				for c := range sessions {
					sessions[c] = copies[c].copy(t, sessions[c], options)
					err := run(sessions[c])
					if err != nil && !errors.Is(err, llama.ErrContextFull) && !errors.As(err, new(*llama.ParamError)) {
						t.Fatalf("%s: %s: %v", copies[c].name, what, err)
					}
					state := save(t, sessions[c])
					if c == 0 {
						want = state
					} else if !bytes.Equal(state, want) {
						t.Fatalf("%s: after %s the session is another than the original, at %d tokens", copies[c].name, what, len(sessions[c].Tokens()))
					}
				}
			}
		})
	}
}

// randomCall returns a call for sessions of n tokens, and the call's name. added is the number of tokens that the latest call added.
func randomCall(t *testing.T, random *rand.Rand, n, added int) (what string, run func(s *llama.Session) error) {
	tokens := slices.Clone(shortStream(100)[random.IntN(50):][:1+random.IntN(12)])
	back := random.IntN(min(n, 9) + 1)
	if added > 0 && random.IntN(2) == 0 {
		back = added
	}
	switch random.IntN(9) {
	case 0, 1, 2:
		return fmt.Sprintf("Prefill of %d", len(tokens)), func(s *llama.Session) error { return s.Prefill(t.Context(), tokens) }
	case 3:
		return "Generate", func(s *llama.Session) error {
			for _, err := range s.Generate(t.Context(), tokens[:1], llama.Params{MaxTokens: 5, Temperature: 1}) {
				if err != nil {
					return err
				}
			}
			return nil
		}
	case 4:
		return "Score", func(s *llama.Session) error {
			_, err := s.Score(t.Context(), tokens)
			return err
		}
	case 5:
		back = n
	}
	return fmt.Sprintf("Truncate by %d", back), func(s *llama.Session) error {
		if err := s.Truncate(n - back); err != nil || n == back {
			return err
		}
		return s.Prefill(t.Context(), tokens[:1])
	}
}
