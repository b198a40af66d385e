package serve

import (
	"context"
	"net/http"
	"time"

	"github.com/antigravity-go/antigravity/llama"
)

// Observer follows every request, for metrics and traces. As llama/with/otel does, Begin may start a span with the parent from the request's header,
// and return the context that carries it; Done ends the span. Begin is called by many goroutines at once.
type Observer interface {
	// Begin is called before the request is read, and before it is known whether the client may use the server. The context that it returns
	// is the request's from then on, and the Logger's: it must be derived from ctx.
	Begin(ctx context.Context, r Request) (context.Context, Span)
}

// Request describes a request that begins, for an Observer.
type Request struct {
	ID       string      // the X-Request-Id of the answer
	Endpoint string      // the route: "POST /v1/chat/completions"; a path alone if the method is wrong; "" if there is no such path
	Client   string      // the name that Options.Client returns, the name of a key, or an address
	Key      string      // the name of the request's key; "" without a valid one
	Header   http.Header // the request's, secrets included: read it, and do not keep it
}

// Span follows one request. Its methods are called one at a time, though by several goroutines, and hold the answer up while they run.
type Span interface {
	// Model reports the name, never an alias, of the model that answers.
	Model(name string)
	// Begin reports that the request's answer with this number, from 0, begins to be computed, and how long it waited for its turn.
	Begin(answer int, waited time.Duration)
	// Tokens reports that count more tokens of an answer have been computed.
	Tokens(answer, count int)
	// End reports that an answer is over. stop is 0 if it ended early.
	End(answer int, stop llama.StopReason, stats llama.Stats)
	// Done reports that the request is over: its status, 499 if the client left, and the error if there is no whole answer. If an answer fails
	// after it has begun, the status is the failure's, though the client was sent another before.
	Done(status int, err error)
}

// noObserver is an Observer that does nothing.
type noObserver struct{}

func (noObserver) Begin(ctx context.Context, _ Request) (context.Context, Span) { return ctx, noSpan{} }

type noSpan struct{}

func (noSpan) Model(string)                           {}
func (noSpan) Begin(int, time.Duration)               {}
func (noSpan) Tokens(int, int)                        {}
func (noSpan) End(int, llama.StopReason, llama.Stats) {}
func (noSpan) Done(int, error)                        {}
