package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// figures are the figures found by observing requests.
type figures struct {
	running  *prometheus.GaugeVec     // by endpoint
	requests *prometheus.CounterVec   // by endpoint, model and code
	duration *prometheus.HistogramVec // by endpoint and model

	// By model; answers also by how they ended.
	wait, firstToken, gap                                                    *prometheus.HistogramVec
	answers                                                                  *prometheus.CounterVec
	prompt, reused, generated, drafted, accepted, forced, evictions, evicted *prometheus.CounterVec

	// By the name of the request's key, for requests that have one.
	keyRequests, keyTokens *prometheus.CounterVec
}

// The upper bounds of histograms' buckets, in seconds. gaps are those between tokens.
var (
	latencies = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	gaps      = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
)

const namespace = "antigravity"

func newFigures() figures {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	}
	return figures{
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "requests_running", Help: "Requests that are being served, those that wait for their turn included.",
		}, []string{"endpoint"}),
		requests: counter("requests_total", "Requests that are over, by their status: 499 where the client left.", "endpoint", "model", "code"),
		duration: histogram("request_duration_seconds", "Time from a request's beginning to its end.", latencies, "endpoint", "model"),

		wait:       histogram("queue_wait_seconds", "Time that an answer waited for its turn.", latencies, "model"),
		firstToken: histogram("time_to_first_token_seconds", "Time from a request's beginning to the first token of an answer.", latencies, "model"),
		gap: histogram("token_gap_seconds",
			"Time between two pieces of an answer, which have a token each, or several where drafts were accepted.", gaps, "model"),
		answers: counter("answers_total", "Answers that are over, by OpenAI's finish_reason: stop, tool_calls, length; early if they were not computed to their end.", "model", "stop"),

		prompt:    counter("prompt_tokens_total", "Tokens of prompts, those included that were in the cache already.", "model"),
		reused:    counter("reused_tokens_total", "Tokens of prompts that were in the cache already.", "model"),
		generated: counter("generated_tokens_total", "Tokens of answers.", "model"),
		drafted:   counter("drafted_tokens_total", "Tokens that were proposed, and computed ahead.", "model"),
		accepted:  counter("accepted_tokens_total", "Proposed tokens that answers went on with.", "model"),
		forced:    counter("forced_tokens_total", "Tokens of answers that the answer's form left no alternative to.", "model"),
		evictions: counter("evictions_total", "How often the cache of a conversation was shrunk.", "model"),
		evicted:   counter("evicted_slots_total", "Slots by which caches were shrunk.", "model"),

		keyRequests: counter("key_requests_total", "Requests that are over, by the name of their key and by their status: 429 where they were too many.",
			"key", "code"),
		keyTokens: counter("key_tokens_total", "Tokens of prompts, cached ones included, and of answers, by the name of the request's key.", "key"),
	}
}

// each calls f with all of them.
func (f *figures) each(do func(prometheus.Collector)) {
	for _, c := range []prometheus.Collector{
		f.running, f.requests, f.duration, f.wait, f.firstToken, f.gap, f.answers,
		f.prompt, f.reused, f.generated, f.drafted, f.accepted, f.forced, f.evictions, f.evicted,
		f.keyRequests, f.keyTokens,
	} {
		do(c)
	}
}
