package serve_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// leavings are the moments at which clients of a storm leave: those that an Observer sees, and those that the client sees.
var leavings = []string{"begin", "model", "start", "tokens", "end", "done", "half", "answer"}

// storm is an Observer that lets each client leave at the moment that its request's header names: the server then finishes a request while
// the connection brings the news that the client is gone.
type storm struct {
	leave sync.Map // functions by the request's number
	done  atomic.Int64
}

const (
	stormNumber = "X-Storm-Number"
	stormMoment = "X-Storm-Moment"
)

// Begin is serve.Observer's.
func (s *storm) Begin(ctx context.Context, r serve.Request) (context.Context, serve.Span) {
	one := &stormy{storm: s, moment: r.Header.Get(stormMoment), leave: func() {}}
	if leave, ok := s.leave.Load(r.Header.Get(stormNumber)); ok {
		one.leave = leave.(context.CancelFunc)
	}
	one.at("begin")
	return ctx, one
}

// stormy is the Span of one request.
type stormy struct {
	*storm
	moment string
	leave  context.CancelFunc
}

func (s *stormy) at(moment string) {
	if s.moment == moment {
		s.leave()
	}
}

func (s *stormy) Model(string)                           { s.at("model") }
func (s *stormy) Begin(int, time.Duration)               { s.at("start") }
func (s *stormy) Tokens(int, int)                        { s.at("tokens") }
func (s *stormy) End(int, llama.StopReason, llama.Stats) { s.at("end") }
func (s *stormy) Done(int, error) {
	s.done.Add(1)
	s.at("done")
}

// halfway is a request's body that says when half of it has been read.
type halfway struct {
	io.Reader
	half func()
}

func (h *halfway) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p[:1+len(p)/2])
	h.half()
	return n, err
}

// send sends one request. It leaves at the moment, or never if that is "", and reports whether a whole answer came.
func (s *storm) send(client *http.Client, url string, number int, moment string, body string) bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	key := strconv.Itoa(number)
	s.leave.Store(key, cancel)
	defer s.leave.Delete(key)
	var reader io.Reader = strings.NewReader(body)
	if moment == "half" {
		reader = &halfway{reader, cancel}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, reader)
	if err != nil {
		panic(err) // a test's own mistake
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(stormNumber, key)
	request.Header.Set(stormMoment, moment)
	answer, err := client.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	if moment == "answer" {
		cancel()
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err == nil
}

// stormRequest is a request that a client of a storm sends, and when the client leaves.
type stormRequest struct{ path, body, moment string }

var stormRounds = flag.Int("storm", 1, "at how many of the 8 moments clients of TestCancellationStorm leave each request that is computed")

// stormRequests are right requests for every path, whole and streamed, that leave at one moment a round, and some that end at once, at every
// moment.
func stormRequests(rounds int) (all []stormRequest) {
	for _, path := range fuzzedPaths {
		var right []string
		for _, body := range path.requests {
			right = append(right, body)
			if path.stream {
				right = append(right, `{"stream":true,`+strings.TrimSpace(body)[1:])
			}
		}
		for i, body := range right {
			for round := range rounds {
				all = append(all, stormRequest{path.path, body, leavings[(i+round)%len(leavings)]})
			}
		}
		for _, body := range []string{"{}", "{", strings.Repeat(" ", 100_000)} {
			for _, moment := range leavings {
				all = append(all, stormRequest{path.path, body, moment})
			}
		}
	}
	return all
}

// TestCancellationStorm has clients leave at every moment of requests to every path, over both versions of HTTP. A goroutine that touched a
// request after its handler would end the process: net/http takes writers away from handlers that are done, and over HTTP/2 they are nil then.
func TestCancellationStorm(t *testing.T) {
	effort.Turn(t, 8)
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP ", version), func(t *testing.T) {
			watch := &storm{}
			s, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}, Observer: watch, MaxTokens: 4})
			if err != nil {
				t.Fatal(err)
			}
			h := httptest.NewUnstartedServer(s)
			h.EnableHTTP2 = version == 2
			h.StartTLS()
			client := h.Client()
			requests := stormRequests(*stormRounds)
			var next, whole atomic.Int64
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					for {
						i := int(next.Add(1)) - 1
						if i >= len(requests) {
							return
						}
						r := requests[i]
						if watch.send(client, h.URL+r.path, i, r.moment, r.body) {
							whole.Add(1)
						}
					}
				})
			}
			all.Wait()
			// Whoever comes now is served.
			if !watch.send(client, h.URL+"/v1/chat/completions", -1, "", `{`+question+`}`) {
				t.Error("after the storm nobody is served")
			}
			h.Close()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if stats := s.Stats(); stats.Running != 0 || stats.Memory.Bytes != 0 || stats.Models[0].Answers != 0 || stats.Models[0].Waiting != 0 {
				t.Errorf("after the storm: %+v", stats)
			}
			t.Logf("%d requests, %d reached the server, %d had a whole answer", len(requests), watch.done.Load(), whole.Load())
		})
	}
}
