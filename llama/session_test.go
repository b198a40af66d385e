package llama_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// story is a prompt that gives a long answer.
var story = user("Tell me a story about a fox and a lantern.")

func TestSessionLogitsDoNotDependOnChunks(t *testing.T) {
	effort.Turn(t, 8)
	m := pebbleModel(t)
	prompt, err := m.Tokenizer().Template(user(strings.Repeat("The red door opens with code 4821. ", 20)+"What is 2 + 2?"), llama.TemplateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0} {
		var want []float32
		for _, chunk := range []int{1, 7, 64, 512} {
			s := newSession(t, m, &llama.SessionOptions{Chunk: chunk, KV: kv})
			if err := s.Prefill(context.Background(), prompt); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = slices.Clone(logitsOf(s))
			} else if !slices.Equal(logitsOf(s), want) {
				t.Errorf("cache of %v: chunks of %d give other logits than chunks of 1", kv, chunk)
			}
			s.Close()
		}
	}
}

func TestSessionLogitsDoNotDependOnThreads(t *testing.T) {
	var want []float32
	for _, threads := range []int{1, 2, 3, 8} {
		m, err := pebble.Load(&llama.LoadOptions{Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(t, m, nil)
		chat(t, s, story, llama.Params{MaxTokens: 20})
		if want == nil {
			want = slices.Clone(logitsOf(s))
		} else if !slices.Equal(logitsOf(s), want) {
			t.Errorf("%d threads give other logits than one", threads)
		}
		m.Close()
	}
}

func TestSessionChatReusesThePrefix(t *testing.T) {
	m := pebbleModel(t)
	s := newSession(t, m, nil)
	history := user("My name is Ana. What is 2 + 2?")
	answer, _ := chat(t, s, history, llama.Params{})
	history = append(history, llama.Message{Role: "assistant", Content: answer}, llama.Message{Role: "user", Content: "What is 3 + 4?"})
	again, last := chat(t, s, history, llama.Params{})
	if last.Stats.ReusedTokens < last.Stats.PromptTokens/2 {
		t.Errorf("%d of %d prompt tokens reused", last.Stats.ReusedTokens, last.Stats.PromptTokens)
	}
	fresh := newSession(t, m, nil)
	if want, _ := chat(t, fresh, history, llama.Params{}); again != want {
		t.Errorf("with a reused prefix: %q; without: %q", again, want)
	}
	if !slices.Equal(logitsOf(s), logitsOf(fresh)) {
		t.Error("a reused prefix changes the logits")
	}
	// The same conversation once more: all of it is in the cache.
	if third, _ := chat(t, s, history, llama.Params{}); third != again {
		t.Errorf("asked twice: %q, then %q", again, third)
	}
}

func TestSessionBreakLeavesItUsable(t *testing.T) {
	m := pebbleModel(t)
	whole := newSession(t, m, nil)
	want, _ := chat(t, whole, story, llama.Params{MaxTokens: 30})
	for _, after := range []int{1, 2, 7} {
		s := newSession(t, m, nil)
		var text strings.Builder
		pieces := 0
		for piece, err := range s.Chat(context.Background(), story, llama.Params{MaxTokens: 30}) {
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(piece.Text)
			if pieces++; pieces == after {
				break
			}
		}
		for piece, err := range s.Generate(context.Background(), nil, llama.Params{MaxTokens: 30 - after}) {
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(piece.Text)
		}
		if text.String() != want {
			t.Errorf("broken off after %d pieces and continued: %q, want %q", after, text.String(), want)
		}
		if !slices.Equal(s.Tokens(), whole.Tokens()) {
			t.Errorf("broken off after %d pieces: other tokens", after)
		}
	}
}

func TestSessionCancel(t *testing.T) {
	m := pebbleModel(t)
	s := newSession(t, m, &llama.SessionOptions{Chunk: 16})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var got error
	tokens := 0
	var stats llama.Stats
	for piece, err := range s.Chat(ctx, story, llama.Params{}) {
		got, stats = err, piece.Stats
		if tokens += len(piece.Tokens); tokens == 5 {
			cancel()
		}
	}
	if !errors.Is(got, context.Canceled) || tokens != 5 {
		t.Errorf("cancelled after 5 tokens: %d tokens, then %v", tokens, got)
	}
	if stats.GeneratedTokens != 5 || stats.PromptTokens == 0 {
		t.Errorf("statistics of the cancelled answer: %v", stats)
	}
	if err := s.Prefill(ctx, make([]llama.Token, 100)); !errors.Is(err, context.Canceled) {
		t.Errorf("prefill with a cancelled context: %v", err)
	}
	chat(t, s, story, llama.Params{MaxTokens: 5}) // it goes on
}

func TestSessionStopStrings(t *testing.T) {
	m := pebbleModel(t)
	whole, _ := chat(t, newSession(t, m, nil), story, llama.Params{MaxTokens: 60})
	words := strings.Fields(whole)
	for _, stop := range []string{words[3], words[5] + " " + words[6], ". ", whole[10:25]} {
		got, last := chat(t, newSession(t, m, nil), story, llama.Params{MaxTokens: 60, Stop: []string{"never said", stop}})
		want, _, _ := strings.Cut(whole, stop)
		if got != want || last.Stop != llama.StopString || last.StopString != stop {
			t.Errorf("stop at %q: %q (%v %q), want %q", stop, got, last.Stop, last.StopString, want)
		}
	}
}

// TestHeldTextIsDelivered ends answers while text waits for a stop string: all pieces together must still be the answer.
func TestHeldTextIsDelivered(t *testing.T) {
	m := pebbleModel(t)
	whole, _ := chat(t, newSession(t, m, nil), story, llama.Params{MaxTokens: 8})
	stop := []string{whole + " and never this"} // everything is held back
	mask := failingMask{}
	for name, p := range map[string]llama.Params{
		"cancelled": {Stop: stop},
		"failed":    {Stop: stop, Mask: &mask},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := newSession(t, m, nil)
		var text strings.Builder
		var last llama.Piece
		var got error
		tokens := 0
		for piece, err := range s.Chat(ctx, story, p) {
			text.WriteString(piece.Text)
			if tokens += len(piece.Tokens); tokens == 8 {
				if p.Mask == nil {
					cancel()
				} else {
					mask.err = errors.New("enough")
				}
			}
			last, got = piece, err
		}
		if got == nil || text.String() != whole {
			t.Errorf("%s after %d tokens: %q (%v), want %q", name, tokens, text.String(), got, whole)
		}
		if last.Stats.GeneratedTokens != 8 || last.Stats.PromptTokens == 0 || last.Stats.DecodeTime == 0 {
			t.Errorf("%s: statistics %+v", name, last.Stats)
		}
	}
}

type failingMask struct{ err error }

func (f *failingMask) Apply([]llama.Token, []float32) error { return f.err }

func TestStatsOfAPromptThatEndsEarly(t *testing.T) {
	m := pebbleModel(t)
	s := newSession(t, m, &llama.SessionOptions{Chunk: 16})
	ctx := countdown.New(t.Context(), 12)
	for piece, err := range s.Generate(ctx, stream(200), llama.Params{}) {
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%v, want %v", err, context.Canceled)
		}
		if n := len(s.Tokens()); piece.Stats.PromptTokens != n || n == 0 || n == 200 || piece.Stats.PrefillTime == 0 {
			t.Errorf("%d tokens were computed: %+v", n, piece.Stats)
		}
	}
}

func TestSecondRangeIsAnError(t *testing.T) {
	m := pebbleModel(t)
	s := newSession(t, m, nil)
	answer := s.Chat(t.Context(), story, llama.Params{MaxTokens: 3})
	for _, err := range answer {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := s.Tokens()
	for piece, err := range answer {
		if err == nil || !strings.Contains(err.Error(), "second time") {
			t.Errorf("ranged over again: %+v, %v", piece, err)
		}
	}
	if !slices.Equal(s.Tokens(), before) {
		t.Errorf("ranging over an answer again changed the conversation from %d to %d tokens", len(before), len(s.Tokens()))
	}
}

func TestSessionStopReasons(t *testing.T) {
	m := pebbleModel(t)
	for _, c := range []struct {
		name    string
		options llama.SessionOptions
		params  llama.Params
		want    llama.StopReason
	}{
		{"end of turn", llama.SessionOptions{}, llama.Params{}, llama.EndOfTurn},
		{"maximum", llama.SessionOptions{}, llama.Params{MaxTokens: 3}, llama.MaxTokens},
		{"stop string", llama.SessionOptions{}, llama.Params{Stop: []string{"fox"}}, llama.StopString},
		{"context", llama.SessionOptions{Capacity: 40}, llama.Params{}, llama.ContextFull},
	} {
		_, last := chat(t, newSession(t, m, &c.options), story, c.params)
		if last.Stop != c.want {
			t.Errorf("%s: stopped by %v", c.name, last.Stop)
		}
	}
}

func TestSessionContextFull(t *testing.T) {
	m := pebbleModel(t)
	s := newSession(t, m, &llama.SessionOptions{Capacity: 10})
	for _, err := range s.Chat(context.Background(), story, llama.Params{}) {
		if !errors.Is(err, llama.ErrContextFull) {
			t.Errorf("a prompt that does not fit: %v", err)
		}
	}
	if n := len(s.Tokens()); n != 0 {
		t.Errorf("%d tokens were computed all the same", n)
	}
}

// TestSessionLogprobs compares log-probabilities of a text with what Score says of it, and with those of its tokens as an answer.
func TestSessionLogprobs(t *testing.T) {
	m := pebbleModel(t)
	tokens := m.Tokenizer().EncodeSpecial("The capital of Japan is Tokyo. The capital of Italy is Rome.", true)
	scores, err := newSession(t, m, nil).Score(t.Context(), tokens)
	if err != nil {
		t.Fatal(err)
	}
	all, err := newSession(t, m, nil).Logprobs(t.Context(), tokens, 3)
	if err != nil || len(all) != len(tokens) {
		t.Fatalf("%d elements for %d tokens, %v", len(all), len(tokens), err)
	}
	for i, l := range all {
		if l.Chosen.Token != tokens[i] || l.Chosen.Logprob != scores[i] || i == 0 != (l.Top == nil) {
			t.Errorf("token %d: %+v, want %v", i, l, scores[i])
		}
		if i > 0 && (len(l.Top) != 3 || l.Top[0].Logprob < l.Top[1].Logprob || l.Top[0].Logprob < l.Chosen.Logprob) {
			t.Errorf("token %d: the likeliest are %+v", i, l.Top)
		}
	}
	for piece, err := range newSession(t, m, nil).Generate(t.Context(), tokens[:9], llama.Params{MaxTokens: 1, Logprobs: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(piece.Logprobs) == 1 && !reflect.DeepEqual(piece.Logprobs[0].Top, all[9].Top) {
			t.Errorf("as an answer: %+v, want %+v", piece.Logprobs[0].Top, all[9].Top)
		}
	}
	if _, err := newSession(t, m, nil).Logprobs(t.Context(), tokens, -1); err == nil {
		t.Error("-1 tokens in the place of each")
	}
}

// TestProgress follows the computing of a prompt, a part of it cached or not.
func TestProgress(t *testing.T) {
	m := pebbleModel(t)
	pool, err := m.NewPool(&llama.PoolOptions{Session: llama.SessionOptions{Chunk: 4}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	prompt := m.Tokenizer().EncodeSpecial(strings.Repeat("The fox saw the ship by the harbor. ", 9), true)
	for turn := range 2 {
		var all []llama.PromptProgress
		var last llama.Stats
		for piece, err := range pool.Generate(t.Context(), prompt, llama.Params{MaxTokens: 2, Progress: func(p llama.PromptProgress) { all = append(all, p) }}) {
			if err != nil {
				t.Fatal(err)
			}
			last = piece.Stats
		}
		if len(all) < 2 || all[0].Done != all[0].Reused || all[len(all)-1].Done != len(prompt) || (turn == 1) != (all[0].Reused > 0) {
			t.Fatalf("turn %d: %+v", turn, all)
		}
		for i, p := range all {
			if p.Total != len(prompt) || p.Reused != last.ReusedTokens || i > 0 && p.Done <= all[i-1].Done {
				t.Errorf("turn %d: %+v", turn, all)
			}
		}
	}
}

func TestSessionScore(t *testing.T) {
	m := pebbleModel(t)
	ctx := context.Background()
	tokens := m.Tokenizer().EncodeSpecial("The capital of Japan is Tokyo. The capital of Italy is Rome.", true)
	s := newSession(t, m, nil)
	scores, err := s.Score(ctx, tokens)
	if err != nil {
		t.Fatal(err)
	}
	if len(scores) != len(tokens) || scores[0] != 0 {
		t.Fatalf("%d scores for %d tokens, the first %g", len(scores), len(tokens), scores[0])
	}
	one := newSession(t, m, nil) // token by token, from Logits
	for i, token := range tokens {
		if i > 0 {
			sum := 0.0
			for _, l := range logitsOf(one) {
				sum += math.Exp(float64(l))
			}
			want := float64(logitsOf(one)[token]) - math.Log(sum)
			if math.Abs(float64(scores[i])-want) > 1e-4 {
				t.Errorf("token %d: score %.5f, want %.5f", i, scores[i], want)
			}
		}
		if err := one.Prefill(ctx, []llama.Token{token}); err != nil {
			t.Fatal(err)
		}
	}
	split := newSession(t, m, nil) // in two calls: the second scores its first token too
	first, err := split.Score(ctx, tokens[:5])
	if err != nil {
		t.Fatal(err)
	}
	second, err := split.Score(ctx, tokens[5:])
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(append(first, second...), scores) {
		t.Error("scoring in two calls gives other scores")
	}
}

func TestSessionTruncate(t *testing.T) {
	m := pebbleModel(t)
	ctx := context.Background()
	s := newSession(t, m, nil)
	prompt := m.Tokenizer().EncodeSpecial("What is the capital of Japan?", true)
	if err := s.Prefill(ctx, prompt); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(logitsOf(s))
	if err := s.Prefill(ctx, prompt[1:]); err != nil {
		t.Fatal(err)
	}
	if err := s.Truncate(len(prompt) - 1); err != nil {
		t.Fatal(err)
	}
	if logitsOf(s) != nil {
		t.Error("logits of a forgotten token are still there")
	}
	if s.Position() != len(prompt)-1 || s.CacheLen() != len(prompt)-1 {
		t.Errorf("position %d, cache %d after truncating to %d", s.Position(), s.CacheLen(), len(prompt)-1)
	}
	if err := s.Prefill(ctx, prompt[len(prompt)-1:]); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(logitsOf(s), want) {
		t.Error("computing a forgotten token again gives other logits")
	}
	for _, n := range []int{-1, len(prompt) + 1} {
		if err := s.Truncate(n); err == nil {
			t.Errorf("truncating %d tokens to %d is no error", len(prompt), n)
		}
	}
}

func TestSessionRefusesBadTokens(t *testing.T) {
	m := pebbleModel(t)
	s := newSession(t, m, nil)
	for _, token := range []llama.Token{-1, llama.Token(m.Config().VocabSize)} {
		if err := s.Prefill(context.Background(), []llama.Token{token}); err == nil {
			t.Errorf("token %d is accepted", token)
		}
	}
	for _, err := range s.Generate(context.Background(), nil, llama.Params{}) {
		if err == nil {
			t.Error("an answer to nothing")
		}
	}
}

func TestSessionBusy(t *testing.T) {
	m := pebbleModel(t)
	s := newSession(t, m, nil)
	for _, err := range s.Chat(context.Background(), story, llama.Params{MaxTokens: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Prefill(context.Background(), []llama.Token{1}); !errors.Is(err, llama.ErrBusy) {
			t.Errorf("a second call: %v", err)
		}
		for _, err := range s.Chat(context.Background(), story, llama.Params{}) {
			if !errors.Is(err, llama.ErrBusy) {
				t.Errorf("a second answer: %v", err)
			}
		}
	}
}

func TestConcurrentSessions(t *testing.T) {
	m := pebbleModel(t)
	want, _ := chat(t, newSession(t, m, nil), story, llama.Params{MaxTokens: 20})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			s, err := m.NewSession(nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			var text strings.Builder
			for piece, err := range s.Chat(context.Background(), story, llama.Params{MaxTokens: 20}) {
				if err != nil {
					t.Error(err)
				}
				text.WriteString(piece.Text)
			}
			if text.String() != want {
				t.Errorf("beside others: %q, alone: %q", text.String(), want)
			}
			m.MemoryUsage()
		})
	}
	group.Wait()
}

func TestCloseEndsSessions(t *testing.T) {
	m, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	started, ended := make(chan struct{}), make(chan error, 1)
	s, err := m.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		var last error
		first := true
		for _, err := range s.Chat(context.Background(), story, llama.Params{}) {
			if first {
				close(started)
				first = false
			}
			time.Sleep(time.Millisecond)
			last = err
		}
		ended <- last
	}()
	<-started
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error("closing twice:", err)
	}
	if err := <-ended; !errors.Is(err, llama.ErrClosed) {
		t.Errorf("the answer ended with %v", err)
	}
	if _, err := m.NewSession(nil); !errors.Is(err, llama.ErrClosed) {
		t.Errorf("a session of a closed model: %v", err)
	}
	if err := s.Prefill(context.Background(), []llama.Token{1}); !errors.Is(err, llama.ErrClosed) {
		t.Errorf("a call to a closed session: %v", err)
	}
}

func TestCloseInsideTheLoop(t *testing.T) {
	m, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range s.Chat(context.Background(), story, llama.Params{}) {
		last = err
		m.Close()
	}
	if !errors.Is(last, llama.ErrClosed) {
		t.Errorf("the answer ended with %v", last)
	}
}

func TestSessionMemoryIsCounted(t *testing.T) {
	m, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if w := m.MemoryUsage().Weights; w < 4<<20 || w > 8<<20 {
		t.Errorf("weights of %d bytes", w)
	}
	s := newSession(t, m, &llama.SessionOptions{KV: tensor.F16})
	chat(t, s, story, llama.Params{MaxTokens: 4})
	c := m.Config()
	got, want := m.MemoryUsage().Caches, int64(2*c.Layers*c.KVHeads*c.HeadDim*2*backend.PageSlots)
	if got != want || s.CacheLen() > backend.PageSlots {
		t.Errorf("caches of %d bytes for %d slots, want a page for each head and layer, %d bytes", got, s.CacheLen(), want)
	}
	working := m.MemoryUsage().Workspaces
	f := fork(t, s)
	if got := m.MemoryUsage(); got.Caches != want {
		t.Errorf("caches of %d bytes where two sessions share them, want %d", got.Caches, want)
	}
	f.Close()
	s.Close()
	if got := m.MemoryUsage(); got.Caches != 0 || got.Workspaces >= working {
		t.Errorf("after closing the session: %+v", got)
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	models := map[string]*llama.Model{"pebble": pebbleModel(t)}
	for _, family := range slices.Concat([]string{"gemma3", "olmo2", "granite", "ministral3", "gemma4-e", "gemma4-dense", "gemma4-moe"}, recurrentFamilies) {
		models[family] = familyModel(t, family, nil)
	}
	ctx := context.Background()
	one := []llama.Token{5}
	for name, m := range models {
		s := newSession(t, m, nil)
		for range 150 { // room in the token list, and scratch memory
			if err := s.Prefill(ctx, one); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(50, func() {
			if err := s.Prefill(ctx, one); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations a token", name, n)
		}
	}
}

func TestEmbed(t *testing.T) {
	m := pebbleModel(t)
	ctx := context.Background()
	embed := func(text string) []float32 {
		v, err := m.Embed(ctx, text)
		if err != nil {
			t.Fatal(err)
		}
		return v[0]
	}
	cosine := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	a, b, c := embed("What is 3 + 4?"), embed("What is 5 + 9?"), embed("Tell me a story about a fox.")
	if self := cosine(a, a); math.Abs(self-1) > 1e-5 {
		t.Errorf("length² %.6f", self)
	}
	if cosine(a, b) <= cosine(a, c) {
		t.Errorf("two sums are less alike (%.3f) than a sum and a story (%.3f)", cosine(a, b), cosine(a, c))
	}
	var full *llama.ContextFullError
	if _, err := m.Embed(ctx, strings.Repeat("word ", 5000)); !errors.Is(err, llama.ErrContextFull) || !errors.As(err, &full) || full.Want <= full.Room {
		t.Errorf("a text longer than the context: %v", err)
	}
	specials := strings.Repeat("<|eot_id|>", 1000) // as many tokens if they were recognised, and these would fit
	want := len(m.Tokenizer().EncodeSpecial("", true)) + len(m.Tokenizer().Encode(specials))
	if _, err := m.Embed(ctx, specials); !errors.As(err, &full) || full.Want != want {
		t.Errorf("special tokens in a text are inert, which makes %d tokens: %v", want, err)
	}
	runtime.KeepAlive(m)
}
