// Package server starts what the clients are tried on: the server of this tree, on loopback addresses, with the embedded models.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// Key is the key that the servers let in.
const Key = "only-for-tests"

// Servers are two servers.
type Servers struct {
	URL   string // serves the models flint and pebble
	Small string // serves flint, computes one answer at a time, and lets one more wait
	close []func() error
}

// Start starts the servers. Close ends them.
func Start() (servers *Servers, err error) {
	s := &Servers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	strong, err := flint.Load(nil)
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, strong.Close)
	light, err := pebble.Load(nil)
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, light.Close)
	models := []serve.Model{{Name: "flint", Loaded: strong}, {Name: "pebble", Loaded: light}}
	if s.URL, err = s.start(serve.Options{Models: models}); err != nil {
		return nil, err
	}
	s.Small, err = s.start(serve.Options{Models: models[:1], Pool: llama.PoolOptions{MaxSessions: 1}, MaxQueue: 1})
	return s, err
}

// start serves with options, and returns the address.
func (s *Servers) start(o serve.Options) (url string, err error) {
	o.Keys = []serve.Key{{Name: "tests", Secret: Key}}
	handler, err := serve.New(o)
	if err != nil {
		return "", err
	}
	s.close = append(s.close, handler.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	over := make(chan error, 1)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { over <- server.Serve(listener) }()
	s.close = append(s.close, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			return fmt.Errorf("answers are still being computed, or connections open, after all clients have gone: %w", err)
		}
		if err := <-over; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return "http://" + listener.Addr().String(), nil
}

// Close ends the servers. Requests that go on though their clients are gone are an error.
func (s *Servers) Close() (err error) {
	for i := len(s.close) - 1; i >= 0; i-- {
		err = errors.Join(err, s.close[i]())
	}
	s.close = nil
	return err
}
