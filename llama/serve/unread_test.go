package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// stalled is a client that reads nothing of its answer until it may.
type stalled struct {
	header http.Header
	status int
	reads  chan struct{} // closed when it may
	waits  func()        // called when it is sent something
	text   strings.Builder
}

func (s *stalled) Header() http.Header    { return s.header }
func (s *stalled) WriteHeader(status int) { s.status = status }
func (s *stalled) Write(p []byte) (int, error) {
	s.waits()
	<-s.reads
	if s.text.Len() < 1<<20 {
		s.text.Write(p)
	}
	return len(p), nil
}

// longAnswers ask for long answers on every interface that has some, with as much about their tokens as the interface gives.
var longAnswers = []struct{ path, body string }{
	{"/v1/chat/completions", `{"messages":[{"role":"user","content":"Hi"}],"max_tokens":%d,"n":2,"logprobs":true,"top_logprobs":20,"grammar":"root ::= [a-z ]{500}"`},
	{"/v1/completions", `{"prompt":"Hi","max_tokens":%d,"n":2,"logprobs":5,"grammar":"root ::= [a-z ]{500}"`},
	{"/v1/responses", `{"input":"Hi","max_output_tokens":%d,"store":false,"include":["message.output_text.logprobs"],"top_logprobs":20,
		"text":{"format":{"type":"json_schema","name":"x","schema":{"type":"string","pattern":"^[a-z ]{500}$"}}}`},
	{"/v1/messages", `{"messages":[{"role":"user","content":"Hi"}],"max_tokens":%d,"output_format":{"type":"json_schema","schema":{"type":"string","pattern":"^[a-z ]{500}$"}}`},
	{"/completion", `{"prompt":"Hi","n_predict":%d,"n_probs":20,"grammar":"root ::= [a-z ]{500}"`},
	{"/api/chat", `{"model":"flint","messages":[{"role":"user","content":"Hi"}],"logprobs":true,"top_logprobs":20,"options":{"num_predict":%d},
		"format":{"type":"string","pattern":"^[a-z ]{500}$"}`},
	{"/api/generate", `{"model":"flint","prompt":"Hi","logprobs":true,"top_logprobs":20,"options":{"num_predict":%d},"format":{"type":"string","pattern":"^[a-z ]{500}$"}`},
}

// TestMemoryOfAnswers has clients ask for long answers that they do not read, on every interface, whole and as streams. What waits to be sent
// is bounded, by the server's count and by the heap's, and others are served.
func TestMemoryOfAnswers(t *testing.T) {
	effort.Turn(t, 8)
	const memory, tokens, requests, clients = 1 << 19, 30, 8, 4
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range longAnswers {
		for j, stream := range []bool{false, true} {
			if !effort.Share(2*i+j, 5) {
				continue
			}
			t.Run(fmt.Sprintf("%s %v", c.path[1:], stream), func(t *testing.T) {
				s, err := serve.New(serve.Options{
					Models: []serve.Model{{Name: "flint", Loaded: model}}, MaxBody: memory / 16, RequestBytes: memory, Timeout: -1,
					Client: func(r *http.Request) string { return r.Header.Get("X-User") },
					Pool:   llama.PoolOptions{MaxBytes: 16 << 20},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				body := fmt.Sprintf(c.body, tokens) + fmt.Sprintf(`,"temperature":1,"stream":%v}`, stream)
				if strings.HasPrefix(c.path, "/api/") {
					body = strings.Replace(body, `"temperature":1,`, "", 1)
				}
				for client := range clients { // each has constraints of its own
					if alone := ask(s, fmt.Sprint(client), c.path, strings.NewReader(body), len(body)); alone.status != 200 || alone.bytes < 2*tokens {
						t.Fatalf("alone: status %d, %d bytes", alone.status, alone.bytes)
					}
				}
				before, reads := live(), make(chan struct{})
				var all sync.WaitGroup
				var waiting atomic.Int64
				answers := make([]*stalled, requests)
				for i := range answers {
					a := &stalled{header: http.Header{}, reads: reads, waits: sync.OnceFunc(func() { waiting.Add(1) })}
					answers[i] = a
					all.Go(func() {
						r := httptest.NewRequest("POST", c.path, strings.NewReader(body))
						r.Header.Set("X-User", fmt.Sprint(i%clients))
						s.ServeHTTP(a, r)
					})
				}
				// Whatever happens, all answers are computed, or end, though nobody reads.
				until(func() bool {
					st := s.Stats()
					begun := st.Memory.Answers > 0 || st.Memory.Refused > 0 // a stream's first event is written before its answer begins
					return begun && waiting.Load() == requests && st.Models[0].Answers == 0 && st.Models[0].Waiting == 0
				})
				stats := s.Stats().Memory
				if stats.Bytes > memory || stats.Answers > stats.Bytes {
					t.Errorf("%d answers are not read: %+v", requests, stats)
				}
				grown := int64(live()) - int64(before)
				t.Logf("%d bytes counted, %d of answers, %d refused; the heap has grown by %d", stats.Bytes, stats.Answers, stats.Refused, grown)
				if grown > memory+(1<<20) { // and caches of conversations
					t.Errorf("answers that are not read take %d bytes, %d counted, of %d that there are", grown, stats.Bytes, memory)
				}
				close(reads)
				all.Wait()
				whole, refused := 0, 0
				for _, a := range answers {
					switch text := a.text.String(); {
					case a.status == 200 && !strings.Contains(text, "ended early"):
						whole++
					case (a.status == 503 || stream) && strings.Contains(text, "ended early"),
						a.status == 503 && strings.Contains(text, "requests_full"): // it came when the others held all memory
						refused++
					default:
						t.Errorf("status %d: %.300s", a.status, text)
					}
				}
				held := s.Stats().Memory
				if whole == 0 && !stream || (held.Refused > 0) != (refused > 0) {
					t.Errorf("%d answers are whole, %d refused: %+v", whole, refused, held)
				}
				if held.Bytes != 0 || held.Answers != 0 || held.Peak > memory {
					t.Errorf("nobody asks any more: %+v", held)
				}
			})
		}
	}
}
