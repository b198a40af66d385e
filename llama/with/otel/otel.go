// Package otel makes traces and metrics of answers for OpenTelemetry, by its semantic conventions for generative AI (SchemaURL). It is a module of
// its own, so that only programs that import it need OpenTelemetry.
//
// A server's requests, with Prometheus next to it if it is wanted:
//
//	t, err := withotel.New(withotel.Options{})
//	…
//	server, err := serve.New(serve.Options{…, Observer: serve.Observers(t, prometheus)})
//	stop := t.WatchServer(server)
//
// Answers without a server, of a Pool or through a framework:
//
//	for piece, err := range t.Answer(ctx, "flint", func(ctx context.Context) iter.Seq2[llama.Piece, error] {
//		return pool.Chat(ctx, history, params)
//	}) {
//
//	m, err := with.New(model, &with.Options{Observe: t.Observe("flint")})
//	stop := t.WatchPool("flint", pool)
//
// # Traces
//
// Each request, and each answer without a server, is a span such as "chat flint". Its parent comes from the request's header, or from the context. It
// has gen_ai.operation.name, provider.name, request.model, response.model, response.finish_reasons, usage.input_tokens, usage.output_tokens,
// usage.cache_read.input_tokens and usage.reasoning.output_tokens, and error.type if it failed. Prompts and answers are never part of it. Requests
// that ask no model, such as those of the page, have no span.
//
// # Metrics
//
// gen_ai.server.request.duration, .time_to_first_token and .time_per_output_token, and gen_ai.client.token.usage, since the conventions have no
// such metric of servers. What pools do is in antigravity.pool.…: answers, waits, conversations, memory, tokens of prompts.
package otel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// SchemaURL is the version of the conventions that spans and metrics follow.
const SchemaURL = "https://opentelemetry.io/schemas/gen-ai/1.42.0"

// Provider is the value of gen_ai.provider.name.
const Provider = "antigravity"

// scope is the name of the instrumentation.
const scope = "github.com/antigravity-go/antigravity/llama/with/otel"

// Options say to whom traces and metrics go. Nil means the providers that OpenTelemetry has for the process.
type Options struct {
	Tracers    trace.TracerProvider
	Meters     metric.MeterProvider
	Propagator propagation.TextMapPropagator // reads the parents of spans from requests
}

// Telemetry makes traces and metrics. It is a serve.Observer, of any number of servers, and safe for concurrent use.
type Telemetry struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator

	duration, firstToken, perToken metric.Float64Histogram
	usage                          metric.Int64Histogram

	mu      sync.Mutex
	watched map[*source]bool
}

var _ serve.Observer = (*Telemetry)(nil)

// source returns what pools do now.
type source struct{ read func() []poolFigures }

// The boundaries of histograms, as the conventions recommend them.
var (
	durations   = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	firstTokens = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	perTokens   = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5}
	usages      = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// New makes Telemetry.
func New(o Options) (*Telemetry, error) {
	if o.Tracers == nil {
		o.Tracers = otel.GetTracerProvider()
	}
	if o.Meters == nil {
		o.Meters = otel.GetMeterProvider()
	}
	if o.Propagator == nil {
		o.Propagator = otel.GetTextMapPropagator()
	}
	t := &Telemetry{tracer: o.Tracers.Tracer(scope, trace.WithSchemaURL(SchemaURL)), propagator: o.Propagator, watched: map[*source]bool{}}
	meter := o.Meters.Meter(scope, metric.WithSchemaURL(SchemaURL))
	var errs [5]error
	seconds := func(name, description string, bounds []float64, err *error) (h metric.Float64Histogram) {
		h, *err = meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(bounds...))
		return h
	}
	t.duration = seconds("gen_ai.server.request.duration", "Generative AI server request duration such as time-to-last byte or last output token.", durations, &errs[0])
	t.firstToken = seconds("gen_ai.server.time_to_first_token", "Time to generate first token for successful responses.", firstTokens, &errs[1])
	t.perToken = seconds("gen_ai.server.time_per_output_token", "Time per output token generated after the first token for successful responses.", perTokens, &errs[2])
	t.usage, errs[3] = meter.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"), metric.WithDescription("Number of input and output tokens used."),
		metric.WithExplicitBucketBoundaries(usages...))
	errs[4] = t.registerPools(meter)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("with: instruments of OpenTelemetry: %w", err)
	}
	return t, nil
}

// operation is a request, or an answer without a server, that is being followed.
type operation struct {
	telemetry *Telemetry
	ctx       context.Context
	span      trace.Span
	name      string // chat, text_completion or embeddings
	model     string
	began     time.Time
	answers   map[int]*timing

	reasons                             []string
	input, cached, output, thought, end int
}

// timing is when tokens of an answer came.
type timing struct {
	first, last time.Time
	tokens      int
	away        time.Duration // between first and last, for which somebody else had the loop
}

// start begins to follow an operation.
func (t *Telemetry) start(ctx context.Context, name string, kind trace.SpanKind) *operation {
	o := &operation{telemetry: t, name: name, began: time.Now(), answers: map[int]*timing{}}
	o.ctx, o.span = t.tracer.Start(ctx, name, trace.WithSpanKind(kind),
		trace.WithAttributes(attribute.String("gen_ai.operation.name", name), attribute.String("gen_ai.provider.name", Provider)))
	return o
}

// setModel notes which model answers.
func (o *operation) setModel(model string) {
	o.model = model
	o.span.SetName(o.name + " " + model)
	o.span.SetAttributes(attribute.String("gen_ai.request.model", model), attribute.String("gen_ai.response.model", model))
}

// attributes returns the attributes of metrics.
func (o *operation) attributes(more ...attribute.KeyValue) metric.MeasurementOption {
	list := append(more, attribute.String("gen_ai.operation.name", o.name), attribute.String("gen_ai.provider.name", Provider))
	if o.model != "" {
		list = append(list, attribute.String("gen_ai.request.model", o.model), attribute.String("gen_ai.response.model", o.model))
	}
	return metric.WithAttributes(list...)
}

// tokens notes that tokens of an answer have come.
func (o *operation) tokens(answer, count int) {
	if count <= 0 {
		return
	}
	now, a := time.Now(), o.answers[answer]
	if a == nil {
		a = &timing{first: now}
		o.answers[answer] = a
	}
	a.last, a.tokens = now, a.tokens+count
}

// answered notes that an answer is over. stop is 0 if it failed.
func (o *operation) answered(answer int, stop llama.StopReason, s *llama.Stats) {
	if stop != 0 {
		o.reasons = append(o.reasons, stop.FinishReason())
		if a := o.answers[answer]; a != nil {
			o.telemetry.firstToken.Record(o.ctx, a.first.Sub(o.began).Seconds(), o.attributes())
			if a.tokens > 1 {
				o.telemetry.perToken.Record(o.ctx, (a.last.Sub(a.first)-a.away).Seconds()/float64(a.tokens-1), o.attributes())
			}
		}
	}
	o.input, o.cached = o.input+s.PromptTokens, o.cached+s.ReusedTokens
	o.output, o.thought = o.output+s.GeneratedTokens, o.thought+s.ThoughtTokens
	o.end++
}

// done ends the operation. failure is the error.type, or "".
func (o *operation) done(failure string, err error) {
	if o.end > 0 {
		o.span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", o.input), attribute.Int("gen_ai.usage.output_tokens", o.output),
			attribute.Int("gen_ai.usage.cache_read.input_tokens", o.cached), attribute.Int("gen_ai.usage.reasoning.output_tokens", o.thought))
		o.telemetry.usage.Record(o.ctx, int64(o.input), o.attributes(attribute.String("gen_ai.token.type", "input")))
		o.telemetry.usage.Record(o.ctx, int64(o.output), o.attributes(attribute.String("gen_ai.token.type", "output")))
	}
	if len(o.reasons) > 0 {
		o.span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", o.reasons))
	}
	var more []attribute.KeyValue
	if failure != "" {
		more = append(more, attribute.String("error.type", failure))
		o.fail(failure, err)
	}
	o.telemetry.duration.Record(o.ctx, time.Since(o.began).Seconds(), o.attributes(more...))
	o.span.End()
}
