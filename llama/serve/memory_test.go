package serve_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// stalling is a request's body that comes but for its last byte, and then not at all until the test lets it end.
type stalling struct {
	left    int
	stalled func() // called when nothing more comes
	end     chan struct{}
}

func (s *stalling) Read(p []byte) (int, error) {
	if s.left == 0 {
		s.stalled()
		<-s.end
		return 0, io.ErrUnexpectedEOF
	}
	n := min(len(p), s.left)
	for i := range p[:n] {
		p[i] = ' '
	}
	s.left -= n
	return n, nil
}

// meter is a client that reads an answer and keeps nothing of it. It measures what lives in memory while the answer is written.
type meter struct {
	header  http.Header
	status  int
	bytes   int
	largest int // of the writes
	live    uint64
	writes  int
}

func (m *meter) Header() http.Header { return m.header }
func (m *meter) WriteHeader(status int) {
	m.status = status
}

func (m *meter) Write(p []byte) (int, error) {
	if m.status == 0 {
		m.status = http.StatusOK
	}
	m.bytes += len(p)
	m.largest = max(m.largest, len(p))
	if m.writes++; m.writes == 3 || m.writes == 1 {
		m.live = max(m.live, live())
	}
	return len(p), nil
}

// live returns the bytes of memory that are in use.
func live() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// ask lets the server answer a request of a client without a network between them.
func ask(s *serve.Server, client, path string, body io.Reader, size int) *meter {
	r := httptest.NewRequest("POST", path, body)
	r.ContentLength = int64(size)
	r.Header.Set("X-User", client)
	m := &meter{header: http.Header{}}
	s.ServeHTTP(m, r)
	return m
}

// formed returns a request for an answer of a form, for each n another one.
func formed(n int) string {
	var members bytes.Buffer
	for i := range 100 {
		fmt.Fprintf(&members, `,"a%d-%d":{"type":"string","maxLength":%d}`, n, i, i)
	}
	return `{` + question + `,"max_tokens":1,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object","properties":{` +
		members.String()[1:] + `}}}}}`
}

// TestMemoryOfRequests lets many clients hold as much memory as they can, with bodies that do not come to an end, while others have long texts
// cut into tokens and schemas compiled. What requests hold is bounded, by the server's count and by the heap's, and everybody else is served.
func TestMemoryOfRequests(t *testing.T) {
	effort.Turn(t, 8)
	const maxBody, memory, stallers, clients = 128 << 10, 4 << 20, 240, 6 // 30 MiB, if nothing bounded them
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{
		Models: []serve.Model{{Name: "flint", Loaded: model}}, MaxBody: maxBody, RequestBytes: memory, Timeout: -1,
		Client: func(r *http.Request) string { return r.Header.Get("X-User") },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text := strings.Repeat("ʧ", maxBody/2-100) // a token for each byte
	tokenize := `{"with_pieces":true,"content":"` + text + `"}`
	alone := ask(s, "alone", "/tokenize", strings.NewReader(tokenize), len(tokenize)) // includes work that is done once
	if alone.bytes < 10*len(tokenize) || alone.largest > 64<<10 {
		t.Errorf("an answer of %d bytes is written in parts of up to %d", alone.bytes, alone.largest)
	}
	ask(s, "alone", "/v1/chat/completions", strings.NewReader(formed(0)), len(formed(0)))
	before := live()

	end := make(chan struct{})
	var waiting, refused atomic.Int64
	var all sync.WaitGroup
	for i := range stallers {
		body := &stalling{left: maxBody - 1, end: end, stalled: sync.OnceFunc(func() { waiting.Add(1) })}
		all.Go(func() {
			answer := ask(s, fmt.Sprint("staller ", i%clients), "/v1/chat/completions", body, maxBody)
			switch answer.status {
			case http.StatusServiceUnavailable:
				if answer.header.Get("Retry-After") == "" {
					t.Error("it is not said when to try again")
				}
				refused.Add(1)
			case http.StatusBadRequest: // it ended early
			default:
				t.Errorf("status %d", answer.status)
			}
		})
	}
	until(func() bool { return waiting.Load()+refused.Load() == stallers })
	if waiting.Load() < 10 || refused.Load() < 10 {
		t.Errorf("of %d bodies, %d are held and %d were refused", stallers, waiting.Load(), refused.Load())
	}
	if held := s.Stats().Memory; held.Bytes > memory || held.Bytes < memory/2 || held.MaxBytes != memory || held.Refused != refused.Load() {
		t.Errorf("%d bodies stand still: %+v", waiting.Load(), held)
	}
	if grown := int64(live()) - int64(before); grown > memory*3/2 {
		t.Errorf("%d bodies that stand still take %d bytes, of %d that there are", waiting.Load(), grown, memory)
	}

	for i := range 3 {
		all.Go(func() { // a client that held nothing finds room
			body := `{"with_pieces":true,"content":"` + text[:maxBody/16] + `"}`
			answer := ask(s, fmt.Sprint("reader ", i), "/tokenize", strings.NewReader(body), len(body))
			if answer.status != http.StatusOK || answer.largest > 64<<10 {
				t.Errorf("tokens: status %d, parts of %d bytes", answer.status, answer.largest)
			}
			if grown := int64(answer.live) - int64(before); grown > 4*memory { // with what schemas take, and other tests leave
				t.Errorf("while tokens are written %d bytes are in use, and requests have %d", grown, memory)
			}
		})
		all.Go(func() {
			body := formed(i + 1)
			if answer := ask(s, fmt.Sprint("caller ", i), "/v1/chat/completions", strings.NewReader(body), len(body)); answer.status != http.StatusOK {
				t.Errorf("a schema: status %d", answer.status)
			}
		})
	}
	until(func() bool { return s.Stats().Running == int(waiting.Load()) })
	close(end)
	all.Wait()
	if held := s.Stats().Memory; held.Bytes != 0 || held.Peak > memory || held.Peak < memory/2 {
		t.Errorf("nobody asks any more: %+v", held)
	}
}

// TestOptionsOfMemory refuses a bound that the largest body could not keep.
func TestOptionsOfMemory(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body, bytes, want int64
	}{
		{0, 0, 512 << 20}, {0, 192 << 20, 192 << 20}, {64 << 20, 0, 2 << 30}, {1 << 20, 16 << 20, 16 << 20}, {1 << 20, 16<<20 - 1, 0}, {0, -1, 0},
	} {
		s, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}, MaxBody: c.body, RequestBytes: c.bytes})
		if c.want == 0 {
			if err == nil || !strings.Contains(err.Error(), "Options.RequestBytes") {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if got := s.Stats().Memory.MaxBytes; got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
		s.Close()
	}
}
