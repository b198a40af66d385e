package serve_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// counter is an Observer that counts the tokens of each client. One for OpenTelemetry begins a span in Begin and ends it in Done.
type counter struct {
	mu     sync.Mutex
	tokens map[string]int
}

func (c *counter) Begin(ctx context.Context, r serve.Request) (context.Context, serve.Span) {
	return ctx, &counted{counter: c, client: r.Key}
}

// counted is the Span of one request.
type counted struct {
	*counter
	client string
}

func (*counted) Model(string)             {}
func (*counted) Begin(int, time.Duration) {}
func (*counted) Tokens(int, int)          {}
func (*counted) Done(int, error)          {}

func (c *counted) End(_ int, _ llama.StopReason, s llama.Stats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens[c.client] += s.GeneratedTokens
}

// An Observer follows every request.
func ExampleObserver() {
	model, err := flint.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	observer := &counter{tokens: map[string]int{}}
	server, err := serve.New(serve.Options{
		Models: []serve.Model{{Name: "flint", Loaded: model}}, Observer: observer, Keys: []serve.Key{{Name: "ann", Secret: "sk-of-ann"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	listener := httptest.NewServer(server)
	defer listener.Close()
	request, err := http.NewRequest(http.MethodPost, listener.URL+"/v1/completions", strings.NewReader(
		`{"prompt": "The capital of Japan is", "max_tokens": 4, "temperature": 0}`))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer sk-of-ann")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	answer.Body.Close()
	observer.mu.Lock()
	defer observer.mu.Unlock()
	fmt.Println(observer.tokens)
	// Output: map[ann:2]
}
