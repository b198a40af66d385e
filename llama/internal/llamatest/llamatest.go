// Package llamatest is for the tests of llama and of the rooms behind it, which load models and compute with them.
package llamatest

import (
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

var embedded = sync.OnceValues(func() (*llama.Model, error) { return pebble.Load(nil) })

// Pebble returns a model that answers. It is loaded once for all tests of a program, and never closed.
func Pebble(t testing.TB) *llama.Model {
	t.Helper()
	m, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Load loads a model, which is closed when the test ends.
func Load(t testing.TB, path string, o *llama.LoadOptions) *llama.Model {
	t.Helper()
	m, err := llama.Load(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// Session makes a session of a model, which is closed when the test ends.
func Session(t testing.TB, m *llama.Model, o *llama.SessionOptions) *llama.Session {
	t.Helper()
	s, err := m.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Logits returns a session's logits; nil if the session has no logits or is closed. They are valid until the session computes again.
func Logits(s *llama.Session) []float32 {
	l, err := s.Logits()
	if err != nil {
		return nil
	}
	return l
}

// User makes a conversation of one question.
func User(question string) []llama.Message {
	return []llama.Message{{Role: "user", Content: question}}
}
