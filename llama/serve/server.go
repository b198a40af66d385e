package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
)

// Server is an http.Handler that answers with models. It is safe for concurrent use.
type Server struct {
	options Options // with the defaults filled in
	desk    *ask.Desk
	keys    keyring
	routes  http.Handler
	guard   *http.CrossOriginProtection

	mu      sync.Mutex
	closing bool                  // no request is let in any more
	running map[*running]struct{} // the requests that are being served
	empty   chan struct{}         // closed when closing and nothing is running; nil before closing
}

// running is a request that is being served.
type running struct{ cancel context.CancelCauseFunc }

// New makes a server. An option without meaning is an error that names it.
func New(o Options) (*Server, error) {
	s := &Server{options: o, running: map[*running]struct{}{}}
	if err := s.options.complete(); err != nil {
		return nil, err
	}
	specs := make([]models.Spec, len(o.Models))
	for i, m := range o.Models {
		specs[i] = models.Spec{Name: m.Name, Aliases: m.Aliases, Load: m.Load, Model: m.Loaded, Bytes: m.Bytes, Pool: o.Pool, Draft: m.Draft}
	}
	registry, err := models.New(specs, models.Options{Budget: o.ModelBytes, Places: o.Pool.MaxSessions, Waiting: o.MaxQueue, Logger: s.options.Logger})
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s.desk = &ask.Desk{Models: registry, Answers: s.options.MaxAnswers, MaxTokens: o.MaxTokens, MaxBody: s.options.MaxBody, Prompts: o.LogPrompts}
	if s.keys, err = newKeyring(o.Keys); err != nil {
		return nil, err
	}
	s.guard = http.NewCrossOriginProtection()
	for _, origin := range o.Origins {
		if origin == "*" {
			s.guard = nil
			break
		}
		if err := s.guard.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("serve: Options.Origins has %q: %w", origin, err)
		}
	}
	s.routes = s.mux()
	return s, nil
}

// complete checks the options and fills the defaults in.
func (o *Options) complete() error {
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"ModelBytes", o.ModelBytes}, {"MaxQueue", int64(o.MaxQueue)}, {"MaxAnswers", int64(o.MaxAnswers)},
		{"MaxTokens", int64(o.MaxTokens)}, {"MaxBody", o.MaxBody},
	} {
		if n.value < 0 {
			return fmt.Errorf("serve: Options.%s is %d; it must be positive, or 0 for the default", n.name, n.value)
		}
	}
	if o.MaxAnswers == 0 {
		o.MaxAnswers = defaultAnswers
	}
	if o.MaxBody == 0 {
		o.MaxBody = defaultBody
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	return nil
}

// Shutdown lets no more requests in, waits for those that are being served, and gives the models back that the server loaded. When the
// context ends first, the rest of the requests end at their next token, with an error that says why, and so does Shutdown: with the context's.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	if s.empty == nil {
		s.empty = make(chan struct{})
		if len(s.running) == 0 {
			close(s.empty)
		}
	}
	empty := s.empty
	s.mu.Unlock()
	var early error
	select {
	case <-empty:
	case <-ctx.Done():
		early = ctx.Err()
		s.mu.Lock()
		for r := range s.running {
			r.cancel(ask.ErrShutdown)
		}
		s.mu.Unlock()
		<-empty // at most one chunk of a prompt, and the time that clients take to read
	}
	return errors.Join(early, s.desk.Models.Close(ctx))
}

// Close is Shutdown that waits for nothing.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// enter notes that a request is served; leave is called when it is over. ok is false when the server lets nobody in.
func (s *Server) enter(cancel context.CancelCauseFunc) (leave func(), ok bool) {
	r := &running{cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, false
	}
	s.running[r] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, r)
		if s.empty != nil && len(s.running) == 0 {
			close(s.empty)
		}
	}, true
}
