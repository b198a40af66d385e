package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// account follows one request, for the log and for the Observer's span.
type account struct {
	began                     time.Time
	client                    string
	span                      Span
	model                     string
	waited                    time.Duration
	prompt, reused, generated int
	err                       error
}

type accountKey struct{}

func (a *account) Model(name string) {
	a.model = name
	a.span.Model(name)
}

func (a *account) Begin(answer int, waited time.Duration) {
	a.waited = max(a.waited, waited)
	a.span.Begin(answer, waited)
}

func (a *account) Tokens(answer, count int) { a.span.Tokens(answer, count) }

func (a *account) End(answer int, stop llama.StopReason, s llama.Stats) {
	a.prompt, a.reused, a.generated = a.prompt+s.PromptTokens, a.reused+s.ReusedTokens, a.generated+s.GeneratedTokens
	a.span.End(answer, stop, s)
}

// done tells the log and the span that the request is over.
func (a *account) done(ctx context.Context, log *slog.Logger, r *http.Request, status int) {
	level := slog.LevelInfo
	if e, ok := errors.AsType[*wire.Error](a.err); ok && e.Status == wire.StatusGone {
		status = wire.StatusGone
	} else if a.err != nil && wire.Of(a.err).Status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	a.span.Done(status, a.err)
	attributes := []slog.Attr{
		slog.String("client", a.client), slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", status),
		slog.Duration("took", time.Since(a.began)),
	}
	if a.model != "" {
		attributes = append(attributes, slog.String("model", a.model), slog.Duration("waited", a.waited), slog.Int("prompt_tokens", a.prompt),
			slog.Int("reused_tokens", a.reused), slog.Int("generated_tokens", a.generated))
	}
	if a.err != nil {
		attributes = append(attributes, slog.Any("error", a.err))
		if inner := errors.Unwrap(a.err); inner != nil {
			attributes = append(attributes, slog.Any("cause", inner))
		}
	}
	log.LogAttrs(ctx, level, "request", attributes...)
}
