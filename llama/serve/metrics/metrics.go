package metrics

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/antigravity-go/antigravity/llama/serve"
)

// Metrics is a serve.Observer that counts and measures requests, a prometheus.Collector of the results, and an http.Handler that serves
// them together with figures of the process. It is safe for concurrent use. It may observe several servers, but watches one.
type Metrics struct {
	figures figures
	watch   watch
	handler http.Handler
}

// New makes Metrics that have counted nothing yet.
func New() *Metrics {
	m := &Metrics{figures: newFigures(), watch: newWatch()}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return m
}

// Watch adds the figures of a server's models, caches and queues, from serve.Server.Stats. A later call replaces the server.
func (m *Metrics) Watch(s *serve.Server) { m.watch.server.Store(s) }

// ServeHTTP writes the figures in Prometheus' text format, or in another one that the client asks for.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// Describe is prometheus.Collector's.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	m.figures.each(func(c prometheus.Collector) { c.Describe(to) })
	m.watch.describe(to)
}

// Collect is prometheus.Collector's.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.figures.each(func(c prometheus.Collector) { c.Collect(to) })
	m.watch.collect(to)
}

// Begin is serve.Observer's.
func (m *Metrics) Begin(ctx context.Context, r serve.Request) (context.Context, serve.Span) {
	m.figures.running.WithLabelValues(r.Endpoint).Inc()
	return ctx, &span{figures: &m.figures, endpoint: r.Endpoint, key: r.Key, began: time.Now()}
}
