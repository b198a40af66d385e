package serve_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/llama/serve"
)

var (
	loadTime  = flag.Duration("load", 0, "how long TestLoad lets 200 clients ask, and TestPace measures each number of clients; 0: 40 clients for 2s, 0.15s each")
	paceModel = flag.String("pace-model", "", "`path` of the model that TestPace measures; none: Pebble")
)

// loadedPebble loads Pebble once for all tests of load.
var loadedPebble = sync.OnceValues(func() (*llama.Model, error) { return pebble.Load(nil) })

// servePebble serves Pebble on the loopback interface to clients clients, each with a key of its own, so that the server knows them apart.
// shutdown closes the server, as the test's end does too.
func servePebble(t *testing.T, clients int, watch *watcher, change ...func(*serve.Options)) (h *httptest.Server, model *llama.Model, shutdown func()) {
	t.Helper()
	model, err := loadedPebble()
	if err != nil {
		t.Fatal(err)
	}
	o := serve.Options{Models: []serve.Model{{Name: "pebble", Loaded: model}}, Observer: watch}
	o.Pool.MaxBytes = 64 << 20
	for i := range clients {
		o.Keys = append(o.Keys, serve.Key{Name: fmt.Sprint("client ", i), Secret: secret(i)})
	}
	for _, f := range change {
		f(&o)
	}
	s, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h = httptest.NewServer(s)
	transport := h.Client().Transport.(*http.Transport)
	transport.MaxIdleConnsPerHost = clients
	shutdown = sync.OnceFunc(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("nobody asks any more, and the server does not come to an end: %v", err)
		}
		h.Close()
	})
	t.Cleanup(shutdown)
	return h, model, shutdown
}

// secret is the key of a client.
func secret(client int) string { return fmt.Sprintf("secret-of-client-%04d", client) }

// watcher is an Observer that counts what the server did.
type watcher struct {
	begun, open               atomic.Int64 // answers: all that had a place, and those that are being computed
	prompt, reused, generated atomic.Int64 // tokens
	panics                    atomic.Int64 // requests that ended with status 500
	done                      atomic.Int64 // requests that ended
}

func (w *watcher) Begin(ctx context.Context, _ serve.Request) (context.Context, serve.Span) {
	return ctx, &watched{watcher: w}
}

// watched is the Span of one request.
type watched struct {
	*watcher
	open int64
}

func (w *watched) Model(string) {}
func (w *watched) Begin(int, time.Duration) {
	w.open++
	w.begun.Add(1)
	w.watcher.open.Add(1)
}
func (w *watched) Tokens(_, n int) { w.generated.Add(int64(n)) }
func (w *watched) End(_ int, _ llama.StopReason, s llama.Stats) {
	w.prompt.Add(int64(s.PromptTokens))
	w.reused.Add(int64(s.ReusedTokens))
}
func (w *watched) Done(status int, _ error) {
	w.watcher.open.Add(-w.open)
	w.done.Add(1)
	if status == http.StatusInternalServerError {
		w.panics.Add(1)
	}
}

// asking is a request that tests ask.
type asking struct {
	history     []llama.Message
	temperature float32
	seed        uint64
	tokens      int // the most tokens of the answer
	want        string
	finish      string
	bias        map[string]float32 // added to the logits of tokens
}

// alone computes the answer without a server, in a session of its own.
func (a *asking) alone(t *testing.T, m *llama.Model) {
	t.Helper()
	s, err := m.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	whole, err := llama.Collect(s.Chat(t.Context(), a.history, llama.Params{Temperature: a.temperature, Seed: a.seed, MaxTokens: a.tokens}))
	if err != nil {
		t.Fatal(err)
	}
	a.want, a.finish = whole.Text, "stop"
	if whole.Stop == llama.MaxTokens {
		a.finish = "length"
	}
}

// body returns the request as JSON.
func (a *asking) body(stream bool) []byte {
	request := map[string]any{
		"model": "pebble", "messages": a.history, "temperature": a.temperature, "seed": a.seed, "stream": stream,
		"logit_bias": a.bias,
	}
	if a.tokens > 0 {
		request["max_completion_tokens"] = a.tokens
	}
	if stream {
		request["stream_options"] = map[string]any{"include_usage": true}
	}
	text, err := json.Marshal(request)
	if err != nil {
		panic(err) // a test's own mistake
	}
	return text
}

// reply is what came back.
type reply struct {
	text, finish string
	tokens       int         // of the answer
	status       int         // HTTP's
	after        string      // Retry-After
	times        []time.Time // when parts of the answer came
}

// chat asks, and reads a stream with a pause after each line.
func (a *asking) chat(ctx context.Context, h *httptest.Server, client int, stream bool, pause time.Duration) (r reply, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+"/v1/chat/completions", bytes.NewReader(a.body(stream)))
	if err != nil {
		return r, err
	}
	request.Header.Set("Authorization", "Bearer "+secret(client))
	request.Header.Set("Content-Type", "application/json")
	answer, err := h.Client().Do(request)
	if err != nil {
		return r, err
	}
	defer answer.Body.Close()
	r.status, r.after = answer.StatusCode, answer.Header.Get("Retry-After")
	if r.status != http.StatusOK || !stream {
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return r, err
		}
		if r.status != http.StatusOK {
			r.text = string(text)
			return r, nil
		}
		return r, r.add(text)
	}
	done := false
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); time.Sleep(pause) {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case done && ok:
			return r, fmt.Errorf("after the end of the stream: %s", data)
		case ok && data == "[DONE]":
			done = true
		case ok:
			if err := r.add([]byte(data)); err != nil {
				return r, err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	if !done {
		return r, errors.New("the stream ended without [DONE]")
	}
	return r, nil
}

// add adds a whole answer, or a part of one, to the reply.
func (r *reply) add(data []byte) error {
	var part struct {
		Choices []struct {
			Message, Delta struct{ Content string }
			Finish         string `json:"finish_reason"`
		}
		Usage *struct {
			Completion int `json:"completion_tokens"`
		}
		Error any
	}
	if err := json.Unmarshal(data, &part); err != nil {
		return fmt.Errorf("%s: %w", data, err)
	}
	if part.Error != nil {
		return fmt.Errorf("an error within the stream: %s", data)
	}
	for _, c := range part.Choices {
		if text := c.Message.Content + c.Delta.Content; text != "" {
			r.text += text
			r.times = append(r.times, time.Now())
		}
		r.finish = cmp.Or(c.Finish, r.finish)
	}
	if part.Usage != nil {
		r.tokens = part.Usage.Completion
	}
	return nil
}

// questions returns requests with known answers: short and long, greedy and drawn, in conversations of one turn and of several.
func questions(t *testing.T, m *llama.Model) []*asking {
	t.Helper()
	user := func(text string) llama.Message { return llama.Message{Role: llama.RoleUser, Content: text} }
	histories := [][]llama.Message{
		{user("What is the capital of Japan?")},
		{user("Tell me a story about a fox and a lantern.")},
		{user("Write a short story about an owl.")},
		{user("How do you say hello in Korean?")},
		{{Role: llama.RoleSystem, Content: "You are Pebble."}, user("What is 27 + 58?")},
		{user("My name is Jade."), {Role: llama.RoleAssistant, Content: "Nice to meet you, Jade."}, user("What is my name?")},
	}
	var list []*asking
	for i, history := range histories {
		list = append(list,
			&asking{history: history, tokens: 100},
			&asking{history: history, temperature: 0.8, seed: uint64(i), tokens: 60},
			&asking{history: history, temperature: 1.5, seed: 1 << 40, tokens: 9})
	}
	for _, a := range list {
		a.alone(t, m)
	}
	return list
}

// memory is the memory that the process had at many moments of each half of a test, in MiB.
type memory struct{ heap, process [2][]float64 }

// watchMemory looks at the memory again and again, until the returned function is called.
func watchMemory(duration time.Duration) (stop func() memory) {
	var m memory
	ended := make(chan struct{})
	var watch sync.WaitGroup
	began := time.Now()
	watch.Go(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-ended:
				tick.Stop()
				return
			case <-tick.C:
			}
			half := 0
			if time.Since(began) > duration/2 {
				half = 1
			}
			metrics.Read(live)
			m.heap[half] = append(m.heap[half], float64(live[0].Value.Uint64())/(1<<20))
			m.process[half] = append(m.process[half], float64(resident())/(1<<20))
		}
	})
	return func() memory {
		close(ended)
		watch.Wait()
		return m
	}
}

// flat logs the memory of two halves, and checks that the second half's is no more than a tenth above the first one's: the largest, and the
// median, which chance moves less.
func flat(t *testing.T, what string, halves [2][]float64, check bool) {
	t.Helper()
	var most, median [2]float64
	for i, h := range halves {
		if len(h) > 0 {
			most[i] = slices.Max(h)
			slices.Sort(h)
			median[i] = h[len(h)/2]
		}
	}
	t.Logf("%s, in MiB, in the two halves: %.1f at most, median %.1f", what, most, median)
	if check && (most[1] > 1.1*most[0]+2 || median[1] > 1.1*median[0]+0.5) {
		t.Errorf("%s grew", what)
	}
}

// resident returns the memory of the process in bytes, 0 if the system does not report it.
func resident() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
	kilobytes, _, _ := bytes.Cut(rest, []byte("kB"))
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(kilobytes)), 10, 64)
	return n << 10
}

// TestLoad lets many clients ask at the same time. A third of them leave before the answer is complete, and some read slowly. Nothing but
// status 429 may go wrong, every answer that ends is the one that was computed alone, memory does not grow, and at the end nothing is left
// of it all.
func TestLoad(t *testing.T) {
	effort.Turn(t, 8)
	clients, duration := 40, 2*time.Second
	if *loadTime > 0 {
		clients, duration = 200, *loadTime
	}
	watch := &watcher{}
	h, model, shutdown := servePebble(t, clients, watch, func(o *serve.Options) {
		o.Pool.MaxSessions, o.MaxQueue = clients/5, clients/2 // too short a line for all who would wait
		o.Pool.MaxBytes = 24 << 20                            // full soon, so that the first half of the test shows it, too
	})
	list := questions(t, model)
	end := time.Now().Add(duration)
	stop := watchMemory(duration)
	var finished, left, refused, failed atomic.Int64
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 14))
			for time.Now().Before(end) && failed.Load() < 10 {
				a := list[r.IntN(len(list))]
				leaves, slow, stream := r.IntN(3) == 0, r.IntN(8) == 0, r.IntN(4) > 0
				patience := time.Minute
				if leaves {
					patience = time.Duration(r.Int64N(int64(time.Second)))
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				pause := time.Duration(0)
				if slow {
					pause = 5 * time.Millisecond
				}
				got, err := a.chat(ctx, h, i, stream, pause)
				switch {
				case err != nil && leaves && ctx.Err() != nil:
					left.Add(1)
				case err != nil:
					failed.Add(1)
					t.Errorf("%q: %v", a.history[0].Content, err)
				case got.status == http.StatusTooManyRequests:
					refused.Add(1)
					if n, err := strconv.Atoi(got.after); err != nil || n < 1 || n > 60 {
						t.Errorf("status 429 with Retry-After %q", got.after)
					}
					time.Sleep(time.Duration(r.Int64N(int64(200 * time.Millisecond)))) // sooner than it says: the load shall stay
				case got.status != http.StatusOK:
					failed.Add(1)
					t.Errorf("status %d: %s", got.status, got.text)
				case got.text != a.want || got.finish != a.finish:
					failed.Add(1)
					t.Errorf("%q: %q (%s), alone it is %q (%s)", a.history[0].Content, got.text, got.finish, a.want, a.finish)
				default:
					finished.Add(1)
				}
				cancel()
			}
		})
	}
	all.Wait()
	m := stop()
	shutdown()
	t.Logf("%d clients for %v: %d answers, %d clients left, %d refused; %d tokens generated, %d of %d tokens of prompts reused",
		clients, duration, finished.Load(), left.Load(), refused.Load(), watch.generated.Load(), watch.reused.Load(), watch.prompt.Load())
	if finished.Load() == 0 || left.Load() == 0 || refused.Load() == 0 {
		t.Error("the test shows nothing: some should finish, some leave and some be refused")
	}
	if open, panics := watch.open.Load(), watch.panics.Load(); open != 0 || panics != 0 {
		t.Errorf("%d answers are still being computed, %d requests ended with status 500", open, panics)
	}
	long := duration >= 20*time.Second // otherwise the first half is what the server and its caches grow in
	flat(t, "the heap", m.heap, long)
	flat(t, "the process", m.process, long)
}

// TestWhoLeavesCostsNothing lets a client leave while it waits, in its prompt and in its answer, and looks at how much is computed for it.
func TestWhoLeavesCostsNothing(t *testing.T) {
	model, err := loadedPebble()
	if err != nil {
		t.Fatal(err)
	}
	endless := map[string]float32{} // keeps an answer from ending before the context is full
	for id := range model.Tokenizer().VocabSize() {
		if model.IsEnd(llama.Token(id)) {
			endless[fmt.Sprint(id)] = -100
		}
	}
	story := &asking{bias: endless, history: []llama.Message{{Role: llama.RoleUser, Content: "Tell me a story about a bear and a drum."}}}
	context2048 := strings.Repeat("The door code of the red house is 4711. ", 140)
	long := &asking{tokens: 1, history: []llama.Message{{Role: llama.RoleUser, Content: context2048}}}
	prompt, err := model.Tokenizer().Template(long.history, llama.TemplateOptions{})
	if err != nil || len(prompt) < 1500 || len(prompt) > 2000 {
		t.Fatalf("a prompt of %d tokens, %v; the test wants 1500 to 2000", len(prompt), err)
	}
	watch := &watcher{}
	h, _, _ := servePebble(t, 2, watch, func(o *serve.Options) { o.Pool.MaxSessions = 1 })
	const hangs = 2 * time.Minute // what lasts longer than that never ends, on any machine
	gone := func(what string) {   // waits until nothing is computed
		t.Helper()
		for end := time.Now().Add(hangs); watch.open.Load() != 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: still being computed after %v", what, hangs)
			}
		}
	}
	leave := func(a *asking, client int, when func() bool) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			_, err := a.chat(ctx, h, client, true, 0)
			ended <- err
		}()
		for !when() {
			select {
			case err := <-ended:
				t.Fatalf("the answer ended before its client left: %v", err)
			case <-time.After(100 * time.Microsecond):
			}
		}
		cancel()
		<-ended
	}
	leave(story, 0, func() bool { return watch.generated.Load() >= 5 })
	gone("an answer")
	if n := watch.generated.Load(); n > 500 {
		t.Errorf("%d tokens were generated for a client that left after a few", n)
	}
	leave(long, 0, func() bool { return watch.open.Load() == 1 })
	gone("a prompt")
	if n := watch.prompt.Load(); n >= int64(len(prompt)) {
		t.Errorf("%d tokens of prompts were computed for a client that left early in one of %d", n, len(prompt))
	}
	t.Logf("for two clients that left, %d tokens were generated and %d of %d tokens of a prompt computed", watch.generated.Load(), watch.prompt.Load(), len(prompt))
	begun := watch.begun.Load()
	leave(story, 0, func() bool {
		if watch.open.Load() == 1 { // the only place is taken: another client waits, and leaves
			left, done := time.Now().Add(20*time.Millisecond), watch.done.Load()
			leave(story, 1, func() bool { return time.Now().After(left) })
			for watch.done.Load() == done { // until the server has noticed, or else it may have the place when this one leaves
				if time.Since(left) > hangs {
					t.Fatalf("a client that waited and left is still being served after %v", hangs)
				}
				time.Sleep(100 * time.Microsecond)
			}
			return true
		}
		return false
	})
	gone("an answer, and one that waited behind it")
	if n := watch.begun.Load() - begun; n != 1 {
		t.Errorf("%d answers were begun, one of them for a client that left before it had a place", n)
	}
}

// TestSharedPromptIsComputedOnce lets many clients ask different questions at once under the same system prompt.
func TestSharedPromptIsComputedOnce(t *testing.T) {
	effort.Turn(t, 8)
	const clients = 64
	watch := &watcher{}
	h, model, shutdown := servePebble(t, clients, watch, func(o *serve.Options) { o.ShareCache = true })
	system := llama.Message{Role: llama.RoleSystem, Content: strings.Repeat("You are Pebble, a very small Llama that runs inside a Go program. ", 20)}
	list := make([]*asking, clients)
	prompts := make([][]llama.Token, clients)
	for i := range list {
		question := llama.Message{Role: llama.RoleUser, Content: fmt.Sprintf("%d + %d?", 10+i, 99-i)}
		list[i] = &asking{history: []llama.Message{system, question}, tokens: 4}
		var err error
		if prompts[i], err = model.Tokenizer().Template(list[i].history, llama.TemplateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	shared := len(prompts[0])
	for _, p := range prompts[1:] {
		n := 0
		for n < min(shared, len(p)) && p[n] == prompts[0][n] {
			n++
		}
		shared = n
	}
	own, whole := 0, 0
	for _, p := range prompts {
		own += len(p) - shared
		whole += len(p)
	}
	var all sync.WaitGroup
	for i, a := range list {
		all.Go(func() {
			if got, err := a.chat(t.Context(), h, i, i%2 == 0, 0); err != nil || got.status != http.StatusOK {
				t.Errorf("client %d: %v, %+v", i, err, got)
			}
		})
	}
	all.Wait()
	shutdown()
	computed := int(watch.prompt.Load() - watch.reused.Load())
	t.Logf("%d prompts of %d tokens in all, which share %d: %d were computed", clients, whole, shared, computed)
	if int(watch.prompt.Load()) != whole {
		t.Errorf("the server counts %d tokens of prompts, want %d", watch.prompt.Load(), whole)
	}
	if most := shared + own; computed > most {
		t.Errorf("%d tokens of prompts were computed: what all share is %d tokens, and what they do not share %d", computed, shared, own)
	}
}

// TestPace measures how long clients wait for the first token and between tokens while they ask without a pause, and the tokens of all
// together, with the server and with the model's Pool alone. It fails only if a request does; the figures are for people.
func TestPace(t *testing.T) {
	effort.Turn(t, 8)
	duration := 40 * time.Millisecond
	if *loadTime > 0 {
		duration = min(*loadTime, 20*time.Second)
	}
	another := func(*serve.Options) {}
	if *paceModel != "" {
		m, err := llama.Load(*paceModel, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		another = func(o *serve.Options) { o.Models[0].Loaded, o.Pool.MaxBytes = m, 0 }
	}
	t.Log("clients   first token ms   between tokens ms   tokens/s   of the Pool's")
	t.Log("             p50     p99        p50     p99")
	for _, clients := range []int{1, 8, 32} {
		var model *llama.Model
		h, _, shutdown := servePebble(t, clients, &watcher{}, another, func(o *serve.Options) { model = o.Models[0].Loaded })
		served := measure(t, clients, duration, func(client int, a *asking) (reply, error) {
			r, err := a.chat(t.Context(), h, client, true, 0)
			if err == nil && r.status != http.StatusOK {
				err = fmt.Errorf("status %d: %s", r.status, r.text)
			}
			return r, err
		})
		shutdown()
		pool, err := model.NewPool(nil)
		if err != nil {
			t.Fatal(err)
		}
		alone := measure(t, clients, duration, func(_ int, a *asking) (r reply, err error) {
			for p, err := range pool.Chat(t.Context(), a.history, llama.Params{MaxTokens: a.tokens}) {
				if err != nil {
					return r, err
				}
				r.tokens += len(p.Tokens)
				r.times = append(r.times, time.Now())
			}
			return r, nil
		})
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
		t.Logf("%7d %8.1f%8.1f %10.2f%8.2f %10.0f %15.2f", clients, percentile(served.first, 50), percentile(served.first, 99),
			percentile(served.between, 50), percentile(served.between, 99), served.rate, served.rate/alone.rate)
	}
}

// pace is what measure finds: times in order, and the tokens of all clients together per second.
type pace struct {
	first, between []time.Duration
	rate           float64
}

// measure lets clients clients ask for stories, no two of them the same, one after the other for a while.
func measure(t *testing.T, clients int, duration time.Duration, chat func(client int, a *asking) (reply, error)) (p pace) {
	t.Helper()
	var mu sync.Mutex
	tokens := 0
	var all sync.WaitGroup
	began := time.Now()
	for i := range clients {
		all.Go(func() {
			for n := 0; time.Since(began) < duration; n++ {
				a := &asking{tokens: 64, history: []llama.Message{
					{Role: llama.RoleSystem, Content: fmt.Sprintf("Story %d of client %d.", n, i)},
					{Role: llama.RoleUser, Content: fmt.Sprintf("Tell me a story about a %s and a %s.", animals[(i+n)%len(animals)], objects[n%len(objects)])},
				}}
				asked := time.Now()
				got, err := chat(i, a)
				if err != nil || len(got.times) == 0 {
					t.Errorf("%v, %+v", err, got)
					return
				}
				mu.Lock()
				p.first = append(p.first, got.times[0].Sub(asked))
				for j := range got.times[1:] {
					p.between = append(p.between, got.times[j+1].Sub(got.times[j]))
				}
				tokens += got.tokens
				mu.Unlock()
			}
		})
	}
	all.Wait()
	p.rate = float64(tokens) / time.Since(began).Seconds()
	slices.Sort(p.first)
	slices.Sort(p.between)
	return p
}

var (
	animals = []string{"fox", "owl", "bear", "cat", "dog", "frog", "goat"}
	objects = []string{"lantern", "kite", "drum", "bell", "map"}
)

// percentile returns a percentile of sorted times, in milliseconds.
func percentile(sorted []time.Duration, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[min(len(sorted)*p/100, len(sorted)-1)]) / float64(time.Millisecond)
}
