// Package metrics exports figures about a serve.Server to Prometheus, through Prometheus' own client library. It
// is a module of its own, so that only programs that import it need that library.
//
//	m := metrics.New()
//	server, err := serve.New(serve.Options{…, Observer: m, Metrics: m})
//	…
//	m.Watch(server)
//
// The server then serves the figures at GET /metrics. A program that has a registry of its own registers the Metrics there, for it is a
// prometheus.Collector.
//
// The labels have few values: endpoints are the server's routes, models the names of Options.Models, clients are no label. A request for a
// model that does not exist counts for the model "".
package metrics
