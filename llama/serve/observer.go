package serve

import (
	"context"
	"net/http"
	"time"

	"github.com/antigravity-go/antigravity/llama"
)

// Observer is told of every request: metrics and traces hang on it. For OpenTelemetry, Begin starts a span, whose parent is in the
// request's header, and returns the context that carries it; Done ends it. Its method is called by many goroutines at once.
type Observer interface {
	// Begin is called before the request is read, and before it is known whether the client may use the server. The context that it returns
	// is the request's from then on, and the Logger's: it must be derived from ctx.
	Begin(ctx context.Context, r Request) (context.Context, Span)
}

// Request tells an Observer which request begins.
type Request struct {
	ID       string      // the X-Request-Id of the answer
	Endpoint string      // the route: "POST /v1/chat/completions"; a path alone where the method is wrong; "" where there is no such path
	Client   string      // whom Options.Client names, the name of a key, or an address
	Header   http.Header // the request's, secrets included: read it, and do not keep it
}

// Span follows one request. Its methods are called one at a time, though by several goroutines, and hold the answer up while they run.
type Span interface {
	// Model tells which model answers: by its name, not an alias.
	Model(name string)
	// Begin tells that the request's answer with this number begins to be computed, and how long it waited for its turn.
	Begin(answer int, waited time.Duration)
	// Tokens tells that so many more tokens of an answer have been computed, now.
	Tokens(answer, count int)
	// End tells that an answer is over; stop is 0 where it ended early.
	End(answer int, stop llama.StopReason, stats llama.Stats)
	// Done tells that the request is over: with which status, 499 where the client left, and why if there is no whole answer. Where an answer fails
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
