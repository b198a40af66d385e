package ask

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/budget"
)

// Request describes a request before its body is read. The server puts it into the request's context.
type Request struct {
	ID     string
	Client string // its requests wait in one line
	Scope  string // llama.Params.Scope of its answers
	Log    *slog.Logger
	Span   Span
	Memory *budget.Share // that it holds; nil: not counted
	Header http.Header   // of its answer; nil: nobody reads it

	Dropped int // messages of its conversation that were left out; see Model.FitPrompt

	size int // of its body, in bytes; 0 until it has been read
}

// Span follows one request. It is serve.Span without Done. Its methods are called from one goroutine at a time.
type Span interface {
	// Model reports the name, never an alias, of the model that answers.
	Model(name string)
	// Begin reports that an answer has its place in the queue, and how long it waited for the place.
	Begin(choice int, waited time.Duration)
	// Tokens reports that count more tokens of an answer have been computed.
	Tokens(choice, count int)
	// End reports that an answer is over. stop is 0 if it ended early.
	End(choice int, stop llama.StopReason, stats llama.Stats)
}

type requestKey struct{}

// WithRequest returns a context that carries a request.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestOf returns the request that a context carries.
func RequestOf(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	if r == nil {
		r = &Request{Log: slog.New(slog.DiscardHandler), Span: noSpan{}}
	}
	return r
}

// noSpan is a Span that does nothing.
type noSpan struct{}

func (noSpan) Model(string)                           {}
func (noSpan) Begin(int, time.Duration)               {}
func (noSpan) Tokens(int, int)                        {}
func (noSpan) End(int, llama.StopReason, llama.Stats) {}
