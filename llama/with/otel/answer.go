package otel

import (
	"context"
	"errors"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/antigravity-go/antigravity/llama"
)

// Answer returns the pieces of an answer, and follows it from the first one to the last with a span, which is in the context that answer gets, and
// with metrics. model is how both name the model. An answer that the caller leaves has the error.type "left".
func (t *Telemetry) Answer(ctx context.Context, model string, answer func(context.Context) iter.Seq2[llama.Piece, error]) iter.Seq2[llama.Piece, error] {
	return func(yield func(llama.Piece, error) bool) {
		o := t.start(ctx, "chat", trace.SpanKindInternal)
		o.setModel(model)
		failure, cause := "left", error(nil)
		defer func() { o.done(failure, cause) }()
		for piece, err := range answer(o.ctx) {
			o.tokens(0, len(piece.Tokens))
			if piece.Stop != 0 || err != nil {
				o.answered(0, piece.Stop, &piece.Stats)
				failure, cause = kindOf(err), err
			}
			away := time.Now()
			if !yield(piece, err) {
				return
			}
			if a := o.answers[0]; a != nil {
				a.away += time.Since(away)
			}
		}
	}
}

// Observe returns Answer for a model, as with.Options.Observe wants it.
func (t *Telemetry) Observe(model string) func(context.Context, func(context.Context) iter.Seq2[llama.Piece, error]) iter.Seq2[llama.Piece, error] {
	return func(ctx context.Context, answer func(context.Context) iter.Seq2[llama.Piece, error]) iter.Seq2[llama.Piece, error] {
		return t.Answer(ctx, model, answer)
	}
}

// kindOf returns the error.type of an error: one of few words.
func kindOf(err error) string {
	if err == nil {
		return ""
	}
	if _, ok := errors.AsType[*llama.ParamError](err); ok {
		return "invalid"
	}
	for _, k := range []struct {
		err  error
		name string
	}{
		{context.Canceled, "canceled"}, {context.DeadlineExceeded, "timeout"}, {llama.ErrContextFull, "context_full"},
		{llama.ErrUnsupported, "unsupported"}, {llama.ErrClosed, "closed"},
	} {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return "_OTHER"
}

// fail notes why the operation failed. Messages of errors may quote prompts, so that the span has the kind of error alone.
func (o *operation) fail(failure string, err error) {
	o.span.SetAttributes(attribute.String("error.type", failure))
	description := ""
	if err != nil {
		description = kindOf(err)
	}
	o.span.SetStatus(codes.Error, description)
}
