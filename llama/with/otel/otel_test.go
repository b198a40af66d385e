package otel_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/with"
	"github.com/antigravity-go/antigravity/llama/with/internal/withtest"
	withotel "github.com/antigravity-go/antigravity/llama/with/otel"
)

// bench is Telemetry with what it has exported.
type bench struct {
	*withotel.Telemetry
	spans   *tracetest.InMemoryExporter
	metrics *sdkmetric.ManualReader
}

func newBench(t *testing.T) bench {
	t.Helper()
	b := bench{spans: tracetest.NewInMemoryExporter(), metrics: sdkmetric.NewManualReader()}
	var err error
	b.Telemetry, err = withotel.New(withotel.Options{
		Tracers: sdktrace.NewTracerProvider(sdktrace.WithSyncer(b.spans)), Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(b.metrics)),
		Propagator: propagation.TraceContext{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// attributes returns a span's attributes.
func attributes(s tracetest.SpanStub) map[string]any {
	all := map[string]any{}
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

// count returns how many values a histogram has with these attributes, or the value of a sum; -1 if there is no such metric.
func (b bench) count(t *testing.T, name string, with ...attribute.KeyValue) float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := b.metrics.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	fits := func(set attribute.Set) bool {
		return !slices.ContainsFunc(with, func(a attribute.KeyValue) bool { v, ok := set.Value(a.Key); return !ok || v != a.Value })
	}
	sum := -1.0
	for _, scope := range all.ScopeMetrics {
		if scope.Scope.SchemaURL != withotel.SchemaURL {
			t.Errorf("the schema is %q", scope.Scope.SchemaURL)
		}
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			sum = 0
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					if fits(p.Attributes) {
						sum += float64(p.Count)
					}
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					if fits(p.Attributes) {
						sum += float64(p.Sum)
					}
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					if fits(p.Attributes) {
						sum += float64(p.Value)
					}
				}
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					if fits(p.Attributes) {
						sum += p.Value
					}
				}
			}
		}
	}
	return sum
}

var ofFlint = attribute.String("gen_ai.request.model", "flint")

// serveFlint serves Flint with observers.
func serveFlint(t *testing.T, o serve.Observer) (*serve.Server, *httptest.Server) {
	t.Helper()
	s, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: withtest.Flint(t)}}, Observer: o, MaxTokens: 5})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() { h.Close(); s.Close() })
	return s, h
}

// post sends a request. Its trace has begun elsewhere.
func post(t *testing.T, url, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("traceparent", "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
}

// ended counts requests that are over.
type ended struct {
	mu    sync.Mutex
	count int
	more  *sync.Cond
}

func newEnded() *ended {
	e := &ended{}
	e.more = sync.NewCond(&e.mu)
	return e
}

func (e *ended) Begin(ctx context.Context, _ serve.Request) (context.Context, serve.Span) {
	return ctx, &endedSpan{of: e}
}

type endedSpan struct{ of *ended }

func (*endedSpan) Model(string)                           {}
func (*endedSpan) Begin(int, time.Duration)               {}
func (*endedSpan) Tokens(int, int)                        {}
func (*endedSpan) End(int, llama.StopReason, llama.Stats) {}
func (s *endedSpan) Done(int, error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.count++
	s.of.more.Broadcast()
}

// wait waits until count requests are over.
func (e *ended) wait(count int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.count < count {
		e.more.Wait()
	}
}

// TestServer has a server's requests as spans and metrics, next to another observer.
func TestServer(t *testing.T) {
	b, over := newBench(t), newEnded()
	s, h := serveFlint(t, serve.Observers(b.Telemetry, over))
	defer b.WatchServer(s)()
	post(t, h.URL+"/v1/chat/completions", `{"model":"flint","n":2,"temperature":0,"messages":[{"role":"user","content":"What is the capital of Japan?"}]}`)
	post(t, h.URL+"/v1/completions", `{"model":"other","prompt":"Hello"}`)
	post(t, h.URL+"/v1/embeddings", `{"model":"flint","input":"Hello"}`)
	post(t, h.URL+"/tokenize", `{"content":"Hello"}`)
	over.wait(4)
	spans := b.spans.GetSpans()
	names := map[string]tracetest.SpanStub{}
	for _, s := range spans {
		names[s.Name] = s
	}
	chat := names["chat flint"]
	got := attributes(chat)
	if len(spans) != 3 || chat.SpanKind != trace.SpanKindServer || chat.InstrumentationScope.SchemaURL != withotel.SchemaURL ||
		chat.Parent.TraceID().String() != "0102030405060708090a0b0c0d0e0f10" || chat.Status.Code != codes.Unset {
		t.Errorf("%d spans: %+v", len(spans), chat)
	}
	for key, want := range map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "antigravity", "gen_ai.request.model": "flint", "gen_ai.response.model": "flint",
		"gen_ai.usage.output_tokens": int64(10), "gen_ai.usage.reasoning.output_tokens": int64(0),
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if reasons, _ := got["gen_ai.response.finish_reasons"].([]string); !slices.Equal(reasons, []string{"length", "length"}) || got["gen_ai.usage.input_tokens"].(int64) == 0 {
		t.Errorf("%v", got)
	}
	if other := names["text_completion"]; other.Status.Code != codes.Error || attributes(other)["error.type"] != "404" {
		t.Errorf("%+v", other)
	}
	if _, ok := names["embeddings flint"]; !ok {
		t.Errorf("the spans are %v", names)
	}
	for _, c := range []struct {
		name string
		with []attribute.KeyValue
		want float64
	}{
		{"gen_ai.server.request.duration", []attribute.KeyValue{ofFlint, attribute.String("gen_ai.operation.name", "chat")}, 1},
		{"gen_ai.server.request.duration", []attribute.KeyValue{attribute.String("error.type", "404")}, 1},
		{"gen_ai.server.time_to_first_token", []attribute.KeyValue{ofFlint}, 2},
		{"gen_ai.server.time_per_output_token", []attribute.KeyValue{ofFlint}, 2},
		{"gen_ai.client.token.usage", []attribute.KeyValue{ofFlint, attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.token.type", "output")}, 10},
		{"antigravity.pool.answers", []attribute.KeyValue{ofFlint}, 0},
	} {
		if got := b.count(t, c.name, c.with...); got != c.want {
			t.Errorf("%s%v is %v, want %v", c.name, c.with, got, c.want)
		}
	}
	if b.count(t, "antigravity.pool.prompt.tokens", ofFlint) <= 0 || b.count(t, "antigravity.pool.cache.limit", ofFlint) <= 0 {
		t.Error("the server's pool is not watched")
	}
}

// TestPool has answers without a server: a pool's own, one through with.Model, one that fails and one that is left.
func TestPool(t *testing.T) {
	b, model := newBench(t), withtest.Flint(t)
	pool, err := model.NewPool(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	stop := b.WatchPool("flint", pool)
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}
	ask := func(ctx context.Context, params llama.Params) iter.Seq2[llama.Piece, error] {
		return b.Answer(ctx, "flint", func(ctx context.Context) iter.Seq2[llama.Piece, error] {
			if !trace.SpanFromContext(ctx).IsRecording() {
				t.Error("the answer's context has no span")
			}
			return pool.Chat(ctx, history, params)
		})
	}
	if answer, err := llama.Collect(ask(t.Context(), llama.Params{})); err != nil || answer.Text != "The capital of Japan is Tokyo." {
		t.Fatalf("%q, %v", answer.Text, err)
	}
	m, err := with.New(model, &with.Options{Pool: pool, Observe: b.Observe("flint")})
	if err != nil {
		t.Fatal(err)
	}
	r := m.Request()
	r.Messages = history
	if _, err := m.Answer(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := llama.Collect(ask(ended, llama.Params{})); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := llama.Collect(ask(t.Context(), llama.Params{Temperature: -1})); err == nil {
		t.Error("a negative temperature was taken")
	}
	for range ask(t.Context(), llama.Params{}) {
		break
	}
	var failures []any
	for _, s := range b.spans.GetSpans() {
		got := attributes(s)
		failures = append(failures, got["error.type"])
		if s.Name != "chat flint" || s.SpanKind != trace.SpanKindInternal || got["error.type"] == nil && (got["gen_ai.usage.output_tokens"] == nil || got["gen_ai.response.finish_reasons"] == nil) {
			t.Errorf("%+v", s)
		}
	}
	if !slices.Equal(failures, []any{nil, nil, "canceled", "invalid", "left"}) {
		t.Errorf("the errors are %v", failures)
	}
	if got := b.count(t, "gen_ai.server.time_per_output_token", ofFlint); got != 2 {
		t.Errorf("%v answers are over", got)
	}
	if cached := b.count(t, "antigravity.pool.prompt.tokens", ofFlint, attribute.String("antigravity.state", "cached")); cached <= 0 {
		t.Errorf("%v tokens were cached", cached)
	}
	if stop(); b.count(t, "antigravity.pool.cache.limit", ofFlint) > 0 {
		t.Error("the pool is watched still")
	}
}

// collector is a small OpenTelemetry collector.
type collector struct {
	mu      sync.Mutex
	traces  []*tracepb.ExportTraceServiceRequest
	metrics []*metricspb.ExportMetricsServiceRequest
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.URL.Path {
	case "/v1/traces":
		one := &tracepb.ExportTraceServiceRequest{}
		err = errors.Join(err, proto.Unmarshal(body, one))
		c.traces = append(c.traces, one)
	case "/v1/metrics":
		one := &metricspb.ExportMetricsServiceRequest{}
		err = errors.Join(err, proto.Unmarshal(body, one))
		c.metrics = append(c.metrics, one)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// TestCollector sends an answer's span and metrics to a collector, by OTLP.
func TestCollector(t *testing.T) {
	c := &collector{}
	h := httptest.NewServer(c)
	defer h.Close()
	spans, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(h.URL+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	figures, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(h.URL+"/v1/metrics"))
	if err != nil {
		t.Fatal(err)
	}
	tracers, meters := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans)), sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(figures)))
	telemetry, err := withotel.New(withotel.Options{Tracers: tracers, Meters: meters})
	if err != nil {
		t.Fatal(err)
	}
	m, err := with.New(withtest.Flint(t), &with.Options{Observe: telemetry.Observe("flint")})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r := m.Request()
	r.Messages = []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}
	if _, err := m.Answer(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tracers.Shutdown(t.Context()), meters.Shutdown(t.Context())); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.traces) != 1 || len(c.metrics) != 1 {
		t.Fatalf("%d exports of spans, %d of metrics", len(c.traces), len(c.metrics))
	}
	scope := c.traces[0].ResourceSpans[0].ScopeSpans[0]
	span := scope.Spans[0]
	have := map[string]string{}
	for _, a := range span.Attributes {
		have[a.Key] = a.Value.String()
	}
	if scope.SchemaUrl != withotel.SchemaURL || span.Name != "chat flint" || !strings.Contains(have["gen_ai.response.finish_reasons"], `"stop"`) || have["gen_ai.usage.output_tokens"] == "" {
		t.Errorf("%s: %v with %v", scope.SchemaUrl, span.Name, have)
	}
	var names []string
	for _, s := range c.metrics[0].ResourceMetrics[0].ScopeMetrics {
		for _, m := range s.Metrics {
			names = append(names, m.Name+" "+m.Unit)
		}
	}
	for _, want := range []string{"gen_ai.server.request.duration s", "gen_ai.server.time_to_first_token s", "gen_ai.server.time_per_output_token s", "gen_ai.client.token.usage {token}"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s among %q", want, names)
		}
	}
}
