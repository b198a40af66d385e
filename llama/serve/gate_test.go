package serve_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// gate is an eviction policy that evicts nothing, and holds up the first conversation that comes to a length until it is opened: a test can
// do something meanwhile, and knows how far the conversation is.
type gate struct {
	eviction.Policy // eviction.None
	length          int
	stop            func() // once
	reached, opened chan struct{}
	open            func() // may be called several times
}

// newGate makes a gate at a length in tokens.
func newGate(length int) *gate {
	g := &gate{Policy: eviction.None, length: length, reached: make(chan struct{}), opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	g.stop = sync.OnceFunc(func() {
		close(g.reached)
		<-g.opened
	})
	return g
}

// Name is eviction.Policy's.
func (g *gate) Name() string { return "gate" }

// ShouldEvict is asked after each chunk and each token.
func (g *gate) ShouldEvict(v eviction.View, _ int64) bool {
	if v.Len() >= g.length {
		g.stop()
	}
	return false
}

// stories loads Pebble once for all tests.
var stories = sync.OnceValues(func() (*llama.Model, error) { return pebble.Load(nil) })

// startGated serves Pebble, one answer at a time, behind a gate at a length.
func startGated(t *testing.T, length int, change func(*serve.Options)) (*httptest.Server, *serve.Server, *gate) {
	t.Helper()
	model, err := stories()
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(length)
	o := serve.Options{
		PlainSampling: true,
		Models:        []serve.Model{{Name: "pebble", Loaded: model}},
		Pool:          llama.PoolOptions{MaxSessions: 1, Session: llama.SessionOptions{Eviction: g, Chunk: 16}},
	}
	if change != nil {
		change(&o)
	}
	s, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		g.open()
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return h, s, g
}

// story asks for a long answer.
const story = `{"model":"pebble","temperature":0,"messages":[{"role":"user","content":"Tell me a story about a fox."}]`

// until waits for something that another goroutine does at once.
func until(done func() bool) {
	for !done() {
		runtime.Gosched()
	}
}

// do sends a request and returns the answer. The test's end closes its body.
func do(t *testing.T, request *http.Request) *http.Response {
	t.Helper()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// send sends a request with a body and headers, given as names and values in turn.
func send(t *testing.T, method, url, body string, headers ...string) *http.Response {
	t.Helper()
	return do(t, newRequest(t, method, url, body, headers...))
}
