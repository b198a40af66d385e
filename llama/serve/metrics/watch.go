package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/antigravity-go/antigravity/llama/serve"
)

// watch reads what a server's models are doing now. The figures are the server's own. Those of a pool begin anew when its model is loaded
// again.
type watch struct {
	server  atomic.Pointer[serve.Server] // nil: no server
	figures []watched
	memory  []watchedMemory
}

// watchedMemory is a figure of all requests together.
type watchedMemory struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(serve.MemoryStats) int64
}

// watched is a figure of each model.
type watched struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*serve.ModelStats) float64
}

func newWatch() watch {
	figure := func(kind prometheus.ValueType, name, help string, of func(*serve.ModelStats) float64) watched {
		return watched{prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, []string{"model"}, nil), kind, of}
	}
	memory := func(kind prometheus.ValueType, name, help string, of func(serve.MemoryStats) int64) watchedMemory {
		return watchedMemory{prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, nil, nil), kind, of}
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	return watch{figures: []watched{
		figure(gauge, "model_loaded", "1 while the model is in memory, 0 otherwise.", func(m *serve.ModelStats) float64 {
			if m.Loaded {
				return 1
			}
			return 0
		}),
		figure(gauge, "model_memory_bytes", "Memory of the model's weights, caches, workspaces and constraints.",
			func(m *serve.ModelStats) float64 { return float64(m.Bytes) }),
		figure(gauge, "model_mapped_bytes", "Weights that lie in mapped files, of model_memory_bytes.",
			func(m *serve.ModelStats) float64 { return float64(m.Memory.Mapped) }),
		figure(gauge, "cache_window_bytes", "Keys and values of layers that see a window, of cache_bytes.",
			func(m *serve.ModelStats) float64 { return float64(m.Memory.CacheParts.Windows) }),
		figure(gauge, "cache_shared_bytes", "Keys and values that several layers read, of cache_bytes.",
			func(m *serve.ModelStats) float64 { return float64(m.Memory.CacheParts.Shared) }),
		figure(gauge, "cache_state_bytes", "States of recurrent layers with their snapshots, of cache_bytes.",
			func(m *serve.ModelStats) float64 { return float64(m.Memory.CacheParts.States) }),
		figure(gauge, "model_requests", "Requests that use the model, or wait for it.",
			func(m *serve.ModelStats) float64 { return float64(m.Requests) }),
		figure(gauge, "answers_running", "Answers that are being computed.", func(m *serve.ModelStats) float64 { return float64(m.Answers) }),
		figure(gauge, "answers_waiting", "Answers that wait for their turn.", func(m *serve.ModelStats) float64 { return float64(m.Waiting) }),
		figure(counter, "requests_refused_total", "Requests that were refused because too many waited.",
			func(m *serve.ModelStats) float64 { return float64(m.Refused) }),
		figure(gauge, "cached_conversations", "Conversations that are over, and cached.",
			func(m *serve.ModelStats) float64 { return float64(m.Pool.Idle) }),
		figure(gauge, "cache_bytes", "Memory of the conversations' keys and values, and of recurrent layers' states with their snapshots.",
			func(m *serve.ModelStats) float64 { return float64(m.Pool.Bytes) }),
		figure(gauge, "cache_max_bytes", "Memory that cache_bytes may reach, before cached conversations are given up.",
			func(m *serve.ModelStats) float64 { return float64(m.Pool.MaxBytes) }),
		figure(counter, "cached_conversations_dropped_total", "Cached conversations that were given up for want of memory.",
			func(m *serve.ModelStats) float64 { return float64(m.Pool.Evicted) }),
		figure(counter, "computed_prompt_tokens_total", "Tokens of prompts that were computed.",
			func(m *serve.ModelStats) float64 { return float64(m.Pool.ComputedTokens) }),
	}, memory: []watchedMemory{
		memory(gauge, "request_bytes", "Memory that requests hold: bodies, what is made of them, and answers to be sent.",
			func(m serve.MemoryStats) int64 { return m.Bytes }),
		memory(gauge, "answer_bytes", "Answers that wait to be sent, of request_bytes.", func(m serve.MemoryStats) int64 { return m.Answers }),
		memory(gauge, "request_max_bytes", "Memory that requests may hold together.", func(m serve.MemoryStats) int64 { return m.MaxBytes }),
		memory(gauge, "request_peak_bytes", "The most memory that requests held at once.", func(m serve.MemoryStats) int64 { return m.Peak }),
		memory(counter, "request_memory_refused_total", "Times that a request was refused, or an answer ended, for want of memory for requests.",
			func(m serve.MemoryStats) int64 { return m.Refused }),
	}}
}

func (w *watch) describe(to chan<- *prometheus.Desc) {
	for _, f := range w.figures {
		to <- f.desc
	}
	for _, f := range w.memory {
		to <- f.desc
	}
}

func (w *watch) collect(to chan<- prometheus.Metric) {
	s := w.server.Load()
	if s == nil {
		return
	}
	stats := s.Stats()
	for _, f := range w.memory {
		to <- prometheus.MustNewConstMetric(f.desc, f.kind, float64(f.of(stats.Memory)))
	}
	for i := range stats.Models {
		m := &stats.Models[i]
		for _, f := range w.figures {
			to <- prometheus.MustNewConstMetric(f.desc, f.kind, f.of(m), m.Name)
		}
	}
}
