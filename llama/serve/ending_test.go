package serve_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// notes is a log that a test reads while the server writes it.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// logTo logs to notes.
func logTo(n *notes) func(*serve.Options) {
	return func(o *serve.Options) { o.Logger = slog.New(slog.NewTextHandler(n, nil)) }
}

// long is a prompt of more than a thousand tokens.
var long = `{"model":"pebble","max_tokens":4,"messages":[{"role":"user","content":"` + strings.Repeat("The fox ate bread by the harbor. ", 150) + `"}]`

func TestNobodyComputesForAClientThatLeft(t *testing.T) {
	for _, c := range []struct {
		name, body string
		at         int // tokens after which the client leaves
		most       int // tokens of the prompt that are computed at most
	}{
		{"in the prompt", long + `}`, 16, 32},
		{"in the prompt, before a stream", long + `,"stream":true}`, 100, 128},
		{"in the answer", story + `}`, 40, 64},
		{"in the answer's stream", story + `,"stream":true}`, 40, 64},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log notes
			h, s, g := startGated(t, c.at, logTo(&log))
			gone := make(chan struct{})
			h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				context.AfterFunc(r.Context(), func() { close(gone) })
				s.ServeHTTP(w, r)
			})
			ctx, leave := context.WithCancel(t.Context())
			left := make(chan struct{})
			request := newRequest(t, "POST", h.URL+"/v1/chat/completions", c.body).WithContext(ctx)
			go func() {
				defer close(left)
				if answer, err := http.DefaultClient.Do(request); err == nil {
					io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
			}()
			<-g.reached
			leave()
			<-left
			<-gone // the server has noticed
			g.open()
			until(func() bool { return s.Stats().Running == 0 })
			until(func() bool { return log.String() != "" })
			if pool := s.Stats().Models[0].Pool; pool.ComputedTokens > int64(c.most) || pool.InUse != 0 || pool.Waiting != 0 {
				t.Errorf("%d tokens of the prompt were computed, want %d at most; %+v", pool.ComputedTokens, c.most, pool)
			}
			if text := log.String(); !strings.Contains(text, "status=499") || strings.Contains(text, "level=ERROR") {
				t.Errorf("the log says %s", text)
			}
		})
	}
}

// stuck is a client that reads nothing: writing to it does not end until it goes.
type stuck struct {
	http.ResponseWriter
	writing func() // called at the first write
	gone    chan struct{}
}

func (s *stuck) Write([]byte) (int, error) {
	s.writing()
	<-s.gone
	return 0, errors.New("the client is gone")
}

func TestWhoDoesNotReadHoldsNoPlace(t *testing.T) {
	h, s, g := startGated(t, 30, nil)
	g.open()
	writing := make(chan struct{})
	client := &stuck{httptest.NewRecorder(), sync.OnceFunc(func() { close(writing) }), make(chan struct{})}
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.ServeHTTP(client, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(story+`,"stream":true}`)))
	}()
	<-writing
	for range 3 { // one answer at a time is computed: the client that reads nothing has its own by now, or is in nobody's way
		if status, body := post(t, h, "/v1/chat/completions", story+`,"max_tokens":8}`); status != 200 {
			t.Fatalf("status %d: %s", status, body)
		}
	}
	select {
	case <-over:
		t.Error("the client that reads nothing was served")
	default:
	}
	close(client.gone)
	<-over
}

func TestTimeouts(t *testing.T) {
	var h *httptest.Server
	var g *gate
	first := make(chan int, 1)
	for timeout, reached := 50*time.Millisecond, false; !reached; timeout *= 2 {
		h, _, g = startGated(t, 16, func(o *serve.Options) { o.Timeout = timeout })
		go func() {
			status, _ := post(t, h, "/v1/chat/completions", long+`}`)
			first <- status
		}()
		select {
		case <-g.reached:
			reached = true
		case <-first: // the time was over before the model was asked: the machine is slow
		}
	}
	for stream, want := range map[string]int{`}`: 504, `,"stream":true}`: 200} { // a stream has begun before
		status, body := post(t, h, "/v1/chat/completions", story+stream) // it waits for its place
		if status != want || !strings.Contains(body, `"timeout"`) {
			t.Errorf("the one that waited: status %d, %s", status, body)
		}
	}
	g.open()
	if status := <-first; status != 504 {
		t.Errorf("the one that was computed: status %d", status)
	}
}

func TestTimeoutWithinAStream(t *testing.T) {
	for timeout := 100 * time.Millisecond; ; timeout *= 2 {
		h, _, g := startGated(t, 40, func(o *serve.Options) { o.Timeout = timeout })
		time.AfterFunc(2*timeout, g.open) // so the answer is held up until its time is over
		answer := send(t, "POST", h.URL+"/v1/chat/completions", story+`,"stream":true}`)
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode == 504 {
			continue // the time was over before the answer began: the machine is slow
		}
		data := events(t, string(text))
		if last := data[len(data)-1]; len(data) < 2 || !strings.Contains(last, `"code":"timeout"`) {
			t.Errorf("the stream ends with %s", last)
		}
		return
	}
}

func TestShutdownFinishesWhatIsRunning(t *testing.T) {
	h, s, g := startGated(t, 40, nil)
	first := make(chan string)
	go func() {
		status, body := post(t, h, "/v1/chat/completions", story+`}`)
		if status != 200 {
			t.Errorf("status %d", status)
		}
		first <- body
	}()
	<-g.reached
	over := make(chan error)
	go func() { over <- s.Shutdown(t.Context()) }()
	until(func() bool { return s.Stats().Closing })
	for _, path := range []string{"/health", "/v1/chat/completions"} {
		method := map[bool]string{true: "GET", false: "POST"}[path == "/health"]
		answer := send(t, method, h.URL+path, story+`}`)
		if answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" || codeOf(t, answer) != "shutting_down" {
			t.Errorf("%s: status %d, %v", path, answer.StatusCode, answer.Header)
		}
	}
	select {
	case err := <-over:
		t.Errorf("it is shut down before the answer is over: %v", err)
	default:
	}
	g.open()
	if body := <-first; !strings.Contains(body, `"finish_reason":"stop"`) {
		t.Errorf("the answer is %s", body)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
}

func TestShutdownThatDoesNotWaitSaysSo(t *testing.T) {
	h, s, g := startGated(t, 40, nil)
	answer := send(t, "POST", h.URL+"/v1/chat/completions", story+`,"stream":true}`)
	<-g.reached
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- s.Shutdown(ctx) }()
	until(func() bool { return s.Stats().Closing })
	cancel()
	g.open() // the answer goes on, for a token at most if the server has noticed already
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	data := events(t, string(text))
	if last := data[len(data)-1]; !strings.Contains(last, `"code":"shutting_down"`) && last != "[DONE]" {
		t.Errorf("the stream ends with %s", last)
	}
	if err := <-over; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCloseEndsClientsThatSendOrReadNothing(t *testing.T) {
	h, s, g := startGated(t, 1000, nil)
	g.open()
	reader, writer := io.Pipe() // a body that never ends
	defer writer.Close()
	request, err := http.NewRequestWithContext(t.Context(), "POST", h.URL+"/v1/chat/completions", reader)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if answer, err := http.DefaultClient.Do(request); err == nil {
			answer.Body.Close()
		}
	}()
	writer.Write([]byte(`{"model":`))
	until(func() bool { return s.Stats().Running == 1 })
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > wire.ReadTimeout*3/4 { // it did not wait for the body
		t.Errorf("Close took %v", took)
	}
}

func TestLogsWhatIsSaidOnlyWhenAsked(t *testing.T) {
	for _, asked := range []bool{false, true} {
		var log notes
		h := start(t, func(o *serve.Options) {
			logTo(&log)(o)
			o.LogPrompts = asked
		})
		if status, _ := post(t, h, "/v1/chat/completions", `{`+question+`,"user":"u"}`); status != 200 {
			t.Fatalf("status %d", status)
		}
		post(t, h, "/v1/chat/completions", `{"Japan":1}`)
		h.Config.Handler.(*serve.Server).Close()
		text := log.String()
		if prompt, answer := strings.Contains(text, "capital of Japan?"), strings.Contains(text, "Tokyo"); prompt != asked || answer != asked {
			t.Errorf("asked: %v; the log says\n%s", asked, text)
		}
		if !strings.Contains(text, "status=200") || !strings.Contains(text, "status=400") || !strings.Contains(text, "client=127.0.0.1") {
			t.Errorf("the log says\n%s", text)
		}
	}
}
