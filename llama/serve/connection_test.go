package serve_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// pipes is a net.Listener of connections within the process: time is the test's own (see package synctest).
type pipes struct {
	conns chan net.Conn
	done  context.Context
}

// Accept is net.Listener's.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done.Done():
		return nil, net.ErrClosed
	}
}

// Close is net.Listener's.
func (p *pipes) Close() error { return nil }

// Addr is net.Listener's.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// dial connects.
func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// onPipes calls f with a server that has no model which could be loaded, in a time of its own. What the server logs is in notes.
func onPipes(t *testing.T, o serve.Options, f func(t *testing.T, p *pipes, log *notes)) {
	synctest.Test(t, func(t *testing.T) {
		var log notes
		logTo(&log)(&o)
		o.Models = []serve.Model{{Name: "m", Load: func(context.Context) (*llama.Model, error) { return nil, errors.New("no model") }}}
		s, err := serve.New(o)
		if err != nil {
			t.Fatal(err)
		}
		done, cancel := context.WithCancel(context.Background())
		p := &pipes{make(chan net.Conn), done}
		h := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
		go h.Serve(p)
		defer s.Close()
		defer h.Close()
		defer cancel()
		f(t, p, &log)
	})
}

func TestBodiesThatDoNotComeHoldNoConnection(t *testing.T) {
	for _, c := range []struct{ name, path, host, want string }{
		{"where nothing is", "/nowhere", "m.example", " 404 "},
		{"by a wrong name", "/v1/chat/completions", "evil.example", " 403 "},
		{"without a key", "/v1/chat/completions", "m.example", " 401 "},
		{"to be served", "/health", "m.example", " 405 "},
		{"of a request with a key", "/v1/chat/completions", "m.example\r\nX-Api-Key: secret", " 408 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := serve.Options{Hosts: []string{"m.example"}, Keys: []serve.Key{{Name: "k", Secret: "secret"}}}
			onPipes(t, o, func(t *testing.T, p *pipes, _ *notes) {
				client := p.dial()
				defer client.Close()
				go io.WriteString(client, "POST "+c.path+" HTTP/1.1\r\nHost: "+c.host+"\r\nContent-Length: 1000\r\n\r\n{") // and no more
				client.SetReadDeadline(time.Now().Add(5 * time.Minute))
				answer, err := io.ReadAll(client)
				if first, _, _ := strings.Cut(string(answer), "\r\n"); err != nil || !strings.Contains(first, c.want) {
					t.Errorf("%v: %q", err, answer)
				}
			})
		})
	}
}

func TestTimeoutsAreOfSlowReadersToo(t *testing.T) {
	var ended chan struct{}
	o := serve.Options{Timeout: 10 * time.Second, Metrics: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		for range 100 {
			w.Write(make([]byte, 1<<20))
		}
	})}
	onPipes(t, o, func(t *testing.T, p *pipes, _ *notes) {
		ended = make(chan struct{}) // of the test's own time
		client := p.dial()
		defer client.Close()
		began := time.Now()
		go io.WriteString(client, "GET /metrics HTTP/1.1\r\nHost: m\r\n\r\n") // and it reads nothing
		<-ended
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("a client that reads nothing is given up after %v", took)
		}
	})
}

func TestLogsHaveLittleOfWhatClientsChoose(t *testing.T) {
	onPipes(t, serve.Options{}, func(t *testing.T, p *pipes, log *notes) {
		client := p.dial()
		defer client.Close()
		go io.WriteString(client, strings.Repeat("M", 5000)+" /"+strings.Repeat("p", 5000)+"%0Alevel=ERROR HTTP/1.0\r\n\r\n")
		io.Copy(io.Discard, client)
		synctest.Wait()
		if text := log.String(); len(text) == 0 || len(text) > 1500 || strings.Count(text, "\n") != 1 {
			t.Errorf("the log has %d bytes: %.2000s", len(text), text)
		}
	})
}

func TestBodiesAreNotUnpacked(t *testing.T) {
	h := start(t, nil)
	for coding, want := range map[string]int{"": 200, "identity": 200, "gzip": 415, "deflate": 415} {
		answer := send(t, "POST", h.URL+"/tokenize", `{"content":"a"}`, "Content-Encoding", coding)
		if answer.StatusCode != want {
			t.Errorf("%q: status %d, want %d", coding, answer.StatusCode, want)
		}
	}
}
