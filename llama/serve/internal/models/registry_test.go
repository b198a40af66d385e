package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// loadFlint and loadPebble are the Load of specs.
func loadFlint(ctx context.Context) (*llama.Model, error)  { return flint.LoadContext(ctx, nil) }
func loadPebble(ctx context.Context) (*llama.Model, error) { return pebble.LoadContext(ctx, nil) }

// sizeOf returns what loading a model takes.
func sizeOf(t *testing.T, load func(context.Context) (*llama.Model, error)) int64 {
	t.Helper()
	m, err := load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	return usage(m)
}

// ask answers a question with a model at hand.
func ask(ctx context.Context, pool *llama.Pool) (string, error) {
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of France?"}}
	piece, err := llama.Collect(pool.Chat(ctx, history, llama.Params{MaxTokens: 8}))
	return piece.Text, err
}

// TestAdaptersOfOneModel keeps a model with an adapter, with some of it, and without one.
func TestAdaptersOfOneModel(t *testing.T) {
	model, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	adapter, err := model.LoadAdapter("../../../testdata/adapter")
	if err != nil {
		t.Fatal(err)
	}
	defer adapter.Close()
	r, err := New([]Spec{
		{Name: "plain", Loaded: model}, {Name: "adapted", Loaded: model, Pool: llama.PoolOptions{Session: llama.SessionOptions{Adapter: adapter}}},
		{Name: "little", Loaded: model, Adapter: adapter, AdapterScale: 0.3},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	prints, vectors, answers, pools := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[*llama.Pool]bool{}
	for _, name := range []string{"plain", "adapted", "little"} {
		l, err := r.Lease(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		v, err := l.Embed(t.Context(), llama.EmbedOptions{}, "What is 3 + 4?")
		if err != nil {
			t.Fatal(err)
		}
		p := llama.Params{MaxTokens: 4, Logprobs: 1, Adapter: l.Adapter, AdapterScale: l.AdapterScale}
		answer, err := llama.Collect(l.Pool.Chat(t.Context(), []llama.Message{{Role: llama.RoleUser, Content: "What is 3 + 4?"}}, p))
		if err != nil {
			t.Fatal(err)
		}
		prints[l.Fingerprint], vectors[fmt.Sprint(v)], answers[fmt.Sprint(answer.Logprobs)], pools[l.Pool] = true, true, true, true
	}
	if len(prints) != 3 || len(vectors) != 3 || len(answers) != 3 || len(pools) != 1 {
		t.Errorf("three models have the fingerprints %v, %d different embeddings, %d answers and %d pools", prints, len(vectors), len(answers), len(pools))
	}
}

func TestSpecsThatMeanNothing(t *testing.T) {
	model, err := flint.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	for _, c := range []struct {
		name  string
		specs []Spec
		o     Options
		want  string // part of the error
	}{
		{"none", nil, Options{}, "no model"},
		{"no name", []Spec{{Name: "a", Load: loadFlint}, {Load: loadFlint}}, Options{}, "at 1"},
		{"an empty alias", []Spec{{Name: "a", Aliases: []string{""}, Load: loadFlint}}, Options{}, `"a"`},
		{"a name twice", []Spec{{Name: "a", Load: loadFlint}, {Name: "a", Load: loadFlint}}, Options{}, `"a"`},
		{"an alias that is a name", []Spec{{Name: "a", Load: loadFlint}, {Name: "b", Aliases: []string{"a"}, Load: loadFlint}}, Options{}, `"a" and "b"`},
		{"an alias of its own", []Spec{{Name: "a", Aliases: []string{"b", "b"}, Load: loadFlint}}, Options{}, `"b" twice`},
		{"no way to load", []Spec{{Name: "a"}}, Options{}, "neither"},
		{"two ways to load", []Spec{{Name: "a", Load: loadFlint, Loaded: model}}, Options{}, "both"},
		{"an adapter of nothing", []Spec{{Name: "a", Load: loadFlint, Pool: llama.PoolOptions{Session: llama.SessionOptions{Adapter: new(llama.Adapter)}}}}, Options{}, "adapter"},
		{"a negative size", []Spec{{Name: "a", Load: loadFlint, Bytes: -1}}, Options{}, "-1"},
		{"a negative budget", []Spec{{Name: "a", Load: loadFlint}}, Options{Budget: -1}, "-1"},
		{"a budget that is too small already", []Spec{{Name: "a", Loaded: model}}, Options{Budget: 1000}, "budget of 1000"},
		{"a pool without meaning", []Spec{{Name: "a", Loaded: model, Pool: llama.PoolOptions{MaxSessions: -1}}}, Options{}, "MaxSessions"},
	} {
		if _, err := New(c.specs, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
}

func TestModelsByName(t *testing.T) {
	own, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	r, err := New([]Spec{
		{Name: "flint", Aliases: []string{"gpt-4o-mini", "small"}, Load: loadFlint, Pool: llama.PoolOptions{Session: llama.SessionOptions{Capacity: 300}}},
		{Name: "pebble", Loaded: own, Draft: llama.PromptLookup(llama.LookupOptions{})},
	}, Options{Places: 3})
	if err != nil {
		t.Fatal(err)
	}
	var unknown *UnknownError
	if _, err := r.Lease(t.Context(), "llama"); !errors.As(err, &unknown) || unknown.Name != "llama" || fmt.Sprint(unknown.Known) != "[flint pebble]" {
		t.Errorf("%v, want an *UnknownError", err)
	}
	list := r.List()
	if len(list) != 2 || list[0].Name != "flint" || list[0].Loaded || list[0].Bytes != 0 || list[0].Context != 0 || !list[1].Loaded || list[1].Bytes == 0 ||
		list[1].Context != min(own.Config().ContextLength, 4096) || len(list[0].Aliases) != 2 || time.Since(list[0].Created) > time.Minute {
		t.Errorf("before anything was asked: %+v", list)
	}
	a, err := r.Lease(t.Context(), "small")
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Lease(t.Context(), "flint")
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Lease(t.Context(), "pebble")
	if err != nil {
		t.Fatal(err)
	}
	print, err := own.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != "flint" || a.Model != b.Model || a.Pool != b.Pool || a.Queue != b.Queue || a.Context != 300 || a.Draft != nil || len(a.Fingerprint) < 8 {
		t.Errorf("flint: %+v and %+v", a, b)
	}
	if c.Model != own || c.Fingerprint != print || c.Fingerprint == a.Fingerprint || c.Draft == nil {
		t.Errorf("pebble: %+v", c)
	}
	places, err := a.Queue.Join("me", 4)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := ask(t.Context(), a.Pool); err != nil || text == "" {
		t.Errorf("%q, %v", text, err)
	}
	list = r.List()
	if s := list[0]; !s.Loaded || s.InUse != 2 || s.Bytes == 0 || s.Context != 300 || s.Pool.ComputedTokens == 0 || s.Queue.InUse != 3 || s.Queue.Waiting != 1 {
		t.Errorf("while it is in use: %+v", s)
	}
	for _, p := range places {
		p.Leave()
	}
	a.Close()
	a.Close()
	if s := r.List()[0]; s.InUse != 1 {
		t.Errorf("a lease that was closed twice: %+v", s)
	}
	b.Close()
	c.Close()
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := r.Lease(t.Context(), "flint"); err != ErrClosed {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
	if s := r.List(); s[0].Loaded || s[1].Loaded || s[0].Context != 300 {
		t.Errorf("after Close: %+v", s)
	}
	if _, err := own.Embed(t.Context(), "still there"); err != nil {
		t.Errorf("a model that was given loaded: %v", err)
	}
	if _, err := ask(t.Context(), a.Pool); !errors.Is(err, llama.ErrClosed) {
		t.Errorf("the pool after Close: %v, want llama.ErrClosed", err)
	}
}

func TestLoadErrors(t *testing.T) {
	broken := errors.New("broken")
	r, err := New([]Spec{
		{Name: "broken", Load: func(context.Context) (*llama.Model, error) { return nil, broken }},
		{Name: "nothing", Load: func(context.Context) (*llama.Model, error) { return nil, nil }},
		{Name: "odd", Load: loadFlint, Pool: llama.PoolOptions{Session: llama.SessionOptions{Capacity: 1 << 30}}},
		{Name: "large", Load: loadFlint, Bytes: 1 << 40},
	}, Options{Budget: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		want func(error) bool
	}{
		{"broken", func(err error) bool { return errors.Is(err, broken) }},
		{"nothing", func(err error) bool { return strings.Contains(err.Error(), "no model and no error") }},
		{"odd", func(err error) bool { return errors.As(err, new(*llama.ParamError)) }},
		{"large", func(err error) bool { return errors.As(err, new(*TooLargeError)) }},
	} {
		if _, err := r.Lease(t.Context(), c.name); err == nil || !c.want(err) || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRoomForOneOfTwo lets many goroutines ask for either of two models, with room for one at a time.
func TestRoomForOneOfTwo(t *testing.T) {
	flintBytes, pebbleBytes := sizeOf(t, loadFlint), sizeOf(t, loadPebble)
	// Room for either with the caches of these requests, but not for both.
	budget := max(flintBytes, pebbleBytes) + 4<<20
	if budget >= flintBytes+pebbleBytes {
		t.Fatalf("the models take %d and %d bytes: they would both fit into %d", flintBytes, pebbleBytes, budget)
	}
	var open, most, loads atomic.Int32
	counting := func(load func(context.Context) (*llama.Model, error)) func(context.Context) (*llama.Model, error) {
		return func(ctx context.Context) (*llama.Model, error) {
			loads.Add(1)
			return load(ctx)
		}
	}
	r, err := New([]Spec{
		{Name: "flint", Load: counting(loadFlint), Bytes: flintBytes},
		{Name: "pebble", Load: counting(loadPebble), Bytes: pebbleBytes},
	}, Options{Budget: budget, Places: 4})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"flint", "pebble"}
	var first [2]atomic.Pointer[string]
	var all, watch sync.WaitGroup
	stop := make(chan struct{})
	watch.Go(func() { // List while models come and go
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			n := int32(0)
			for _, s := range r.List() {
				if s.Loaded {
					n++
				}
			}
			open.Store(n)
			most.Store(max(most.Load(), n))
		}
	})
	for i := range 20 {
		all.Go(func() {
			for j := range 2 {
				which := (i + j) % 2
				l, err := r.Lease(t.Context(), names[which])
				if err != nil {
					t.Error(err)
					return
				}
				places, err := l.Queue.Join(fmt.Sprint(i%5), 1)
				if err == nil {
					err = places[0].Wait(t.Context())
				}
				if err != nil {
					t.Error(err)
					l.Close()
					return
				}
				text, err := ask(t.Context(), l.Pool)
				places[0].Leave()
				l.Close()
				if err != nil {
					t.Errorf("%s: %v", names[which], err)
				}
				if !first[which].CompareAndSwap(nil, &text) && *first[which].Load() != text {
					t.Errorf("%s said %q and %q", names[which], *first[which].Load(), text)
				}
			}
		})
	}
	all.Wait()
	close(stop)
	watch.Wait()
	if most.Load() > 1 {
		t.Errorf("%d models were loaded at once, the budget has room for one", most.Load())
	}
	t.Logf("%d loads", loads.Load())
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCloseWhileAnswering(t *testing.T) {
	r, err := New([]Spec{{Name: "flint", Load: loadFlint}}, Options{Places: 1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Lease(t.Context(), "flint")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	places, err := l.Queue.Join("me", 2)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	enough := errors.New("enough")
	var last error
	for _, err := range l.Pool.Chat(t.Context(), []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of France?"}}, llama.Params{}) {
		if last = err; err != nil {
			break
		}
		if ctx.Err() == nil {
			cancel(enough)
			if err := r.Close(ctx); !errors.Is(err, enough) {
				t.Errorf("Close: %v, want the context's cause", err)
			}
		}
	}
	if !errors.Is(last, llama.ErrClosed) {
		t.Errorf("the answer ended with %v, want llama.ErrClosed", last)
	}
	if err := places[1].Wait(t.Context()); err == nil {
		t.Error("who waited in the queue got a place")
	}
}

// TestCachesAreModest checks how much memory cached conversations may take: as much as the options say, or about as much as the weights.
func TestCachesAreModest(t *testing.T) {
	model, err := flint.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	weights := model.MemoryUsage().Weights
	for _, c := range []struct{ said, budget, least, most int64 }{
		{0, 0, weights, max(weights, leastCache)},
		{3 << 30, 0, 3 << 30, 3 << 30},
		{0, 2*weights + 1<<20, weights, weights + 1<<20},
		{1000, 2 * weights, 1000, 1000},
	} {
		r, err := New([]Spec{{Name: "flint", Load: loadFlint, Pool: llama.PoolOptions{MaxBytes: c.said}}}, Options{Budget: c.budget})
		if err != nil {
			t.Fatal(err)
		}
		l, err := r.Lease(t.Context(), "flint")
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Pool.Stats().MaxBytes; got < c.least || got > c.most {
			t.Errorf("%+v: conversations may take %d bytes, and the weights take %d", c, got, weights)
		}
		l.Close()
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestTheLogTellsWhatIsGivenBack looks at what the log says of a model that the registry loads, and of one that is the caller's.
func TestTheLogTellsWhatIsGivenBack(t *testing.T) {
	model, err := flint.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	var log bytes.Buffer
	r, err := New([]Spec{{Name: "mine", Loaded: model}, {Name: "its", Load: loadFlint}}, Options{PlainSampling: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Lease(t.Context(), "its")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if text := log.String(); strings.Contains(text, "mine") || strings.Count(text, "giving a model back") != 1 || strings.Count(text, "max_bytes=") != 1 {
		t.Errorf("the log says %s", text)
	}
}
