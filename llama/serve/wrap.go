package serve

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// wrap returns the handler of a route, with everything around it that is the same for all requests: who may come in, how long it may take,
// the log, and the answer to a failure.
func (s *Server) wrap(route route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &response{ResponseWriter: w}
		defer out.finish() // also if an Observer or a Logger panics
		ctx, a := s.newRequestLog(out, r, route)
		defer func() {
			p, begun := recover(), out.status != 0
			if p != nil {
				a.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			// Others need the memory, and a client that reads slowly may take long to get an error.
			a.memory.Close()
			if a.err != nil && !begun { // if the answer has begun, the route has reported the error itself
				_ = wire.WriteError(out, a.err, route.shape) // a client that is gone reads no error either
			}
			a.done(ctx, r, out.status)
			out.finish()
			if p != nil && begun {
				panic(http.ErrAbortHandler) // breaks the connection, so that no client takes a part for the whole answer
			}
		}()
		a.err = s.admit(out, r.WithContext(ctx), route, a.client)
	})
}

// admit serves a request that may come in, and returns why another one may not.
func (s *Server) admit(w *response, r *http.Request, route route, client client) error {
	if err := s.origins.judge(w.Header(), r); err != nil {
		return err
	}
	if !route.open {
		if !client.keyed && !s.keys.Load().empty() {
			w.Header().Set("WWW-Authenticate", "Bearer")
			return &wire.Error{Status: http.StatusUnauthorized, Code: "invalid_api_key", Message: "the request has no valid key"}
		}
		if err := client.account.admit(time.Now(), route.method == http.MethodPost); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	leave, ok := s.running.enter(func() {
		cancel(ask.ErrShutdown)
		w.shortenDeadline()
	})
	if !ok {
		return ask.Explain(ctx, ask.ErrShutdown, nil)
	}
	defer leave()
	if s.options.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, s.options.Timeout, ask.ErrTimeout)
		defer stop()
	}
	defer context.AfterFunc(ctx, w.shortenDeadline)() // who reads slowly has no more time than who computes
	if err := route.serve(w, r.WithContext(ctx)); err != nil {
		return ask.Explain(ctx, err, nil)
	}
	return nil
}
