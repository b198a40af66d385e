//go:build opencl && (amd64 || arm64)

package opencl

import (
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// TestSimpleKernels computes with the kernels that are compiled first alone: those that replace them are never ready.
func TestSimpleKernels(t *testing.T) {
	b := openTest(t, Options{})
	b.queue.programs.Patient, b.queue.programs.Refuses = true, true
	backendtest.Run(t, b)
}

// TestReady has better kernels compiled while a model answers, and the same answers before and after.
func TestReady(t *testing.T) {
	b := openTest(t, Options{chainGroups: 1})
	p := b.queue.programs
	p.Patient = true
	p.Hold(true)
	m, err := pebble.Load(&llama.LoadOptions{Backend: b, WarmUp: -1})
	must(t, err)
	defer m.Close()
	answer := func() string {
		t.Helper()
		s, err := m.NewSession(nil)
		must(t, err)
		defer s.Close()
		var text strings.Builder
		prompt := m.Tokenizer().EncodeSpecial(strings.Repeat("Once upon a time ", 10), true)
		for piece, err := range s.Generate(t.Context(), prompt, llama.Params{MaxTokens: 8}) {
			must(t, err)
			text.WriteString(piece.Text)
		}
		return text.String()
	}
	before := answer()
	waited := p.Busy()
	if waited == 0 || b.products.chain.launches > 0 {
		t.Fatalf("%d programs wait, and %d chains were launched", waited, b.products.chain.launches)
	}
	p.Hold(false)
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if p.Busy() == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("programs are not compiled")
		}
	}
	if after := answer(); after != before {
		t.Errorf("%q, and before better kernels %q", after, before)
	}
	if b.products.chain.launches == 0 {
		t.Error("no chain was launched")
	}
}
