package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/budget"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// requestLog follows one request, for the log and for the Observer's span. It is the request's ask.Span.
type requestLog struct {
	began  time.Time
	client client
	memory *budget.Share // that the request holds
	open   bool          // of a route that is open to everybody: health checks and files, which only fill a log
	log    *slog.Logger
	span   Span

	model                     string // "" until it is known
	waited                    time.Duration
	prompt, reused, generated int
	err                       error // why there is no whole answer
}

// newRequestLog starts to follow a request, gives the request its id, and returns the request's context.
func (s *Server) newRequestLog(w http.ResponseWriter, r *http.Request, route route) (context.Context, *requestLog) {
	id := "req_" + rand.Text()
	w.Header().Set(wire.RequestID, id)
	w.Header().Set("Request-Id", id) // the name under which Anthropic's clients look for it
	client := s.client(r)
	a := &requestLog{began: time.Now(), client: client, memory: s.budget.Open(client.name), open: route.open, log: s.options.Logger.With(slog.String("request", id))}
	ctx, span := s.options.Observer.Begin(r.Context(), Request{
		ID: id, Endpoint: strings.TrimSpace(route.method + " " + route.path), Client: client.name, Key: client.key, Header: r.Header})
	a.span = span
	return ask.WithRequest(ctx, &ask.Request{ID: id, Client: client.name, Scope: client.scope, Log: a.log, Span: a, Memory: a.memory,
		Header: w.Header()}), a
}

// Model is ask.Span's.
func (a *requestLog) Model(name string) {
	a.model = name
	a.span.Model(name)
}

// Begin is ask.Span's.
func (a *requestLog) Begin(answer int, waited time.Duration) {
	a.waited = max(a.waited, waited)
	a.span.Begin(answer, waited)
}

// Tokens is ask.Span's.
func (a *requestLog) Tokens(answer, count int) { a.span.Tokens(answer, count) }

// End is ask.Span's.
func (a *requestLog) End(answer int, stop llama.StopReason, s llama.Stats) {
	a.prompt, a.reused, a.generated = a.prompt+s.PromptTokens, a.reused+s.ReusedTokens, a.generated+s.GeneratedTokens
	a.client.account.spend(time.Now(), s)
	a.span.End(answer, stop, s)
}

// maxLogged bounds how much is logged of a text that a client chose, in bytes: nobody is to fill a log with a few requests.
const maxLogged = 256

// clipped returns the beginning of a text.
func clipped(text string) string {
	if len(text) <= maxLogged {
		return text
	}
	return strings.ToValidUTF8(text[:maxLogged], "") + "…"
}

// done reports to the log and the span that the request is over. sent is the status that the client was sent, or 0. If an answer fails
// after it began, the failure's status counts.
func (a *requestLog) done(ctx context.Context, r *http.Request, sent int) {
	status := sent
	if a.err != nil {
		status = wire.ErrorOf(a.err).Status
	} else if sent == 0 {
		status = http.StatusOK // net/http's, for an answer without a body
	}
	a.span.Done(status, a.err)
	level := slog.LevelInfo
	switch {
	case status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable:
		level = slog.LevelError
	case a.open && status < http.StatusBadRequest:
		level = slog.LevelDebug
	}
	attributes := []slog.Attr{
		slog.String("client", clipped(a.client.name)), slog.String("method", clipped(r.Method)), slog.String("path", clipped(r.URL.Path)),
		slog.Int("status", status), slog.Duration("took", time.Since(a.began)),
	}
	if a.client.key != "" && a.client.key != a.client.name {
		attributes = append(attributes, slog.String("key", clipped(a.client.key)))
	}
	if sent != 0 && sent != status {
		attributes = append(attributes, slog.Int("sent", sent))
	}
	if a.model != "" {
		attributes = append(attributes, slog.String("model", a.model), slog.Duration("waited", a.waited), slog.Int("prompt_tokens", a.prompt),
			slog.Int("reused_tokens", a.reused), slog.Int("generated_tokens", a.generated))
	}
	if a.err != nil {
		attributes = append(attributes, slog.Any("error", a.err))
		if inner := errors.Unwrap(a.err); inner != nil && inner.Error() != a.err.Error() {
			attributes = append(attributes, slog.Any("cause", inner))
		}
	}
	a.log.LogAttrs(ctx, level, "request", attributes...)
}
