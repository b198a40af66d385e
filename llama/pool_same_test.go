package llama_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// asked is one answer of a pool.
type asked struct {
	prompt []llama.Token
	params llama.Params
	got    llama.Piece
	err    error
	ended  bool // by break
}

// TestPoolAnswersAsNewSessionsDo asks a pool from several goroutines for random continuations of earlier questions and answers, cancels or
// leaves some of them, and compares each answer with a new session's.
func TestPoolAnswersAsNewSessionsDo(t *testing.T) {
	effort.Turn(t, 8)
	const maxBytes = 12 << 20 // of a few conversations: some are given up
	all := evictors(t, 48)
	all["plain"] = &llama.SessionOptions{}
	all["chunks"] = &llama.SessionOptions{Chunk: 11}
	for _, kv := range []tensor.DType{tensor.F32, tensor.Q8_0, tensor.Q4_0} {
		all[fmt.Sprint(kv)] = &llama.SessionOptions{KV: kv}
	}
	all["sliding"] = &llama.SessionOptions{Eviction: policyOf(t, "sliding", 48)}
	all["wide sliding"] = &llama.SessionOptions{Eviction: policyOf(t, "sliding", 100), Chunk: 7}
	all["keydiff"] = &llama.SessionOptions{Eviction: policyOf(t, "keydiff", 64)}
	all["tova"] = &llama.SessionOptions{Eviction: policyOf(t, "tova", 64), Chunk: 9}
	all["snapkv after the prompt"] = &llama.SessionOptions{Eviction: policyOf(t, "snapkv", 64), EvictAfterPrompt: true, Capacity: 400, Chunk: 24}
	all["h2o after the prompt"] = &llama.SessionOptions{Eviction: policyOf(t, "h2o", 100), EvictAfterPrompt: true, Capacity: 400}
	answers, cancelled := 0, 0
	evicting := int64(0) // tokens that were reused with evictions: who finds a beginning that is still whole depends on who comes when
	eachModel(t, all, func(t *testing.T, _ string, m *llama.Model, _ string, options *llama.SessionOptions) {
		seed := uint64(1)
		p := newPool(t, m, &llama.PoolOptions{MaxSessions: 3, MaxBytes: maxBytes, Session: *options})
		list := askAtRandom(t, m, p, seed)
		stats := p.Stats()
		if options.Eviction != nil {
			evicting += stats.ReusedTokens
		}
		if stats.Bytes > maxBytes || stats.InUse != 0 || stats.ReusedTokens == 0 && options.Eviction == nil {
			t.Errorf("%+v", stats)
		}
		answers += len(list)
		for i, a := range list {
			s := newSession(t, m, options)
			want, err := llama.Collect(s.Generate(t.Context(), a.prompt, a.params))
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
			if a.err != nil {
				if cancelled++; !errors.Is(a.err, context.Canceled) {
					t.Fatalf("answer %d: %v", i, a.err)
				}
			}
			whole := a.err == nil && !a.ended
			if n := len(a.got.Tokens); n > len(want.Tokens) || !slices.Equal(a.got.Tokens, want.Tokens[:n]) ||
				n > 0 && !reflect.DeepEqual(a.got.Logprobs, want.Logprobs[:len(a.got.Logprobs)]) ||
				!strings.HasPrefix(want.Text, a.got.Text) ||
				whole && (n != len(want.Tokens) || a.got.Text != want.Text || a.got.Stop != want.Stop) ||
				whole && a.got.Stats.EvictedSlots > want.Stats.EvictedSlots {
				t.Fatalf("answer %d of %d, to %d tokens of which %d were cached:\n%v %q %v\nwant\n%v %q %v", i, len(list), len(a.prompt),
					a.got.Stats.ReusedTokens, a.got.Tokens, a.got.Text, a.got.Stop, want.Tokens, want.Text, want.Stop)
			}
		}
		t.Logf("%d answers, %+v", len(list), stats)
	})
	if evicting == 0 {
		t.Error("with evictions nothing was reused")
	}
	if cancelled == 0 || cancelled == answers {
		t.Errorf("%d of %d answers were cancelled", cancelled, answers)
	}
}

// askAtRandom asks a pool from four goroutines at once.
func askAtRandom(t *testing.T, m *llama.Model, p *llama.Pool, seed uint64) (list []asked) {
	const askers = 4
	questions := effort.Of(4, 12, 40)
	var mu sync.Mutex
	known := [][]llama.Token{shortStream(40)} // conversations that are being asked or were answered
	var running sync.WaitGroup
	for asker := range askers {
		random := rand.New(rand.NewPCG(seed, uint64(asker)))
		running.Go(func() {
			for range questions {
				a := asked{params: randomParams(random)}
				mu.Lock()
				begin := known[random.IntN(len(known))]
				mu.Unlock()
				if len(begin) > 130 || random.IntN(3) == 0 {
					begin = begin[:1+random.IntN(len(begin))]
				}
				a.prompt = slices.Clone(begin)
				for range 1 + random.IntN(20) {
					a.prompt = append(a.prompt, llama.Token(random.IntN(m.Config().VocabSize)))
				}
				mu.Lock()
				known = append(known, a.prompt) // another asker may go on with it meanwhile
				mu.Unlock()
				ctx := t.Context()
				if random.IntN(5) == 0 {
					ctx = countdown.New(ctx, random.IntN(30))
				}
				leave := random.IntN(16)
				a.got, a.err = llama.Collect(func(yield func(llama.Piece, error) bool) {
					for piece, err := range p.Generate(ctx, a.prompt, a.params) {
						if !yield(piece, err) {
							return
						}
						if leave--; leave == 0 {
							a.ended = true
							break
						}
					}
				})
				mu.Lock()
				list = append(list, a)
				known = append(known, slices.Concat(a.prompt, a.got.Tokens))
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return list
}

// randomParams returns parameters of every kind.
func randomParams(r *rand.Rand) llama.Params {
	p := llama.Params{MaxTokens: 1 + r.IntN(12), Seed: r.Uint64()}
	if r.IntN(2) == 0 {
		p.Temperature, p.TopK = 1.5, r.IntN(2)*40
	}
	if r.IntN(4) == 0 {
		p.RepeatPenalty = 1.2
	}
	if r.IntN(4) == 0 {
		p.Logprobs = 2
	}
	if r.IntN(3) == 0 {
		p.Draft = again{}
	}
	return p
}

// gate is a monitor of memory that stops whoever asks it for the given time, counted from 1, until it is opened.
type gate struct {
	asked   atomic.Int64
	stopAt  int64
	stopped chan struct{} // closed when somebody has been stopped
	open    chan struct{}
}

func (*gate) Name() string { return "gate" }

func (g *gate) Available() (int64, error) {
	time.Sleep(25 * time.Millisecond) // a manager asks again only when its last answer is older than 20 ms
	if g.asked.Add(1) == g.stopAt {
		close(g.stopped)
		<-g.open
	}
	return eviction.Unknown, nil
}

// TestPoolForksBeforeAnEvictionThatIsDue asks for an answer while the conversation that it has a beginning in common with has just
// computed a chunk after which an eviction is due, and has not evicted yet.
func TestPoolForksBeforeAnEvictionThatIsDue(t *testing.T) {
	m := pebbleModel(t)
	options := llama.SessionOptions{Eviction: policyOf(t, "sliding", 48)} // in chunks of 12; at 60 slots an eviction is due
	params := llama.Params{MaxTokens: 4}
	prompt := slices.Concat(stream(64), stream(300)[270:])
	want, err := llama.Collect(newSession(t, m, &options).Generate(t.Context(), prompt, params))
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{stopAt: 5, stopped: make(chan struct{}), open: make(chan struct{})}
	options.Monitor, options.MemoryThreshold = g, 1
	p := newPool(t, m, &llama.PoolOptions{Session: options})
	var other sync.WaitGroup
	defer other.Wait()
	defer close(g.open)
	other.Go(func() {
		if _, err := llama.Collect(p.Generate(t.Context(), stream(90), params)); err != nil {
			t.Error(err)
		}
	})
	<-g.stopped
	got := poolAnswer(t, p, prompt, params)
	if got.Stats.ReusedTokens != 59 || got.Stats.EvictedSlots != want.Stats.EvictedSlots || !slices.Equal(got.Tokens, want.Tokens) {
		t.Errorf("%v after %d tokens reused and %d slots evicted, want %v after 59 and %d", got.Tokens, got.Stats.ReusedTokens,
			got.Stats.EvictedSlots, want.Tokens, want.Stats.EvictedSlots)
	}
}
