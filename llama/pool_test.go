package llama_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/cost"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// pieces is an answer.
type pieces = iter.Seq2[llama.Piece, error]

func newPool(t testing.TB, m *llama.Model, o *llama.PoolOptions) *llama.Pool {
	t.Helper()
	p, err := m.NewPool(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// poolAnswer lets a pool answer.
func poolAnswer(t testing.TB, p *llama.Pool, prompt []llama.Token, params llama.Params) llama.Piece {
	t.Helper()
	piece, err := llama.Collect(p.Generate(t.Context(), prompt, params))
	if err != nil {
		t.Fatal(err)
	}
	return piece
}

// hold begins an answer in the pool and returns when its first token has come. The answer goes on when the returned function is
// called, which returns when its loop has ended.
func hold(t testing.TB, p *llama.Pool, prompt []llama.Token) (release func()) {
	t.Helper()
	came, goOn, done := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for _, err := range p.Generate(t.Context(), prompt, llama.Params{MaxTokens: 2}) {
			came <- err
			<-goOn
			return
		}
	}()
	if err := <-came; err != nil {
		t.Fatal(err)
	}
	return func() {
		close(goOn)
		<-done
	}
}

// eventually waits until the pool's figures are as wanted.
func eventually(t testing.TB, p *llama.Pool, what string, ok func(s llama.PoolStats) bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(p.Stats()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come: %+v", what, p.Stats())
		}
	}
}

func TestPoolOptions(t *testing.T) {
	m := pebbleModel(t)
	for field, o := range map[string]*llama.PoolOptions{
		"PoolOptions.MaxSessions": {MaxSessions: -1},
		"PoolOptions.MaxBytes":    {MaxBytes: -1},
		"SessionOptions.Capacity": {Session: llama.SessionOptions{Capacity: -1}},
		"SessionOptions.Chunk":    {Session: llama.SessionOptions{Chunk: -1}},
	} {
		var param *llama.ParamError
		if _, err := m.NewPool(o); !errors.As(err, &param) || param.Field != field {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := m.NewPool(nil); err != nil {
		t.Error(err)
	}
}

// TestPoolReuses follows one conversation after the other through a pool, and counts the computed tokens.
func TestPoolReuses(t *testing.T) {
	m := pebbleModel(t)
	p := newPool(t, m, nil)
	base := stream(200)
	turn := func(what string, prompt []llama.Token, wantReused, wantIdle int) []llama.Token {
		t.Helper()
		before := p.Stats()
		piece := poolAnswer(t, p, prompt, llama.Params{MaxTokens: 4, Mask: endless{m}})
		after := p.Stats()
		if piece.Stats.ReusedTokens != wantReused || piece.Stats.PromptTokens != len(prompt) {
			t.Errorf("%s: %d of %d tokens were reused, want %d", what, piece.Stats.ReusedTokens, piece.Stats.PromptTokens, wantReused)
		}
		if r, c := after.ReusedTokens-before.ReusedTokens, after.ComputedTokens-before.ComputedTokens; int(r) != wantReused || int(r+c) != len(prompt) {
			t.Errorf("%s: the pool counts %d tokens reused and %d computed of %d", what, r, c, len(prompt))
		}
		if after.Idle != wantIdle || after.InUse != 0 || after.Waiting != 0 || after.WaitCount != 0 || after.Evicted != 0 {
			t.Errorf("%s: %+v, want %d idle", what, after, wantIdle)
		}
		return slices.Concat(prompt, piece.Tokens)
	}
	first := turn("first", base[:100], 0, 1)
	turn("the same again", base[:100], 99, 1) // a fork, which ends as the conversation that was there already
	longer := turn("the next turn", slices.Concat(first, base[100:130]), len(first), 1)
	turn("another end", slices.Concat(base[:80], base[150:170]), 80, 2)
	turn("shorter than both", base[:60], 59, 3)
	turn("hardly anything in common", slices.Concat(base[:15], base[100:120]), 0, 4)
	turn("the first conversation again", slices.Concat(longer, base[170:180]), len(longer), 4)
	turn("one token", base[:1], 0, 5)
}

// TestPoolLeavesNothingBehind ends answers in every way: the session goes back to the idle ones each time.
func TestPoolLeavesNothingBehind(t *testing.T) {
	m := pebbleModel(t)
	broken := errors.New("no")
	for _, c := range []struct {
		name string
		run  func(t *testing.T, p *llama.Pool, prompt []llama.Token)
		idle int
	}{
		{"not ranged over", func(t *testing.T, p *llama.Pool, prompt []llama.Token) {
			p.Generate(t.Context(), prompt, llama.Params{})
		}, 0},
		{"a break", func(t *testing.T, p *llama.Pool, prompt []llama.Token) {
			for range p.Generate(t.Context(), prompt, llama.Params{}) {
				break
			}
		}, 1},
		{"a second range", func(t *testing.T, p *llama.Pool, prompt []llama.Token) {
			pieces := p.Generate(t.Context(), prompt, llama.Params{MaxTokens: 2})
			for range pieces {
			}
			n := 0
			for _, err := range pieces {
				if n++; err == nil {
					t.Error("an answer can be ranged over twice")
				}
			}
			if n != 1 {
				t.Errorf("%d errors", n)
			}
		}, 1},
		{"an error", func(t *testing.T, p *llama.Pool, prompt []llama.Token) {
			mask := llama.LogitMaskFunc(func(generated []llama.Token, logits []float32) error {
				if len(generated) == 2 {
					return broken
				}
				return endless{m}.Apply(generated, logits)
			})
			if piece, err := llama.Collect(p.Generate(t.Context(), prompt, llama.Params{Mask: mask})); !errors.Is(err, broken) || len(piece.Tokens) != 2 {
				t.Errorf("%v: %v", piece.Tokens, err)
			}
		}, 1},
		{"a cancelled prompt", func(t *testing.T, p *llama.Pool, prompt []llama.Token) {
			_, err := llama.Collect(p.Generate(countdown.New(t.Context(), 12), prompt, llama.Params{}))
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}, 1},
		{"a cancelled context", func(t *testing.T, p *llama.Pool, prompt []llama.Token) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := llama.Collect(p.Generate(ctx, prompt, llama.Params{})); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}, 0},
		{"a panic of the body", func(t *testing.T, p *llama.Pool, prompt []llama.Token) {
			defer func() {
				if recover() != "body" {
					t.Error("the panic does not come through")
				}
			}()
			count := 0
			for range p.Generate(t.Context(), prompt, llama.Params{Draft: again{}, Mask: endless{m}}) {
				if count++; count == 2 { // the proposals after the first token are in the caches
					panic("body")
				}
			}
		}, 1},
		{"a panic of a mask", func(t *testing.T, p *llama.Pool, prompt []llama.Token) {
			defer func() {
				if recover() != "mask" {
					t.Error("the panic does not come through")
				}
			}()
			for range p.Generate(t.Context(), prompt, llama.Params{Mask: llama.LogitMaskFunc(func([]llama.Token, []float32) error { panic("mask") })}) {
			}
		}, 1},
		{"the goroutine's end", func(t *testing.T, p *llama.Pool, prompt []llama.Token) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range p.Generate(t.Context(), prompt, llama.Params{}) {
					runtime.Goexit()
				}
			}()
			<-done
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := m.MemoryUsage().Caches // what turns keys of 4 bits, if an earlier test needed it
			p := newPool(t, m, &llama.PoolOptions{MaxSessions: 1, Session: llama.SessionOptions{Chunk: 16}})
			prompt := stream(60)
			c.run(t, p, prompt)
			if s := p.Stats(); s.InUse != 0 || s.Idle != c.idle || s.Waiting != 0 || (s.Bytes > before) != (c.idle > 0) {
				t.Errorf("%+v, want %d idle", s, c.idle)
			}
			want, err := llama.Collect(newSession(t, m, nil).Generate(t.Context(), prompt, llama.Params{MaxTokens: 5}))
			if err != nil {
				t.Fatal(err)
			}
			if got := poolAnswer(t, p, prompt, llama.Params{MaxTokens: 5}); got.Text != want.Text {
				t.Errorf("the next answer is %q, want %q", got.Text, want.Text)
			} else if c.idle > 0 && got.Stats.ReusedTokens == 0 {
				t.Error("the next answer reuses nothing")
			}
		})
	}
}

// again is a Drafter that proposes the tokens that followed the latest token when it came before, or, if it did not, the first tokens of
// the conversation.
type again struct{}

func (again) Draft(dst, context []llama.Token) []llama.Token {
	last := len(context) - 1
	for i := last - 1; i >= 0; i-- {
		if context[i] == context[last] {
			return append(dst, context[i+1:min(i+4, last+1)]...)
		}
	}
	return append(dst, context[:min(3, last)]...)
}

// TestPoolRoomIsFair lets waiters come one after the other while the only room is taken: they are served in that order, and a waiter leaves
// when its context ends.
func TestPoolRoomIsFair(t *testing.T) {
	const waiters = 12
	p := newPool(t, pebbleModel(t), &llama.PoolOptions{MaxSessions: 1})
	release := hold(t, p, stream(20))
	var served []int
	var running sync.WaitGroup
	var cancels []context.CancelFunc
	gone := make(chan error, waiters)
	for i := range waiters {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		cancels = append(cancels, cancel)
		running.Go(func() {
			for _, err := range p.Generate(ctx, stream(20+i), llama.Params{MaxTokens: 1}) {
				if err != nil {
					gone <- err
					return
				}
				served = append(served, i) // there is one room only: nobody else is here
			}
		})
		eventually(t, p, "the waiter", func(s llama.PoolStats) bool { return s.Waiting == i+1 })
	}
	var want []int
	for i := range waiters {
		if i%3 != 1 {
			want = append(want, i)
			continue
		}
		cancels[i]()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if s := p.Stats(); s.Waiting != len(want) || s.InUse != 1 || s.WaitCount != int64(waiters-len(want)) {
		t.Errorf("%+v", s)
	}
	release()
	running.Wait()
	if !slices.Equal(served, want) {
		t.Errorf("served %v, want %v", served, want)
	}
	if s := p.Stats(); s.InUse != 0 || s.Waiting != 0 || s.WaitCount != waiters || s.WaitDuration <= 0 {
		t.Errorf("%+v", s)
	}
}

// TestPoolRefusesBeforeWaiting gives prompts and parameters without meaning to a pool with its only room taken: the errors come at once,
// and are those of a session.
func TestPoolRefusesBeforeWaiting(t *testing.T) {
	m := pebbleModel(t)
	o := llama.SessionOptions{Capacity: 50}
	p := newPool(t, m, &llama.PoolOptions{MaxSessions: 1, Session: o})
	release := hold(t, p, stream(20))
	defer release()
	s := newSession(t, m, &o)
	for name, c := range map[string]struct {
		prompt  []llama.Token
		history []llama.Message
		params  llama.Params
	}{
		"no tokens":          {},
		"no token":           {prompt: []llama.Token{1, -1}},
		"too long":           {prompt: stream(51)},
		"too long a chat":    {history: user(strings.Repeat("Why? ", 100))},
		"no such role":       {history: []llama.Message{{Role: "nobody", Content: "Hi"}}},
		"a temperature":      {prompt: stream(9), params: llama.Params{Temperature: -1}},
		"a chat's MaxTokens": {history: user("Hi"), params: llama.Params{MaxTokens: -1}},
	} {
		ask := func(generate func(context.Context, []llama.Token, llama.Params) pieces, chat func(context.Context, []llama.Message, llama.Params) pieces) error {
			answer := pieces(nil)
			if c.history != nil {
				answer = chat(t.Context(), c.history, c.params)
			} else {
				answer = generate(t.Context(), c.prompt, c.params)
			}
			_, err := llama.Collect(answer)
			return err
		}
		want := ask(s.Generate, s.Chat)
		if got := ask(p.Generate, p.Chat); got == nil || want == nil || got.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if s := p.Stats(); s.WaitCount != 0 {
		t.Errorf("%+v", s)
	}
}

// TestPoolSharesWhatIsBeingComputed asks for several answers at once to prompts that begin alike: the beginning is computed once.
func TestPoolSharesWhatIsBeingComputed(t *testing.T) {
	const askers, common = 6, 400
	m := pebbleModel(t)
	want := make([]string, askers)
	prompts := make([][]llama.Token, askers)
	for i := range prompts {
		prompts[i] = slices.Concat(stream(common), stream(30 * (i + 1))[30*i+7:])
		piece, err := llama.Collect(newSession(t, m, nil).Generate(t.Context(), prompts[i], llama.Params{MaxTokens: 3}))
		if err != nil {
			t.Fatal(err)
		}
		want[i] = piece.Text
	}
	p := newPool(t, m, &llama.PoolOptions{Session: llama.SessionOptions{Chunk: 64}})
	empty := p.Stats().Bytes // what turns keys of 4 bits, if an earlier test needed it
	var running sync.WaitGroup
	for i, prompt := range prompts {
		running.Go(func() {
			piece, err := llama.Collect(p.Generate(t.Context(), prompt, llama.Params{MaxTokens: 3}))
			if err != nil || piece.Text != want[i] {
				t.Errorf("%q, %v; want %q", piece.Text, err, want[i])
			}
		})
	}
	running.Wait()
	if s := p.Stats(); s.ComputedTokens != common+23*askers || s.ReusedTokens != common*(askers-1) {
		t.Errorf("%d prompts with %d tokens in common and 23 of their own: %+v", askers, common, s)
	}
	alone := newSession(t, m, nil)
	if err := alone.Prefill(t.Context(), stream(backend.PageSlots)); err != nil {
		t.Fatal(err)
	}
	page := alone.CacheUsage().Bytes // the pages of all heads and layers for as many slots
	if got, want := p.Stats().Bytes-empty-page, (common/backend.PageSlots+askers)*page; got != want {
		t.Errorf("%d conversations take %d bytes, want %d: all but the last page of each is shared", askers, got, want)
	}
	alone.Close()
	p.Close()
	// If the first does not get to the end, the others go on from its tokens.
	p = newPool(t, m, &llama.PoolOptions{Session: llama.SessionOptions{Chunk: 64}})
	for i, prompt := range prompts {
		running.Go(func() {
			ctx := t.Context()
			if i%2 == 0 {
				ctx = countdown.New(ctx, 5+7*i)
			}
			piece, err := llama.Collect(p.Generate(ctx, prompt, llama.Params{MaxTokens: 3}))
			if piece.Text != want[i] && (i%2 != 0 || !errors.Is(err, context.Canceled)) {
				t.Errorf("%q, %v; want %q", piece.Text, err, want[i])
			}
		})
	}
	running.Wait()
	if s := p.Stats(); s.ComputedTokens > common+(23+64)*askers {
		t.Errorf("with cancellations: %+v", s)
	}
}

// TestPoolKeepsWithinMaxBytes lets a pool cache more than it may: the least recently used go.
func TestPoolKeepsWithinMaxBytes(t *testing.T) {
	m, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	prompt := func(i int) []llama.Token { return stream(1000)[100*i:][:100] }
	once := llama.Params{MaxTokens: 1, Mask: endless{m}}
	one := newPool(t, m, nil)
	poolAnswer(t, one, prompt(0), once)
	each := one.Stats().Bytes
	one.Close()
	most := 4*each + each/2 // a prompt that is asked again is answered by a fork, which needs memory of its own until it ends
	p := newPool(t, m, &llama.PoolOptions{MaxBytes: most})
	for i := range 5 {
		poolAnswer(t, p, prompt(i), once)
		if i >= 2 {
			poolAnswer(t, p, prompt(0), once) // the first one is in use all the time
		}
		if s := p.Stats(); s.Bytes > most || s.Bytes != each*int64(s.Idle) {
			t.Errorf("after prompt %d: %+v, want at most %d bytes", i, s, most)
		}
	}
	if s := p.Stats(); s.Idle != 3 || s.Evicted != 2 {
		t.Errorf("%+v", s)
	}
	for _, i := range []int{0, 3, 4} {
		if got := poolAnswer(t, p, prompt(i), once).Stats.ReusedTokens; got != 99 {
			t.Errorf("prompt %d: %d tokens reused: it should still be cached", i, got)
		}
	}
	for _, i := range []int{1, 2} {
		if got := poolAnswer(t, p, prompt(i), once).Stats.ReusedTokens; got != 0 {
			t.Errorf("prompt %d: %d tokens reused: it should have been given up", i, got)
		}
	}
	tiny := newPool(t, m, &llama.PoolOptions{MaxBytes: 1})
	poolAnswer(t, tiny, prompt(0), once)
	if s := tiny.Stats(); s.Idle != 0 || s.Evicted != 1 {
		t.Errorf("of a pool that may keep nothing: %+v", s)
	}
}

// TestIdleSessionsKeepNoLogits caches several conversations: they take caches, and no other memory of the model.
func TestIdleSessionsKeepNoLogits(t *testing.T) {
	m, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p := newPool(t, m, nil)
	var first llama.Memory
	for i := range 5 {
		poolAnswer(t, p, stream(1000)[100*i:][:100], llama.Params{MaxTokens: 3, Temperature: 1})
		if i == 0 {
			first = m.MemoryUsage()
		}
	}
	if now := m.MemoryUsage(); p.Stats().Idle != 5 || now.Workspaces != first.Workspaces {
		t.Errorf("%d idle sessions: workspaces of %d bytes, with one %d", p.Stats().Idle, now.Workspaces, first.Workspaces)
	}
}

// TestPoolClose closes a pool, or its model, while answers are computed, wait for room, and wait for each other's prompts.
func TestPoolClose(t *testing.T) {
	effort.Turn(t, 8)
	for _, name := range []string{"pool", "model", "pool, from within"} {
		t.Run(name, func(t *testing.T) {
			m, err := pebble.Load(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for wait := range 4 {
				p := newPool(t, m, &llama.PoolOptions{MaxSessions: 3, Session: llama.SessionOptions{Chunk: 32}})
				var running sync.WaitGroup
				for i := range 12 {
					running.Go(func() {
						for n := 0; ; n++ {
							prompt := slices.Concat(stream(150), stream(12 * 1000)[1000*i+n:][:20])
							for piece, err := range p.Generate(t.Context(), prompt, llama.Params{MaxTokens: 20, Mask: endless{m}}) {
								if errors.Is(err, llama.ErrClosed) {
									return
								}
								if err != nil {
									t.Error(err)
								}
								if name == "pool, from within" && i == 5 && n == wait && piece.Stop == 0 {
									p.Close()
								}
							}
						}
					})
				}
				time.Sleep(time.Duration(wait) * 10 * time.Millisecond)
				switch name {
				case "pool":
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				case "model":
					m.Close()
				}
				running.Wait()
				if err := p.Close(); err != nil {
					t.Error(err)
				}
				if _, err := llama.Collect(p.Chat(t.Context(), user("Hi"), llama.Params{})); !errors.Is(err, llama.ErrClosed) {
					t.Errorf("after Close: %v", err)
				}
				if s := p.Stats(); s.InUse != 0 || s.Waiting != 0 || s.Idle != 0 || s.Bytes != 0 {
					t.Errorf("after Close: %+v", s)
				}
				if name == "model" {
					if _, err := m.NewPool(nil); !errors.Is(err, llama.ErrClosed) {
						t.Errorf("a pool of a closed model: %v", err)
					}
					break
				}
			}
		})
	}
}

// TestPoolOfEight lets hundreds of goroutines ask a pool of eight. What waits burns no processor.
func TestPoolOfEight(t *testing.T) {
	effort.Turn(t, 8)
	m := pebbleModel(t)
	p := newPool(t, m, &llama.PoolOptions{MaxSessions: 8})
	questions := []string{"What is the capital of Japan?", "What is the capital of France?", "What is 2 plus 3?", "Who are you?"}
	var want []string
	for _, q := range questions {
		text, _ := chat(t, newSession(t, m, nil), user(q), llama.Params{MaxTokens: 6})
		want = append(want, text)
	}
	var running sync.WaitGroup
	for i := range effort.Of(250, 1000, 1000) {
		running.Go(func() {
			piece, err := llama.Collect(p.Chat(t.Context(), user(questions[i%4]), llama.Params{MaxTokens: 6}))
			if err != nil || piece.Text != want[i%4] {
				t.Errorf("%q, %v; want %q", piece.Text, err, want[i%4])
			}
		})
		if s := p.Stats(); s.InUse > 8 {
			t.Fatalf("%+v", s)
		}
	}
	running.Wait()
	if s := p.Stats(); s.InUse != 0 || s.Waiting != 0 || s.Idle > 8 || s.ReusedTokens < 9*s.ComputedTokens {
		t.Errorf("%+v", s)
	}
}

func TestPoolWaitersSleep(t *testing.T) {
	if cost.Seconds() == 0 {
		t.Skip("the system does not tell how long processors worked")
	}
	p := newPool(t, pebbleModel(t), &llama.PoolOptions{MaxSessions: 1})
	release := hold(t, p, stream(20))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range 200 {
		running.Go(func() { _, _ = llama.Collect(p.Generate(ctx, stream(20), llama.Params{})) })
	}
	eventually(t, p, "the waiters", func(s llama.PoolStats) bool { return s.Waiting == 200 })
	before := cost.Seconds()
	time.Sleep(300 * time.Millisecond)
	if used := cost.Seconds() - before; used > 0.1 {
		t.Errorf("200 waiters took %.3f s of processors in 0.3 s", used)
	}
	cancel()
	running.Wait()
	release()
}

func TestPoolAnswersWhatTemplateRendered(t *testing.T) {
	m := pebbleModel(t)
	p, err := m.NewPool(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}
	prompt, err := m.Tokenizer().Template(history, llama.TemplateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	chat, err := llama.Collect(p.Chat(t.Context(), history, llama.Params{}))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := llama.Collect(p.Answer(t.Context(), prompt, llama.Params{}))
	if err != nil || answer.Text != chat.Text {
		t.Errorf("Answer gives %q, %v; Chat gives %q", answer.Text, err, chat.Text)
	}
	if s := answer.Stats; s.CacheSlots != len(prompt)+len(answer.Tokens) || s.CacheCapacity != m.Config().ContextLength {
		t.Errorf("%d of %d slots are in use after %d tokens", s.CacheSlots, s.CacheCapacity, len(prompt)+len(answer.Tokens))
	}
	if err := p.Check(prompt, llama.Params{}); err != nil {
		t.Error(err)
	}
	var full *llama.ContextFullError
	if err := p.Check(slices.Repeat(prompt, 1000), llama.Params{}); !errors.As(err, &full) {
		t.Errorf("a prompt that does not fit: %v", err)
	}
	var param *llama.ParamError
	if err := p.Check(prompt, llama.Params{Temperature: -1}); !errors.As(err, &param) {
		t.Errorf("a temperature below 0: %v", err)
	}
}
