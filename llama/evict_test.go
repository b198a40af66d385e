package llama_test

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// policyOf makes a policy by name.
func policyOf(t testing.TB, name string, budget int) eviction.Policy {
	t.Helper()
	p, err := eviction.ByName(name, eviction.Options{Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stream returns n tokens of no meaning.
func stream(n int) []llama.Token {
	tokens := make([]llama.Token, n)
	for i := range tokens {
		tokens[i] = llama.Token(i * 7919 % 1000)
	}
	return tokens
}

func TestEvictionBoundsThePeakOfAPrompt(t *testing.T) {
	effort.Turn(t, 8)
	m := pebbleModel(t)
	const budget, length = 192, 500
	slot := int64(0)
	for _, name := range eviction.Names() {
		s := newSession(t, m, &llama.SessionOptions{Eviction: policyOf(t, name, budget)})
		if err := s.Prefill(t.Context(), stream(length)); err != nil {
			t.Fatal(err)
		}
		usage := s.CacheUsage()
		if s.Position() != length || len(s.Tokens()) != length {
			t.Errorf("%s: position %d after %d tokens", name, s.Position(), len(s.Tokens()))
		}
		if name == "none" {
			slot = usage.Bytes / length
			continue
		}
		if usage.PeakBytes >= slot*budget*3/2 {
			t.Errorf("%s: at most %d bytes were cached, want less than 1.5 times the budget of %d", name, usage.PeakBytes, slot*budget)
		}
		if usage.Evictions == 0 || usage.Bytes < slot*budget/2 {
			t.Errorf("%s: %+v", name, usage)
		}
		// Single tokens keep it there.
		for _, token := range stream(60) {
			if err := s.Prefill(t.Context(), []llama.Token{token}); err != nil {
				t.Fatal(err)
			}
		}
		if usage := s.CacheUsage(); usage.PeakBytes >= slot*budget*3/2 {
			t.Errorf("%s: after 60 tokens more, at most %d bytes", name, usage.PeakBytes)
		}
	}
}

func TestEvictAfterPrompt(t *testing.T) {
	m := pebbleModel(t)
	s := newSession(t, m, &llama.SessionOptions{Capacity: 1000, Eviction: policyOf(t, "snapkv", 128), EvictAfterPrompt: true})
	if err := s.Prefill(t.Context(), stream(900)); err != nil {
		t.Fatal(err)
	}
	if usage := s.CacheUsage(); s.CacheLen() != 128 || usage.Evictions != 1 || usage.EvictedSlots != 772 {
		t.Errorf("%d slots after the prompt, %+v", s.CacheLen(), usage)
	}
	if err := s.Prefill(t.Context(), stream(1000)); !errors.Is(err, llama.ErrContextFull) {
		t.Errorf("a prompt longer than the cache: %v", err)
	}
}

// A sliding window goes on for ever at constant memory, in chunks and token by token.
func TestReanchorSinksGoesOn(t *testing.T) {
	effort.Turn(t, 8)
	m := pebbleModel(t)
	total := 3000 // the model was trained for 2048
	if effort.All() {
		total = 100_000
	}
	const window = 256
	s := newSession(t, m, &llama.SessionOptions{Eviction: policyOf(t, "sliding", window), Positions: llama.ReanchorSinks})
	read := func(n int) {
		for ; n > 0; n -= 100 {
			if err := s.Prefill(t.Context(), stream(min(n, 100))); err != nil {
				t.Fatal(err)
			}
		}
	}
	read(500)
	steady, slots := s.CacheUsage(), s.CacheLen()
	next := make([]llama.Token, 1)
	steps := func(n int) {
		for range n {
			best := 0
			for i, v := range logitsOf(s) {
				if v > logitsOf(s)[best] {
					best = i
				}
			}
			next[0] = llama.Token(best)
			if err := s.Prefill(t.Context(), next); err != nil {
				t.Fatal(err)
			}
		}
	}
	steps(500)
	if usage := s.CacheUsage(); usage.PeakBytes > steady.PeakBytes {
		t.Errorf("token by token the cache grew: %+v, at first %+v", usage, steady)
	}
	read(total - 800)
	steps(300)
	if s.Position() != 500+total || s.CacheLen() < window || s.CacheLen() >= window*5/4 {
		t.Errorf("position %d, %d slots", s.Position(), s.CacheLen())
	}
	if usage := s.CacheUsage(); usage.PeakBytes > steady.Bytes/int64(slots)*window*3/2 || usage.RecordBytes > 2*steady.RecordBytes {
		t.Errorf("the cache grew: %+v, at first %+v", usage, steady)
	}
	for _, v := range logitsOf(s) {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			t.Fatalf("a logit is %v", v)
		}
	}
}

func TestStrictEndsAtTheTrainedLength(t *testing.T) {
	effort.Turn(t, 8)
	m := pebbleModel(t)
	context := m.Config().ContextLength
	s := newSession(t, m, &llama.SessionOptions{Eviction: policyOf(t, "sliding", 64)})
	if got := s.Capacity(); got != context {
		t.Errorf("capacity %d, want the context's %d", got, context)
	}
	if err := s.Prefill(t.Context(), stream(context+1)); !errors.Is(err, llama.ErrContextFull) {
		t.Errorf("one token too many: %v", err)
	}
	if err := s.Prefill(t.Context(), stream(context)); err != nil {
		t.Fatal(err)
	}
	if err := s.Prefill(t.Context(), stream(1)); !errors.Is(err, llama.ErrContextFull) || s.Position() != context {
		t.Errorf("at position %d: %v", s.Position(), err)
	}
}

// Pebble still answers when the conversation is far longer than its context.
func TestAnswersBeyondTheContext(t *testing.T) {
	effort.Turn(t, 8)
	m := pebbleModel(t)
	fresh := newSession(t, m, nil)
	history := user("What is 2 + 2?")
	want, _ := chat(t, fresh, history, llama.Params{})
	s := newSession(t, m, &llama.SessionOptions{Eviction: policyOf(t, "sliding", 300), Positions: llama.ReanchorSinks})
	prompt, err := m.Tokenizer().Template(history, llama.TemplateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for s.Position() < 3000 {
		var answer strings.Builder
		for piece, err := range s.Generate(t.Context(), prompt, llama.Params{MaxTokens: 40}) {
			if err != nil {
				t.Fatal(err)
			}
			answer.WriteString(piece.Text)
		}
		if answer.String() != want {
			t.Fatalf("at position %d: %q, want %q", s.Position(), answer.String(), want)
		}
	}
}

func TestTruncateAfterEviction(t *testing.T) {
	m := pebbleModel(t)
	tokens := stream(400)
	s := newSession(t, m, &llama.SessionOptions{Eviction: policyOf(t, "h2o", 128)})
	if err := s.Prefill(t.Context(), tokens); err != nil {
		t.Fatal(err)
	}
	want, slots := slices.Clone(logitsOf(s)), s.CacheLen()
	if err := s.Prefill(t.Context(), tokens[:3]); err != nil {
		t.Fatal(err)
	}
	if err := s.Truncate(400); err != nil {
		t.Fatal(err)
	}
	if s.CacheLen() != slots || s.Position() != 400 {
		t.Errorf("%d slots at position %d, want %d at 400", s.CacheLen(), s.Position(), slots)
	}
	if err := s.Truncate(100); err == nil {
		t.Error("went back to before an eviction")
	}
	for _, err := range s.Generate(t.Context(), nil, llama.Params{MaxTokens: 1}) { // computes the last token's logits again
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if err := s.Truncate(0); err != nil || s.CacheLen() != 0 {
		t.Fatalf("%d slots: %v", s.CacheLen(), err)
	}
	if err := s.Prefill(t.Context(), tokens); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(logitsOf(s), want) {
		t.Error("beginning anew gives other logits")
	}
}

// When the history differs before the last eviction, Chat reads it anew.
func TestChatAfterEviction(t *testing.T) {
	m := pebbleModel(t)
	options := &llama.SessionOptions{Eviction: policyOf(t, "sliding", 96)}
	s := newSession(t, m, options)
	history := user(strings.Repeat("The red door opens with code 4821. ", 12) + "What is 2 + 2?")
	first, last := chat(t, s, history, llama.Params{})
	if last.Stats.Evictions == 0 {
		t.Errorf("nothing was evicted: %v", last.Stats)
	}
	other := user("What is 3 + 4?")
	got, _ := chat(t, s, other, llama.Params{})
	if want, _ := chat(t, newSession(t, m, options), other, llama.Params{}); got != want {
		t.Errorf("%q after another conversation, %q in a new session", got, want)
	}
	history = append(history, llama.Message{Role: "assistant", Content: first}, llama.Message{Role: "user", Content: "What is 3 + 4?"})
	if _, last := chat(t, s, history, llama.Params{}); last.Stats.ReusedTokens > 10 { // how every conversation begins
		t.Errorf("%d tokens reused of another conversation", last.Stats.ReusedTokens)
	}
}

// fakeMonitor says what it is told.
type fakeMonitor struct{ bytes int64 }

func (*fakeMonitor) Name() string                { return "fake" }
func (f *fakeMonitor) Available() (int64, error) { return f.bytes, nil }

func TestMemoryPressure(t *testing.T) {
	m := pebbleModel(t)
	monitor := &fakeMonitor{1 << 30}
	s := newSession(t, m, &llama.SessionOptions{Eviction: policyOf(t, "keydiff", 1000), Monitor: monitor, MemoryThreshold: 1 << 20})
	if err := s.Prefill(t.Context(), stream(800)); err != nil {
		t.Fatal(err)
	}
	if s.CacheLen() != 800 {
		t.Fatalf("%d slots while there is memory", s.CacheLen())
	}
	monitor.bytes = 1000
	time.Sleep(30 * time.Millisecond)
	if err := s.Prefill(t.Context(), stream(1)); err != nil {
		t.Fatal(err)
	}
	if s.CacheLen() > 801*3/4 || s.CacheUsage().Evictions != 1 {
		t.Errorf("%d slots when memory is short", s.CacheLen())
	}

	none := newSession(t, m, &llama.SessionOptions{Monitor: monitor, MemoryThreshold: 1 << 20})
	if err := none.Prefill(t.Context(), stream(10)); !errors.Is(err, llama.ErrContextFull) || !errors.Is(err, eviction.ErrPressure) {
		t.Errorf("memory is short and nothing may be evicted: %v", err)
	}
}

// closing is a monitor that closes what it is called by.
type closing struct{ io.Closer }

func (closing) Name() string                { return "closing" }
func (c closing) Available() (int64, error) { return eviction.Unknown, c.Close() }

func TestMonitorMayClose(t *testing.T) {
	for _, what := range []string{"the session", "the model"} {
		m := otherModel(t, nil)
		monitor := &closing{}
		s := newSession(t, m, &llama.SessionOptions{Monitor: monitor, MemoryThreshold: 1})
		monitor.Closer = s
		if what == "the model" {
			monitor.Closer = m
		}
		if err := s.Prefill(t.Context(), stream(3)); !errors.Is(err, llama.ErrClosed) {
			t.Errorf("a monitor closes %s: %v, want ErrClosed", what, err)
		}
	}
}

func TestSessionOptionsAreChecked(t *testing.T) {
	m := pebbleModel(t)
	context := m.Config().ContextLength
	for name, c := range map[string]struct {
		options llama.SessionOptions
		want    string
	}{
		"too few slots":              {llama.SessionOptions{Capacity: 100, Eviction: policyOf(t, "sliding", 100)}, "at least 137"},
		"threshold without monitor":  {llama.SessionOptions{MemoryThreshold: 1}, "no monitor"},
		"monitor without threshold":  {llama.SessionOptions{Monitor: &fakeMonitor{}}, "threshold"},
		"reanchor without a window":  {llama.SessionOptions{Positions: llama.ReanchorSinks}, "is no sliding window"},
		"reanchor scored":            {llama.SessionOptions{Positions: llama.ReanchorSinks, Eviction: policyOf(t, "h2o", 100)}, "h2o is no sliding window"},
		"reanchor too long a window": {llama.SessionOptions{Positions: llama.ReanchorSinks, Eviction: policyOf(t, "sliding", context)}, "shorter window"},
		"unknown positions":          {llama.SessionOptions{Positions: 7}, "Strict or ReanchorSinks"},
		"a wait for no policy":       {llama.SessionOptions{EvictAfterPrompt: true}, "SessionOptions.EvictAfterPrompt"},
	} {
		if _, err := m.NewSession(&c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a word of %q", name, err, c.want)
		}
	}
}

func TestDecodeWithEvictionDoesNotAllocate(t *testing.T) {
	m := pebbleModel(t)
	for _, name := range []string{"sliding", "snapkv", "h2o", "tova", "keydiff"} {
		s := newSession(t, m, &llama.SessionOptions{Capacity: 2000, Eviction: policyOf(t, name, 1000)})
		if err := s.Prefill(t.Context(), stream(200)); err != nil {
			t.Fatal(err)
		}
		next := []llama.Token{1}
		if n := testing.AllocsPerRun(50, func() { // between evictions
			if err := s.Prefill(t.Context(), next); err != nil {
				t.Fatal(err)
			}
		}); n > 1 { // a record grows now and then
			t.Errorf("%s: %v allocations per token", name, n)
		}
	}
}

func TestTraceTellsEvictions(t *testing.T) {
	var told []llama.EvictInfo
	m, err := pebble.Load(&llama.LoadOptions{Trace: &llama.Trace{Evict: func(e llama.EvictInfo) { told = append(told, e) }}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(&llama.SessionOptions{Eviction: policyOf(t, "sliding", 64)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Prefill(t.Context(), make([]llama.Token, 200)); err != nil {
		t.Fatal(err)
	}
	slots := 0
	for _, e := range told {
		if e.Session != 1 || e.Token < 64 || e.Token > 200 || e.Reason != eviction.ByBudget || e.Began.IsZero() {
			t.Errorf("%+v", e)
		}
		slots += e.Slots
	}
	if u := s.CacheUsage(); len(told) != u.Evictions || slots != u.EvictedSlots || len(told) == 0 {
		t.Errorf("%d evictions of %d slots were told, %v", len(told), slots, u)
	}
}
