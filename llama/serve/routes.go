package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve/internal/anthropic"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ollama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openai"
	"github.com/antigravity-go/antigravity/llama/serve/internal/responses"
	"github.com/antigravity-go/antigravity/llama/serve/internal/tokens"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
	"github.com/antigravity-go/antigravity/llama/serve/page"
)

// route is something that the server answers.
type route struct {
	method, path string
	shape        func(*wire.Error) any // of errors
	serve        func(http.ResponseWriter, *http.Request) error
	open         bool // needs no key
}

// routeTable lists what the server answers.
func (s *Server) routeTable() []route {
	api, messages, tokens := &openai.API{Service: s.service}, &anthropic.API{Service: s.service}, &tokens.API{Service: s.service}
	local := &ollama.API{Service: s.service}
	routes := []route{
		{"POST", "/v1/chat/completions", openai.Shape, api.Chat, false},
		{"POST", "/v1/completions", openai.Shape, api.Completions, false},
		{"POST", "/v1/embeddings", openai.Shape, api.Embeddings, false},
		{"POST", "/v1/rerank", openai.Shape, api.Rerank, false},
		{"POST", "/v1/classify", openai.Shape, api.Classify, false},
		{"POST", "/v1/moderations", openai.Shape, api.Moderations, false},
		{"POST", "/predict", openai.Shape, api.Predict, false},  // as Text Embeddings Inference has it
		{"POST", "/v2/rerank", openai.Shape, api.Rerank, false}, // as Cohere's clients call it
		{"GET", "/v1/models", openai.Shape, ofClient(messages.Models, api.Models), false},
		{"GET", "/v1/models/{name...}", openai.Shape, ofClient(messages.Model, api.Model), false},
		{"POST", "/tokenize", openai.Shape, tokens.Tokenize, false},
		{"POST", "/detokenize", openai.Shape, tokens.Detokenize, false},
		{"POST", "/apply-template", openai.Shape, tokens.ApplyTemplate, false},
		{"GET", "/props", openai.Shape, tokens.Props, false},
		{"GET", "/slots", openai.Shape, tokens.Slots, false},
		{"POST", "/completion", openai.Shape, tokens.Completion, false},
		{"POST", "/infill", openai.Shape, tokens.Infill, false},
		{"POST", "/v1/responses", openai.Shape, (&responses.API{Service: s.service}).Create, false},
		{"POST", "/v1/messages", anthropic.Shape, messages.Messages, false},
		{"POST", "/v1/messages/count_tokens", anthropic.Shape, messages.CountTokens, false},
		{"GET", "/health", openai.Shape, s.health, true},
		{"GET", "/api/version", ollama.Shape, local.Version, false},
		{"GET", "/api/tags", ollama.Shape, local.Tags, false},
		{"GET", "/api/ps", ollama.Shape, local.Ps, false},
		{"POST", "/api/show", ollama.Shape, local.Show, false},
		{"POST", "/api/chat", ollama.Shape, local.Chat, false},
		{"POST", "/api/generate", ollama.Shape, local.Generate, false},
		{"POST", "/api/embed", ollama.Shape, local.Embed, false},
		{"POST", "/api/embeddings", ollama.Shape, local.Embedding, false},
		{"POST", "/api/pull", ollama.Shape, local.Pull, false},
		{"POST", "/api/push", ollama.Shape, ollama.Refuse("publishes no models", "copy the model's file yourself"), false},
		{"POST", "/api/create", ollama.Shape, ollama.Refuse("makes no models", "name their files when the program starts, and send the system message with each request"), false},
		{"POST", "/api/copy", ollama.Shape, ollama.Refuse("copies no models", "give the model another name when the program starts (examples/serve: -alias NAME=OTHER)"), false},
		{"DELETE", "/api/delete", ollama.Shape, ollama.Refuse("deletes no models", "start the program without the model, and remove its file yourself"), false},
	}
	if s.options.Metrics != nil {
		routes = append(routes, route{"GET", "/metrics", openai.Shape, plainHandler(s.options.Metrics), false})
	}
	if !s.options.NoPage {
		files := plainHandler(page.Handler())
		routes = append(routes, route{"GET", "/{$}", openai.Shape, files, true}, route{"GET", "/page/", openai.Shape, files, true})
	} else {
		routes = append(routes, route{"GET", "/{$}", ollama.Shape, ollama.Running, true})
	}
	return routes
}

// ofClient serves a path that Anthropic's interface has, too: to Anthropic's clients with the first function, to others with the second.
func ofClient(messages, others func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Add("Vary", anthropic.Version)
		if r.Header.Get(anthropic.Version) != "" {
			return messages(w, r)
		}
		return others(w, r)
	}
}

// pathsOf returns the paths of a route: its own and, if that begins with /v1, the rest, since some programs know the address of a server
// without it.
func pathsOf(r route) []string {
	if short, ok := strings.CutPrefix(r.path, "/v1/"); ok {
		return []string{r.path, "/" + short}
	}
	return []string{r.path}
}

// shapeOf returns the shape of errors at a path that is asked for by another method than those that it has, or below which nothing is.
func shapeOf(path string) func(*wire.Error) any {
	if strings.HasPrefix(strings.TrimPrefix(path, "/v1"), "/messages") {
		return anthropic.Shape
	}
	if strings.HasPrefix(path, "/api/") {
		return ollama.Shape
	}
	return openai.Shape
}

// mux returns the handler of all routes. Another method on a known path is status 405, another path 404, both in JSON.
func (s *Server) mux() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range s.routeTable() {
		handler := s.wrap(r)
		for _, path := range pathsOf(r) {
			mux.Handle(r.method+" "+path, handler)
			methods[path] = append(methods[path], r.method)
			if r.method == http.MethodGet {
				methods[path] = append(methods[path], http.MethodHead) // which ServeMux takes for GET, and net/http answers without a body
			}
		}
	}
	for path, allowed := range methods {
		mux.Handle(path, s.wrap(route{"", path, shapeOf(path), methodNotAllowed(allowed), true}))
	}
	for _, path := range []string{"/", "/v1/messages/", "/messages/", "/api/"} {
		mux.Handle(path, s.wrap(route{"", "", shapeOf(path), notFound, true}))
	}
	return mux
}

// methodNotAllowed serves a path that is asked for by another method than those that it has. OPTIONS asks which these are.
func methodNotAllowed(allowed []string) func(http.ResponseWriter, *http.Request) error {
	allow := strings.Join(append(slices.Clone(allowed), http.MethodOptions), ", ")
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Allow", allow)
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return &wire.Error{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
			Message: fmt.Sprintf("%.20s %.200s: the method must be %s", r.Method, r.URL.Path, strings.Join(allowed, " or "))}
	}
}

// notFound serves paths without a route.
func notFound(_ http.ResponseWriter, r *http.Request) error {
	return &wire.Error{Status: http.StatusNotFound, Code: "not_found", Message: fmt.Sprintf("there is nothing at %.200s", r.URL.Path)}
}

// plainTimeout is how long a client may take to read what a plain handler writes.
const plainTimeout = time.Minute

// plainHandler serves with a handler that writes its errors itself, and sets no deadlines.
func plainHandler(h http.Handler) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(plainTimeout)) // a writer without deadlines goes without
		h.ServeHTTP(w, r)
		return nil
	}
}

// health answers with status 200 while the server lets requests in.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	return wire.Write(w, http.StatusOK, map[string]string{"status": "ok"})
}
