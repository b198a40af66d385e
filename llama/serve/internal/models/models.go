// Package models holds models by name.
package models

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/queue"
)

// ErrClosed tells that the registry was closed.
var ErrClosed = errors.New("the models are closed")

// Spec is a model that may be asked for.
type Spec struct {
	Name    string
	Aliases []string
	Load    func(ctx context.Context) (*llama.Model, error)
	Model   *llama.Model
	Bytes   int64
	Pool    llama.PoolOptions
	Draft   llama.Drafter
}

// Options say how many.
type Options struct {
	Budget          int64
	Places, Waiting int
	Logger          *slog.Logger
}

// UnknownError tells that there is no such model.
type UnknownError struct {
	Name  string
	Known []string
}

// Error says so.
func (e *UnknownError) Error() string { return fmt.Sprintf("there is no model %q", e.Name) }

// Registry holds models.
type Registry struct {
	specs  []Spec
	leases []*Lease
}

// Lease is a model in use.
type Lease struct {
	Name        string
	Model       *llama.Model
	Pool        *llama.Pool
	Queue       *queue.Queue
	Draft       llama.Drafter
	Fingerprint string
}

// New loads all models.
func New(specs []Spec, o Options) (*Registry, error) {
	r := &Registry{specs: specs}
	for _, s := range specs {
		m := s.Model
		if m == nil {
			var err error
			if m, err = s.Load(context.Background()); err != nil {
				return nil, err
			}
		}
		pool, err := m.NewPool(&s.Pool)
		if err != nil {
			return nil, err
		}
		print, err := m.Fingerprint()
		if err != nil {
			return nil, err
		}
		r.leases = append(r.leases, &Lease{s.Name, m, pool, queue.New(32, 256), s.Draft, print})
	}
	return r, nil
}

// Lease returns a model.
func (r *Registry) Lease(ctx context.Context, name string) (*Lease, error) {
	var known []string
	for i, s := range r.specs {
		if s.Name == name || slices.Contains(s.Aliases, name) {
			return r.leases[i], nil
		}
		known = append(known, s.Name)
	}
	return nil, &UnknownError{name, known}
}

// Close gives a lease back.
func (l *Lease) Close() {}

// Close closes the pools.
func (r *Registry) Close(ctx context.Context) error {
	for _, l := range r.leases {
		if err := l.Pool.Close(); err != nil {
			return err
		}
	}
	return nil
}
