package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/budget"
	"github.com/antigravity-go/antigravity/llama/serve/internal/fetch"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
)

// Server is an http.Handler that answers with models. It is safe for concurrent use.
type Server struct {
	options Options // with the defaults filled in
	service *ask.Service
	origins *origins
	budget  *budget.Budget // of the requests' memory
	routes  http.Handler
	running running

	setting  sync.Mutex               // held by SetAccounts
	keys     atomic.Pointer[keyring]  // never nil
	accounts atomic.Pointer[accounts] // never nil
}

// New makes a server. An option without meaning is an error that names it.
func New(o Options) (*Server, error) {
	s := &Server{options: o}
	if err := s.options.complete(); err != nil {
		return nil, err
	}
	keys, err := newKeyring(o.Keys)
	if err != nil {
		return nil, err
	}
	s.keys.Store(&keys)
	granted, err := newAccounts(o.Accounts, nil)
	if err != nil {
		return nil, err
	}
	s.accounts.Store(&granted)
	if s.origins, err = newOrigins(o.Hosts, o.Origins); err != nil {
		return nil, err
	}
	specs := make([]models.Spec, len(o.Models))
	for i, m := range o.Models {
		specs[i] = models.Spec{Name: m.Name, Aliases: m.Aliases, Load: m.Load, Loaded: m.Loaded, Inspect: m.Inspect, Bytes: m.Bytes, Pool: o.Pool, Draft: m.Draft,
			Adapter: m.Adapter, AdapterScale: m.AdapterScale}
	}
	registry, err := models.New(specs, models.Options{
		Budget: o.ModelBytes, PlainSampling: o.PlainSampling, Places: o.Pool.MaxSessions, Waiting: o.MaxQueue, Logger: s.options.Logger})
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s.budget = budget.New(s.options.RequestBytes)
	s.service = &ask.Service{Models: registry, ConstraintQueue: ask.NewSlowQueue(), ImageQueue: ask.NewSlowQueue(), TextQueues: ask.NewTextQueues(),
		MaxAnswers: s.options.MaxAnswers, MaxTokens: o.MaxTokens, DropTurns: o.DropTurns, Strict: o.Strict, PingInterval: s.options.PingInterval, ImageTokens: o.Pool.Session.ImageTokens, MaxBody: s.options.MaxBody, LogPrompts: o.LogPrompts, PlainSampling: o.PlainSampling, Signer: o.ReceiptSigner}
	if o.ImageURLs {
		s.service.Fetch = fetch.New().Get
	}
	s.routes = s.mux()
	return s, nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setReadDeadline(w, r)
	s.routes.ServeHTTP(w, r)
}

// Shutdown lets no more requests in, waits for those that are being served, and gives back the models that the server loaded. If the
// context ends first, the remaining requests end at their next token, with an error that says why, and Shutdown returns the context's
// error. Clients that do not read their answers can delay it by a few seconds. Call it before http.Server's Shutdown, which waits for
// requests without a limit and does not ask new clients to try again later.
func (s *Server) Shutdown(ctx context.Context) error {
	empty := s.running.close()
	var early error
	select {
	case <-empty:
	default:
		select {
		case <-empty:
		case <-ctx.Done():
			early = ctx.Err()
			s.running.end()
			<-empty // at most one chunk of a prompt, and closingTime
		}
	}
	err := s.service.Models.Close(context.WithoutCancel(ctx)) // nobody uses a model any more
	if err != nil {
		err = fmt.Errorf("serve: %w", err)
	}
	return errors.Join(early, err)
}

// Close is Shutdown that waits for no answer.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
