package llama_test

import (
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestForksHoldTheirPrefixOnce forks a conversation 63 times. All of the copies together take the memory of one, until each goes on:
// then it takes a page of its own for each head and layer, and gives it back when it is closed.
func TestForksHoldTheirPrefixOnce(t *testing.T) {
	m, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c := m.Config()
	prefix := stream(min(1024, c.ContextLength-8))
	s := newSession(t, m, &llama.SessionOptions{KV: tensor.F16})
	if err := s.Prefill(t.Context(), prefix); err != nil {
		t.Fatal(err)
	}
	page := int64(2 * c.Layers * c.KVHeads * c.HeadDim * 2 * backend.PageSlots) // of keys and values, two bytes each, in all heads and layers
	one := m.MemoryUsage().Caches
	if pages := int64(len(prefix)+backend.PageSlots-1) / backend.PageSlots; one != pages*page {
		t.Errorf("%d tokens take %d bytes, want %d pages of %d", len(prefix), one, pages, page)
	}
	var forks []*llama.Session
	for range 63 {
		f := fork(t, s)
		defer f.Close()
		forks = append(forks, f)
	}
	if got := m.MemoryUsage().Caches; got != one {
		t.Errorf("64 sessions that share %d tokens take %d bytes, want %d as one does", len(prefix), got, one)
	}
	for i, f := range forks {
		if err := f.Prefill(t.Context(), []llama.Token{llama.Token(i)}); err != nil {
			t.Fatal(err)
		}
		if got, want := m.MemoryUsage().Caches, one+int64(i+1)*page; got != want {
			t.Fatalf("after %d of the forks have gone on there are caches of %d bytes, want %d", i+1, got, want)
		}
	}
	for _, f := range forks {
		f.Close()
	}
	if got := m.MemoryUsage().Caches; got != one {
		t.Errorf("%d bytes are left of the first session's caches and of 63 closed ones, want %d", got, one)
	}
}

// BenchmarkFork copies, and closes, a conversation that fills Pebble's context.
func BenchmarkFork(b *testing.B) {
	m := pebbleModel(b)
	s := newSession(b, m, nil)
	if err := s.Prefill(b.Context(), stream(m.Config().ContextLength)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f, err := s.Fork()
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}
