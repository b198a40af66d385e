//go:build opencl && (amd64 || arm64)

package opencl

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// TestOnly leaves each kernel of each file alone, and then finds one.
func TestOnly(t *testing.T) {
	files, err := fs.Glob(embedded, "kernels/*.cl")
	must(t, err)
	head := regexp.MustCompile(`(?m)^(__kernel|KERNEL|SPLIT\(|WIDEN\(|WIDEN_SPLIT\()`)
	found := map[string]bool{}
	for _, file := range files {
		data, err := embedded.ReadFile(file)
		must(t, err)
		text := string(data)
		kernels := kernelText.FindAllStringSubmatch(text, -1)
		if n := len(head.FindAllString(text, -1)); n != len(kernels) {
			t.Errorf("%s has %d kernels, %d are found", file, n, len(kernels))
		}
		for _, m := range kernels {
			name := m[1]
			if m[2] != "" {
				name = strings.ToLower(m[2]) + "_" + m[3]
			}
			found[name] = true
			one := only(text, name)
			if !strings.Contains(one, m[0]) || len(head.FindAllString(one, -1)) != 1 {
				t.Errorf("%s does not have %s alone", file, name)
			}
			if strings.Count(one, "\n") != strings.Count(text, "\n") {
				t.Errorf("%s has other lines for %s", file, name)
			}
		}
	}
	for _, name := range []string{"attend", "expert_matvec", "split_q6_k", "widen_split_mxfp4", "rms_norm", "scale"} {
		if !found[name] {
			t.Errorf("%s is not found", name)
		}
	}
}

// TestSimpleKernels computes with the kernels that are compiled first alone: those that replace them are never ready.
func TestSimpleKernels(t *testing.T) {
	b := openTest(t, Options{})
	b.queue.programs.patient, b.queue.programs.refused = true, true
	backendtest.Run(t, b)
}

// TestReady has better kernels compiled while a model answers, and the same answers before and after.
func TestReady(t *testing.T) {
	b := openTest(t, Options{chainGroups: 1})
	p := &b.queue.programs
	p.patient = true
	p.hold(true)
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
	waited := len(p.waiting)
	if waited == 0 || b.products.chain.launches > 0 {
		t.Fatalf("%d programs wait, and %d chains were launched", waited, b.products.chain.launches)
	}
	p.hold(false)
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		working := p.working
		p.mu.Unlock()
		if working == 0 {
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
