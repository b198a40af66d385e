package serve

import (
	"context"
	"time"

	"github.com/antigravity-go/antigravity/llama"
)

// Observers returns an Observer of several, for metrics and traces at once. Each is asked in turn, and the context that one returns is the next
// one's.
func Observers(list ...Observer) Observer { return observers(list) }

type observers []Observer

func (o observers) Begin(ctx context.Context, r Request) (context.Context, Span) {
	all := make(spans, len(o))
	for i, one := range o {
		ctx, all[i] = one.Begin(ctx, r)
	}
	return ctx, all
}

type spans []Span

func (all spans) Model(name string) {
	for _, s := range all {
		s.Model(name)
	}
}

func (all spans) Begin(answer int, waited time.Duration) {
	for _, s := range all {
		s.Begin(answer, waited)
	}
}

func (all spans) Tokens(answer, count int) {
	for _, s := range all {
		s.Tokens(answer, count)
	}
}

func (all spans) End(answer int, stop llama.StopReason, stats llama.Stats) {
	for _, s := range all {
		s.End(answer, stop, stats)
	}
}

func (all spans) Done(status int, err error) {
	for _, s := range all {
		s.Done(status, err)
	}
}
