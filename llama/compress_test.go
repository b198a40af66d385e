package llama_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/llama"
)

// spy is a Rereader that notes what it sees of each layer, and evicts nothing.
type spy struct {
	eviction.Policy
	window int
	seen   *[][][]float32 // [layers][kvHeads][slots]
}

func newSpy(window int) spy { return spy{eviction.None, window, new([][][]float32)} }

func (s spy) Name() string               { return "spy" }
func (s spy) Window() int                { return s.window }
func (s spy) Tracking() kvcache.Tracking { return kvcache.Tracking{Queries: s.window} }

func (s spy) Evict(v eviction.View, _ int) ([][]int, error) {
	if r, ok := v.(eviction.Reread); ok {
		*s.seen = append(*s.seen, r.Reread())
		return nil, nil
	}
	sums, _, err := v.RecentAttention(s.window)
	*s.seen = append(*s.seen, sums)
	return nil, err
}

// TestCompressReadsAgain compares what Compress gives to the policy with what one gets by hand: by prompts of forks.
func TestCompressReadsAgain(t *testing.T) {
	effort.Turn(t, 8)
	const length, window, lead = 304, 8, 8
	m := pebbleModel(t)
	text, ask := stream(length), []llama.Token{5, 6, 7}
	for _, capacity := range []int{length + 3 + lead + 256, length + 3 + lead + 32} {
		policy := newSpy(window)
		s := newSession(t, m, &llama.SessionOptions{Eviction: policy, Capacity: capacity})
		if err := s.Prefill(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		want := make([][][]float32, m.Config().Layers)
		for from, part := 0, capacity-length-3-lead; from < length; from += part {
			to := min(from+part, length)
			f, err := s.Fork()
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Prefill(t.Context(), append(slices.Clone(ask), text[max(from-lead, 0):from]...)); err != nil {
				t.Fatal(err)
			}
			for at := from; at < to; at += window {
				*policy.seen = nil
				if err := f.Prefill(t.Context(), text[at:at+window]); err != nil {
					t.Fatal(err)
				}
				if _, err := f.Evict(1); err != nil {
					t.Fatal(err)
				}
				raise(want, *policy.seen, length)
			}
			f.Close()
		}
		*policy.seen = nil
		before := logitsNow(t, s)
		if result, err := s.Compress(t.Context(), 1, ask); err != nil || result.Slots != 0 {
			t.Fatalf("%+v, %v", result, err)
		}
		for layer, heads := range *policy.seen {
			for h, row := range heads {
				for slot, got := range row {
					if got != want[layer][h][slot] {
						t.Fatalf("capacity %d, layer %d, head %d, slot %d: %v, want %v", capacity, layer, h, slot, got, want[layer][h][slot])
					}
				}
			}
		}
		if len(*policy.seen) != len(want) || s.CacheLen() != length || !slices.Equal(s.Tokens(), text) || !slices.Equal(logitsNow(t, s), before) {
			t.Errorf("capacity %d: %d layers of %d; the session changed", capacity, len(*policy.seen), len(want))
		}
	}
}

// raise raises most to the first n numbers of each row of seen.
func raise(most, seen [][][]float32, n int) {
	for layer := range most {
		if most[layer] == nil {
			for range seen[layer] {
				most[layer] = append(most[layer], make([]float32, n))
			}
		}
		for h, row := range most[layer] {
			for slot := range row {
				row[slot] = max(row[slot], seen[layer][h][slot])
			}
		}
	}
}

// logitsNow returns a copy of a session's logits.
func logitsNow(t testing.TB, s *llama.Session) []float32 {
	t.Helper()
	l, err := s.Logits()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(l)
}

// TestCompressServesLaterQuestions compresses a document to half, and asks for what it says twice.
func TestCompressServesLaterQuestions(t *testing.T) {
	m := pebbleModel(t)
	filler := strings.Repeat("The evening wind was cold. They ate olives by the river. ", 12)
	history := []llama.Message{{Role: "user", Content: "The code for the red vault is 3438. " + filler + "The code for the green desk is 1874. " + filler}}
	s := newSession(t, m, &llama.SessionOptions{Eviction: policyOf(t, "kvzip", 2000), EvictAfterPrompt: true, Capacity: 1600})
	noted, _ := chat(t, s, history, llama.Params{})
	history = append(history, llama.Message{Role: "assistant", Content: noted})
	length := s.CacheLen()
	target := length / 2
	if result, err := s.Compress(t.Context(), target, nil); err != nil || s.CacheLen() != target || result.Slots != length-target || result.Reason != eviction.ByRequest {
		t.Fatalf("%d slots, want %d: %+v, %v", s.CacheLen(), target, result, err)
	}
	for what, want := range map[string]string{"red vault": "3438", "green desk": "1874"} {
		f, err := s.Fork()
		if err != nil {
			t.Fatal(err)
		}
		answer, last := chat(t, f, append(slices.Clone(history), llama.Message{Role: "user", Content: "What is the code for the " + what + "?"}), llama.Params{})
		if !strings.Contains(answer, want) || last.Stats.ReusedTokens < length {
			t.Errorf("%s: %q, want %s; %d tokens of %d were reused", what, answer, want, last.Stats.ReusedTokens, length)
		}
		f.Close()
	}
}

// TestCompressRefuses tries what cannot work: the session stays as it was.
func TestCompressRefuses(t *testing.T) {
	m := pebbleModel(t)
	text := stream(100)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name, policy string
		capacity     int
		ask          []llama.Token
		ctx          context.Context
		want         error
	}{
		{"another policy", "snapkv", 400, nil, t.Context(), new(llama.ParamError)},
		{"no room", "kvzip", 110, nil, t.Context(), llama.ErrContextFull},
		{"a token out of range", "kvzip", 400, []llama.Token{-1}, t.Context(), new(llama.ParamError)},
		{"a context that ended", "kvzip", 400, nil, cancelled, context.Canceled},
	} {
		s := newSession(t, m, &llama.SessionOptions{Eviction: policyOf(t, c.policy, 2000), EvictAfterPrompt: true, Capacity: c.capacity})
		if err := s.Prefill(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		before := logitsNow(t, s)
		_, err := s.Compress(c.ctx, 50, c.ask)
		if reflect.TypeOf(c.want) == reflect.TypeFor[*llama.ParamError]() {
			if param := new(llama.ParamError); !errors.As(err, &param) {
				t.Errorf("%s: %v", c.name, err)
			}
		} else if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if s.CacheLen() != len(text) || !slices.Equal(logitsNow(t, s), before) {
			t.Errorf("%s: the session changed", c.name)
		}
	}
}

// TestCompressIsTheSameInCompany compresses alone, in company, with another size of chunks, and on models with windows, recurrent layers
// and shared caches.
func TestCompressIsTheSameInCompany(t *testing.T) {
	effort.Turn(t, 8)
	for _, name := range []string{"", "gemma3", "qwen35", "gemma4-e"} {
		m := pebbleModel(t)
		if name != "" {
			m = familyModel(t, name, nil)
		}
		text := stream(90)
		for i := range text {
			text[i] %= llama.Token(m.Config().VocabSize)
		}
		compressed := func(chunk int) (string, error) {
			s, err := m.NewSession(&llama.SessionOptions{Eviction: policyOf(t, "kvzip", 2000), EvictAfterPrompt: true, Capacity: 200, Chunk: chunk})
			if err != nil {
				return "", err
			}
			defer s.Close()
			if err := s.Prefill(t.Context(), text); err != nil {
				return "", err
			}
			if _, err := s.Compress(t.Context(), 40, text[:2]); err != nil {
				return "", err
			}
			if s.CacheLen() != 40 {
				return "", fmt.Errorf("%d slots", s.CacheLen())
			}
			if err := s.Prefill(t.Context(), text[:3]); err != nil {
				return "", err
			}
			l, err := s.Logits()
			return fmt.Sprint(l), err
		}
		want, err := compressed(256)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		results := make(chan error)
		for i := range 3 {
			go func() {
				got, err := compressed(7 + i)
				if err == nil && got != want {
					err = errors.New("other logits")
				}
				results <- err
			}()
		}
		for range 3 {
			if err := <-results; err != nil {
				t.Errorf("%s: in company: %v", name, err)
			}
		}
	}
}
