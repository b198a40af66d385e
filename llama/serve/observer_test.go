package serve_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// witness is an Observer that writes down its calls. Requests come one after the other.
type witness struct {
	told []string
	over chan []string // the records of a request that is over
}

func (w *witness) Begin(ctx context.Context, r serve.Request) (context.Context, serve.Span) {
	w.say("request %q by %s", r.Endpoint, r.Client)
	return ctx, witnessSpan{w}
}

func (w *witness) say(format string, a ...any) { w.told = append(w.told, fmt.Sprintf(format, a...)) }

type witnessSpan struct{ w *witness }

func (s witnessSpan) Model(name string)                 { s.w.say("model %s", name) }
func (s witnessSpan) Begin(answer int, _ time.Duration) { s.w.say("begin %d", answer) }
func (s witnessSpan) Tokens(answer, _ int)              { s.w.say("tokens %d", answer) }
func (s witnessSpan) End(answer int, stop llama.StopReason, _ llama.Stats) {
	s.w.say("end %d %v", answer, stop)
}

func (s witnessSpan) Done(status int, err error) {
	s.w.say("done %d %v", status, err != nil)
	told := slices.Compact(s.w.told) // tokens come several times
	s.w.told = nil
	s.w.over <- told
}

func TestObserverIsToldOfEveryRequest(t *testing.T) {
	w := &witness{over: make(chan []string, 1)}
	h := start(t, func(o *serve.Options) {
		o.Observer = w
		o.Keys = []serve.Key{{Name: "alice", Secret: "s"}}
	})
	const chat = "/v1/chat/completions"
	for _, c := range []struct{ method, path, key, body, want string }{
		{"POST", chat, "s", `{` + question + `}`, `request "POST ` + chat + `" by alice; model flint; begin 0; tokens 0; end 0 end of turn; done 200 false`},
		{"POST", chat, "s", `{"model":"default","messages":[{"role":"user","content":"Hi"}],"max_tokens":1}`,
			`request "POST ` + chat + `" by alice; model flint; begin 0; tokens 0; end 0 maximum of tokens; done 200 false`},
		{"POST", chat, "s", `{"model":"other","messages":[{"role":"user","content":"Hi"}]}`, `request "POST ` + chat + `" by alice; done 404 true`},
		{"POST", chat, "", `{}`, `request "POST ` + chat + `" by 127.0.0.1; done 401 true`},
		{"GET", chat, "", ``, `request "` + chat + `" by 127.0.0.1; done 405 true`},
		{"GET", "/nowhere", "", ``, `request "" by 127.0.0.1; done 404 true`},
		{"GET", "/health", "", ``, `request "GET /health" by 127.0.0.1; done 200 false`},
	} {
		send(t, c.method, h.URL+c.path, c.body, "X-Api-Key", c.key)
		if got := strings.Join(<-w.over, "; "); got != c.want {
			t.Errorf("%s %s:\n%s, want\n%s", c.method, c.path, got, c.want)
		}
	}
}
