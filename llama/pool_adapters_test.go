package llama_test

import (
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// TestAdaptersInOnePool asks one pool with several adapters at once, twice: each answer has the bits of a session alone, and only answers with the
// same adapter share what they have computed.
func TestAdaptersInOnePool(t *testing.T) {
	effort.Turn(t, 8)
	m, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	adapter, err := m.LoadAdapter("testdata/adapter")
	if err != nil {
		t.Fatal(err)
	}
	other, err := m.LoadAdapter("testdata/adapter")
	if err != nil {
		t.Fatal(err)
	}
	kinds := []llama.SessionOptions{{}, {Adapter: adapter}, {Adapter: adapter, AdapterScale: -0.5}, {Adapter: other, AdapterScale: 0.25}}
	history := []llama.Message{{Role: llama.RoleUser, Content: "Tell me a story about a fox that is tired of the rain, and of a bear that is not, in the woods."}}
	prompt, err := m.Tokenizer().Template(history, llama.TemplateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	params := func(i int) llama.Params {
		return llama.Params{MaxTokens: 12, Logprobs: 3, Temperature: 1, Seed: 7, Adapter: kinds[i].Adapter, AdapterScale: kinds[i].AdapterScale}
	}
	want := make([]llama.Piece, len(kinds))
	for i := range kinds {
		s, err := m.NewSession(&kinds[i])
		if err != nil {
			t.Fatal(err)
		}
		if want[i], err = llama.Collect(s.Chat(t.Context(), history, params(i))); err != nil {
			t.Fatal(err)
		}
		for j := range i {
			if reflect.DeepEqual(want[i].Logprobs, want[j].Logprobs) {
				t.Fatalf("the adapters %d and %d do the same", i, j)
			}
		}
		_, err = llama.Collect(s.Generate(t.Context(), nil, params((i+1)%len(kinds))))
		if next := kinds[(i+1)%len(kinds)].Adapter; next != nil && !errors.As(err, new(*llama.ParamError)) {
			t.Errorf("a session with the adapter %d takes another: %v", i, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	pool, err := m.NewPool(&llama.PoolOptions{MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for round := range 2 {
		var running sync.WaitGroup
		for i := range kinds {
			running.Go(func() {
				got, err := llama.Collect(pool.Answer(t.Context(), prompt, params(i)))
				if err != nil || !reflect.DeepEqual(got.Logprobs, want[i].Logprobs) {
					t.Errorf("round %d, adapter %d: %q, a session alone says %q: %v", round, i, got.Text, want[i].Text, err)
				}
				if reused := got.Stats.ReusedTokens; (reused > 0) != (round > 0) {
					t.Errorf("round %d, adapter %d: %d tokens were computed before", round, i, reused)
				}
			})
		}
		running.Wait()
	}
	if idle := pool.Stats().Idle; idle != len(kinds) {
		t.Errorf("%d conversations are idle", idle)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if err := pool.Check(prompt, params(3)); !errors.Is(err, llama.ErrClosed) {
		t.Errorf("an adapter that is closed: %v", err)
	}
	if _, err := llama.Collect(pool.Answer(t.Context(), prompt, params(0))); err != nil {
		t.Error(err)
	}
	if idle := pool.Stats().Idle; idle != len(kinds)-1 {
		t.Errorf("%d conversations are idle after an adapter was closed", idle)
	}
	for _, p := range []llama.Params{{AdapterScale: 1}, {Adapter: adapter, AdapterScale: 1000}} {
		if err := pool.Check(prompt, p); !errors.As(err, new(*llama.ParamError)) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}
