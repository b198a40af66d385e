//go:build opencl && (amd64 || arm64)

package opencl_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend/opencl"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/quiz"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// device opens the device, or skips the test if there is no device.
func device(t testing.TB) *opencl.Backend {
	t.Helper()
	b, err := opencl.New(opencl.Options{})
	if errors.Is(err, opencl.ErrNoLibrary) || errors.Is(err, opencl.ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// load loads Pebble; a nil backend is the CPU.
func load(t testing.TB, b *opencl.Backend) *llama.Model {
	t.Helper()
	var o llama.LoadOptions
	if b != nil {
		o.Backend = b
	}
	m, err := pebble.Load(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func session(t testing.TB, m *llama.Model, o *llama.SessionOptions) *llama.Session {
	t.Helper()
	s, err := m.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// logitsOf returns a session's logits.
func logitsOf(t testing.TB, s *llama.Session) []float32 {
	t.Helper()
	l, err := s.Logits()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// answer answers a conversation whole.
func answer(t testing.TB, s *llama.Session, messages [][2]string) string {
	t.Helper()
	var history []llama.Message
	for _, m := range messages {
		history = append(history, llama.Message{Role: m[0], Content: m[1]})
	}
	var text strings.Builder
	for piece, err := range s.Chat(context.Background(), history, llama.Params{MaxTokens: 120}) {
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(piece.Text)
	}
	return text.String()
}

// TestPebbleTexts compares greedy texts with those of transformers; the longest has hundreds of tokens.
func TestPebbleTexts(t *testing.T) {
	m, err := llama.Load(fixture.Path(t, "pebble/hf"), &llama.LoadOptions{Backend: device(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, g := range generations(t) {
		var text strings.Builder
		for piece, err := range session(t, m, nil).Generate(context.Background(), g.PromptIDs, llama.Params{}) {
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(piece.Text)
		}
		if text.String() != g.Text {
			t.Errorf("%q, want %q", text.String(), g.Text)
		}
	}
}

// TestPebbleLogits holds logits, after a long prompt and token by token, to the CPU's bits, for weights and caches of every kind.
func TestPebbleLogits(t *testing.T) {
	d := device(t)
	tokens := load(t, d).Tokenizer().EncodeSpecial(strings.Repeat("The capital of Japan is Tokyo. Seven and eight are fifteen. ", 12), true)
	for _, c := range []struct{ weights, cache tensor.DType }{
		{tensor.F32, tensor.F32}, {tensor.F16, tensor.F16}, {tensor.BF16, tensor.F16}, {tensor.Q8_0, tensor.Q8_0}, {tensor.Q4_1, tensor.Q4_0}, {0, tensor.F16},
	} {
		both := [2]*llama.Session{}
		for i, o := range []*llama.LoadOptions{{Weights: c.weights, Backend: d}, {Weights: c.weights}} {
			m, err := pebble.Load(o)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			both[i] = session(t, m, &llama.SessionOptions{KV: c.cache})
		}
		for _, part := range [][]llama.Token{tokens[:100], tokens[100:101], tokens[101:105], tokens[105:]} {
			for _, s := range both {
				if err := s.Prefill(context.Background(), part); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(logitsOf(t, both[0]), logitsOf(t, both[1])) {
				t.Errorf("weights %v, cache %v: after %d more tokens the logits are others", c.weights, c.cache, len(part))
			}
		}
	}
}

// TestPebbleAnswers asks a spread sample of the held-out questions, or all of them where ANTIGRAVITY_EVAL is "all".
func TestPebbleAnswers(t *testing.T) {
	every, want := 78, 1.0
	if effort.All() {
		every, want = 1, 0.995
	}
	text, err := quiz.Pebble()
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, load(t, device(t)), nil)
	asked, right := 0, 0
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for i := 0; lines.Scan(); i++ {
		if i%every != 0 {
			continue
		}
		var q struct {
			Skill    string
			Messages [][2]string
			Answer   string
		}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		asked++
		if got := answer(t, s, q.Messages); got == q.Answer {
			right++
		} else {
			t.Logf("%s: %q, want %q", q.Skill, got, q.Answer)
		}
	}
	if accuracy := float64(right) / float64(asked); accuracy < want {
		t.Errorf("%d of %d answers are right: %g, want %g", right, asked, accuracy, want)
	}
}

// TestPebbleEviction feeds the device and the CPU the same tokens under every policy that forgets: what they keep, and the
// logits, are the same.
func TestPebbleEviction(t *testing.T) {
	var models [2]*llama.Model
	for i, o := range []*llama.LoadOptions{{Backend: device(t)}, nil} {
		var err error
		if models[i], err = pebble.Load(o); err != nil {
			t.Fatal(err)
		}
		defer models[i].Close()
	}
	tokens := models[0].Tokenizer().EncodeSpecial(strings.Repeat("Once upon a time there was a sleepy fox. ", 20), true)[:130]
	for _, name := range eviction.Names() {
		var logits [2][]float32
		var slots [2]int
		for i, m := range models {
			policy, err := eviction.ByName(name, eviction.Options{Budget: 48})
			if err != nil {
				t.Fatal(err)
			}
			s := session(t, m, &llama.SessionOptions{Capacity: 160, Eviction: policy})
			for at := 0; at < len(tokens); at += 13 {
				if err := s.Prefill(context.Background(), tokens[at:at+13]); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			logits[i], slots[i] = slices.Clone(logitsOf(t, s)), s.CacheLen()
		}
		if slots[0] != slots[1] || !slices.Equal(logits[0], logits[1]) {
			t.Errorf("%s: %d slots, want %d, or other logits", name, slots[0], slots[1])
		}
	}
}

// TestPebbleState saves a conversation in the middle, restores it there and on the CPU, and forks it: all go on alike.
func TestPebbleState(t *testing.T) {
	m := load(t, device(t))
	first := session(t, m, nil)
	if err := first.Prefill(context.Background(), m.Tokenizer().EncodeSpecial("Once upon a time", true)); err != nil {
		t.Fatal(err)
	}
	fork, err := first.Fork()
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	var state bytes.Buffer
	if err := first.Save(&state); err != nil {
		t.Fatal(err)
	}
	sessions := []*llama.Session{first, fork}
	for _, model := range []*llama.Model{m, load(t, nil)} {
		restored, err := model.Restore(bytes.NewReader(state.Bytes()), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer restored.Close()
		sessions = append(sessions, restored)
	}
	var texts []string
	for _, s := range sessions {
		var text strings.Builder
		for piece, err := range s.Generate(context.Background(), m.Tokenizer().EncodeSpecial(" there was", false), llama.Params{MaxTokens: 40}) {
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(piece.Text)
		}
		texts = append(texts, text.String())
	}
	if texts[0] == "" || len(slices.Compact(texts)) > 1 {
		t.Errorf("the session, its fork, and the restored ones say %q", texts)
	}
}

// BenchmarkModel measures a model's prefill of 512 tokens and its greedy decoding of 128 more; the model is Pebble, or the file that
// ANTIGRAVITY_MODEL names.
func BenchmarkModel(b *testing.B) {
	var m *llama.Model
	d := device(b)
	if path := os.Getenv("ANTIGRAVITY_MODEL"); path != "" {
		var err error
		if m, err = llama.Load(path, &llama.LoadOptions{Backend: d}); err != nil {
			b.Fatal(err)
		}
		defer m.Close()
	} else {
		m = load(b, d)
	}
	b.Logf("%s", d.Describe())
	tokens := make([]llama.Token, 512)
	for i := range tokens {
		tokens[i] = llama.Token((i*31 + 7) % m.Config().VocabSize)
	}
	for range b.N {
		s := session(b, m, &llama.SessionOptions{Capacity: 1024})
		ctx := context.Background()
		if err := s.Prefill(ctx, tokens); err != nil { // compiles and tunes
			b.Fatal(err)
		}
		for i := range 8 {
			if err := s.Prefill(ctx, tokens[i:i+1]); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Truncate(0); err != nil {
			b.Fatal(err)
		}
		for piece, err := range s.Generate(ctx, tokens, llama.Params{MaxTokens: 128}) {
			if err != nil {
				b.Fatal(err)
			}
			if piece.Stop != 0 {
				b.ReportMetric(piece.Stats.PrefillRate(), "prefill-tokens/s")
				b.ReportMetric(piece.Stats.DecodeRate(), "decode-tokens/s")
			}
		}
		s.Close()
	}
}
