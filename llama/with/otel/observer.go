package otel

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// operations are the conventions' names for the server's routes, which may begin with /v1.
var operations = map[string]string{
	"/chat/completions": "chat", "/responses": "chat", "/messages": "chat", "/api/chat": "chat",
	"/completions": "text_completion", "/completion": "text_completion", "/infill": "text_completion", "/api/generate": "text_completion",
	"/embeddings": "embeddings", "/api/embed": "embeddings", "/api/embeddings": "embeddings",
}

// Begin is serve.Observer's.
func (t *Telemetry) Begin(ctx context.Context, r serve.Request) (context.Context, serve.Span) {
	method, route, _ := strings.Cut(r.Endpoint, " ")
	name := operations[strings.TrimPrefix(route, "/v1")]
	if name == "" || method != http.MethodPost {
		return ctx, unobserved{}
	}
	o := t.start(t.propagator.Extract(ctx, propagation.HeaderCarrier(r.Header)), name, trace.SpanKindServer)
	return o.ctx, (*request)(o)
}

// request is a request of a server.
type request operation

func (r *request) Model(name string)        { (*operation)(r).setModel(name) }
func (r *request) Begin(int, time.Duration) {}
func (r *request) Tokens(answer, count int) { (*operation)(r).tokens(answer, count) }
func (r *request) End(answer int, stop llama.StopReason, stats llama.Stats) {
	(*operation)(r).answered(answer, stop, &stats)
}

// Done ends the span. The error.type is the status: 499 if the client left.
func (r *request) Done(status int, err error) {
	failure := ""
	if status >= http.StatusBadRequest {
		failure = strconv.Itoa(status)
	}
	(*operation)(r).done(failure, err)
}

// unobserved is a request that asks no model.
type unobserved struct{}

func (unobserved) Model(string)                           {}
func (unobserved) Begin(int, time.Duration)               {}
func (unobserved) Tokens(int, int)                        {}
func (unobserved) End(int, llama.StopReason, llama.Stats) {}
func (unobserved) Done(int, error)                        {}
