package serve

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openai"
	"github.com/antigravity-go/antigravity/llama/serve/internal/responses"
	"github.com/antigravity-go/antigravity/llama/serve/internal/tokens"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// route is something that the server answers.
type route struct {
	method, path string
	shape        func(*wire.Error) any // of errors
	serve        func(http.ResponseWriter, *http.Request) error
	open         bool // needs no key
}

// all lists what the server answers.
func (s *Server) all() []route {
	api := &openai.API{Desk: s.desk}
	return []route{
		{"POST", "/v1/chat/completions", openai.Shape, api.Chat, false},
		{"POST", "/v1/completions", openai.Shape, api.Completions, false},
		{"POST", "/v1/embeddings", openai.Shape, api.Embeddings, false},
		{"GET", "/v1/models", openai.Shape, api.Models, false},
		{"GET", "/v1/models/{name...}", openai.Shape, api.Model, false},
		{"POST", "/tokenize", openai.Shape, (&tokens.API{Desk: s.desk}).Tokenize, false},
		{"POST", "/detokenize", openai.Shape, (&tokens.API{Desk: s.desk}).Detokenize, false},
		{"POST", "/v1/responses", openai.Shape, (&responses.API{Desk: s.desk}).Create, false},
		{"GET", "/health", openai.Shape, s.health, true},
	}
}

// mux returns the handler of all routes. Another method on a known path is status 405, another path 404, both in JSON.
func (s *Server) mux() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range s.all() {
		mux.Handle(r.method+" "+r.path, s.enclose(r))
		methods[r.path] = append(methods[r.path], r.method)
	}
	for path, allowed := range methods {
		mux.Handle(path, s.enclose(route{"", path, shapeOf(path), func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			return &wire.Error{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
				Message: fmt.Sprintf("%s %s: the method must be %s", r.Method, r.URL.Path, strings.Join(allowed, " or "))}
		}, true}))
	}
	if _, ok := methods["/"]; !ok {
		mux.Handle("/", s.enclose(route{"", "/", openai.Shape, nowhere, true}))
	}
	return mux
}

// nowhere serves what is not there.
func nowhere(_ http.ResponseWriter, r *http.Request) error {
	return &wire.Error{Status: http.StatusNotFound, Code: "not_found", Message: fmt.Sprintf("there is nothing at %s %s", r.Method, r.URL.Path)}
}

// shapeOf returns the shape of errors at a path.
func shapeOf(path string) func(*wire.Error) any {
	return openai.Shape
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.routes.ServeHTTP(w, r)
}

// enclose returns the handler of a route, with all that is the same for every request around it.
func (s *Server) enclose(route route) http.Handler {
	inner := wire.Handler(route.shape, s.failed, func(w http.ResponseWriter, r *http.Request) error {
		if !route.open && len(s.keys) > 0 {
			if _, ok := s.keys.find(r); !ok {
				w.Header().Set("WWW-Authenticate", "Bearer")
				return &wire.Error{Status: http.StatusUnauthorized, Code: "invalid_api_key", Message: "the request has no valid key"}
			}
		}
		return route.serve(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := "req_" + rand.Text()
		w.Header().Set(wire.RequestID, id)
		w.Header().Set("Request-Id", id) // the name under which Anthropic's clients look for it
		out := &response{ResponseWriter: w}
		if refused := s.refuse(out, r); refused != nil {
			_ = wire.WriteError(out, refused, route.shape)
			return
		}
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		if s.options.Timeout > 0 {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeoutCause(ctx, s.options.Timeout, ask.ErrTimeout)
			defer stop()
		}
		leave, ok := s.enter(cancel)
		if !ok {
			_ = wire.WriteError(out, ask.Explain(ctx, ask.ErrShutdown, nil), route.shape)
			return
		}
		defer leave()
		a := &account{began: time.Now(), client: s.client(r)}
		ctx, a.span = s.options.Observer.Begin(ctx, Request{ID: id, Endpoint: strings.TrimSpace(route.method + " " + route.path), Client: a.client})
		log := s.options.Logger.With(slog.String("request", id))
		ctx = ask.With(ctx, &ask.Request{ID: id, Client: a.client, Log: log, Watch: a})
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
				if out.status == 0 {
					_ = wire.WriteError(out, wire.Of(a.err), route.shape)
				}
			}
			a.done(ctx, log, r, out.status)
		}()
		inner.ServeHTTP(out, r.WithContext(context.WithValue(ctx, accountKey{}, a)))
	})
}

// refuse tells why a request is not even looked at, and sets the headers that let pages of other origins read the answer.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request) *wire.Error {
	if len(s.options.Hosts) > 0 {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if !slices.Contains(s.options.Hosts, strings.Trim(host, "[]")) {
			return &wire.Error{Status: http.StatusForbidden, Code: "unknown_host", Message: fmt.Sprintf("the server is not called %.80q", r.Host)}
		}
	}
	origin := r.Header.Get("Origin")
	if any := slices.Contains(s.options.Origins, "*"); origin != "" && (any || slices.Contains(s.options.Origins, origin)) {
		h := w.Header()
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "X-Request-Id, Request-Id, Retry-After")
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Methods", "GET, POST")
			h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
			h.Set("Access-Control-Max-Age", "600")
		}
	}
	if s.guard != nil {
		if err := s.guard.Check(r); err != nil {
			return &wire.Error{Status: http.StatusForbidden, Code: "cross_origin", Err: err,
				Message: fmt.Sprintf("a page of the origin %.80q may not use this server", origin)}
		}
	}
	return nil
}

// client returns whose request it is: the key's name or, without keys, the address.
func (s *Server) client(r *http.Request) string {
	if name, ok := s.keys.find(r); ok {
		return name
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}

// failed notes why a request has no answer.
func (s *Server) failed(r *http.Request, err error) {
	if a, ok := r.Context().Value(accountKey{}).(*account); ok {
		a.err = err
	}
}

// health tells that the server answers.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	return wire.Write(w, http.StatusOK, map[string]string{"status": "ok"})
}

// response notes an answer's status.
type response struct {
	http.ResponseWriter
	status int
}

func (r *response) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *response) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap returns the writer below, for http.ResponseController.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }
