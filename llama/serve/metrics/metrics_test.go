package metrics_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/metrics"
)

// scrape returns the figures that a server shows, by their names.
func scrape(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	answer, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil || answer.StatusCode != 200 {
		t.Fatalf("status %d, %v", answer.StatusCode, err)
	}
	return families
}

// value returns a figure with some labels, "name=value" each: a counter, a gauge, or how many a histogram has seen; -1 if there is no such
// figure.
func value(family *dto.MetricFamily, labels ...string) float64 {
	for _, m := range family.GetMetric() {
		have := map[string]bool{}
		for _, l := range m.Label {
			have[l.GetName()+"="+l.GetValue()] = true
		}
		found := true
		for _, l := range labels {
			found = found && have[l]
		}
		if found {
			return m.Counter.GetValue() + m.Gauge.GetValue() + float64(m.Histogram.GetSampleCount())
		}
	}
	return -1
}

func TestScrape(t *testing.T) {
	loaded, err := flint.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	m := metrics.New()
	s, err := serve.New(serve.Options{
		Models: []serve.Model{{Name: "flint", Aliases: []string{"other"}, Loaded: loaded}}, Observer: m, Metrics: m, MaxTokens: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m.Watch(s)
	h := httptest.NewServer(s)
	defer h.Close()
	for _, name := range []string{"flint", "other", "another", "and another"} {
		body := `{"model":"` + name + `","messages":[{"role":"user","content":"What is the capital of Japan?"}],"temperature":0,"n":2}`
		answer, err := http.Post(h.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	// A client has its answer a moment before the server is done with the request.
	families := scrape(t, h.URL)
	const endpoint = "endpoint=POST /v1/chat/completions"
	for value(families["antigravity_requests_running"], endpoint) != 0 {
		families = scrape(t, h.URL)
	}
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"requests_total", []string{endpoint, "model=flint", "code=200"}, 2},
		{"requests_total", []string{endpoint, "model=", "code=404"}, 2},
		{"requests_total", []string{"model=another"}, -1},
		{"requests_running", []string{"endpoint=GET /metrics"}, 1},
		{"request_duration_seconds", []string{endpoint, "model=flint"}, 2},
		{"queue_wait_seconds", []string{"model=flint"}, 4},
		{"time_to_first_token_seconds", []string{"model=flint"}, 4},
		{"token_gap_seconds", []string{"model=flint"}, 16}, // five tokens an answer
		{"answers_total", []string{"model=flint", "stop=length"}, 4},
		{"generated_tokens_total", []string{"model=flint"}, 20},
		{"drafted_tokens_total", []string{"model=flint"}, 0},
		{"evictions_total", []string{"model=flint"}, 0},
		{"cache_state_bytes", []string{"model=flint"}, 0},
		{"model_loaded", []string{"model=flint"}, 1},
		{"answers_running", []string{"model=flint"}, 0},
		{"answers_waiting", []string{"model=flint"}, 0},
		{"requests_refused_total", []string{"model=flint"}, 0},
	} {
		if got := value(families["antigravity_"+c.name], c.labels...); got != c.want {
			t.Errorf("%s%v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	read := value(families["antigravity_prompt_tokens_total"], "model=flint")
	computed := value(families["antigravity_computed_prompt_tokens_total"], "model=flint")
	if reused := value(families["antigravity_reused_tokens_total"], "model=flint"); read <= 0 || reused <= 0 || read != reused+computed {
		t.Errorf("of %v tokens of prompts, %v were reused and %v computed", read, reused, computed)
	}
	for _, name := range []string{"model_memory_bytes", "cache_bytes", "cache_max_bytes", "cached_conversations"} {
		if value(families["antigravity_"+name], "model=flint") <= 0 {
			t.Errorf("%s is not positive", name)
		}
	}
	if held, most := value(families["antigravity_request_bytes"]), value(families["antigravity_request_max_bytes"]); held != 0 || most != 512<<20 {
		t.Errorf("requests hold %v of %v bytes", held, most)
	}
	if peak := value(families["antigravity_request_peak_bytes"]); peak <= 0 {
		t.Errorf("requests held %v bytes at most", peak)
	}
	for _, name := range []string{"go_goroutines", "process_start_time_seconds"} {
		if families[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestKeysAreCountedByName has figures of who uses the server, and never a key in them.
func TestKeysAreCountedByName(t *testing.T) {
	m := metrics.New()
	s, err := serve.New(serve.Options{
		Models: []serve.Model{serve.File("m", "nowhere.gguf", nil)}, Observer: m, Metrics: m,
		Keys:     []serve.Key{{Name: "ann", Secret: "sesame"}},
		Accounts: map[string]serve.Account{"ann": {RequestsPerMinute: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ask := func(key string) string {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("X-Api-Key", key)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Body.String()
	}
	ask("sesame")
	ask("wrong")
	ask("sesame")
	ask("sesame")
	if err := s.SetAccounts(nil); err != nil {
		t.Fatal(err)
	}
	text := ask("sesame")
	for _, line := range []string{`antigravity_key_requests_total{code="200",key="ann"} 2`, `antigravity_key_requests_total{code="429",key="ann"} 1`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
	if strings.Contains(text, "sesame") || strings.Contains(text, `key=""`) {
		t.Errorf("the figures have a key, or no name: %s", text)
	}
}

func TestPromlintFindsNothing(t *testing.T) {
	m := metrics.New()
	_, span := m.Begin(context.Background(), serve.Request{Endpoint: "GET /", Key: "k"})
	span.Model("m")
	span.Begin(0, time.Second)
	span.Tokens(0, 1)
	span.Tokens(0, 1)
	span.End(0, llama.EndOfTurn, llama.Stats{})
	span.Done(200, nil)
	s, err := serve.New(serve.Options{Models: []serve.Model{serve.File("m", "nowhere.gguf", nil)}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m.Watch(s)
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) < 25 {
		t.Errorf("there are %d figures", len(families))
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
