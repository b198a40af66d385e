package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/llama"
)

// model is a model that is loaded, with what the registry makes of it. It never changes.
type model struct {
	model       *llama.Model
	pool        *llama.Pool // nil: the model gives no answers
	fingerprint string
	context     int  // tokens that a conversation may have; 0: no bound
	keep        bool // the model is the caller's, who closes it
}

// bytes returns the memory of the model, its conversations and its activations, which changes while it answers.
func (m *model) bytes() int64 { return usage(m.model) }

// usage returns the part of a model's memory that counts against the budget.
func usage(m *llama.Model) int64 { return counted(m.MemoryUsage()) }

// counted returns the part of memory that counts against the budget. The scratch of the backend does not: models share it.
func counted(m llama.Memory) int64 { return m.Weights + m.Caches + m.Workspaces + m.Constraints }

// close gives back whatever the registry made. Answers that are being computed end with an error.
func (m *model) close() error {
	var err error
	if m.pool != nil {
		err = m.pool.Close()
	}
	if m.keep {
		return err
	}
	return errors.Join(err, m.model.Close())
}

// loader returns a function that loads the model of a spec. If budget is not 0, the pool's caches take at most the budget less the weights.
func loader(spec Spec, places int, budget int64) func(context.Context) (resource, error) {
	return func(ctx context.Context) (resource, error) {
		m, err := spec.Load(ctx)
		if err != nil {
			return nil, err
		}
		if m == nil {
			return nil, errors.New("its Load returned no model and no error")
		}
		room := int64(math.MaxInt64)
		if budget > 0 {
			room = max(budget-usage(m), 1)
		}
		made, err := prepare(spec, m, places, room, &sharedPool{users: 1})
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		return made, nil
	}
}

// leastCache is the least default, in bytes, for the conversations that stay cached.
const leastCache = 256 << 20

// newPool makes the pool of a model. Its caches take at most room. If its options do not say how much memory cached conversations may take,
// they take no more than the weights do: a server is to be about as large as its models, and yet has room for a conversation that fills a
// common context. They never take more than llama.PoolOptions chooses, a part of the available memory.
func newPool(m *llama.Model, o llama.PoolOptions, room int64) (*llama.Pool, error) {
	pool, err := m.NewPool(&o)
	if err != nil {
		return nil, err
	}
	most := pool.Stats().MaxBytes
	if o.MaxBytes == 0 {
		most = min(most, max(m.MemoryUsage().Weights, leastCache))
	}
	if most = min(most, room); most == pool.Stats().MaxBytes {
		return pool, nil
	}
	o.MaxBytes = most
	if err := pool.Close(); err != nil {
		return nil, err
	}
	return m.NewPool(&o)
}

// sharedPool is the pool of the specs with one Loaded model.
type sharedPool struct {
	users int
	pool  *llama.Pool // nil until the first of them is prepared
}

// pools has those of Loaded models.
type pools map[*llama.Model]*sharedPool

// newPools returns the pools for specs. None is made yet.
func newPools(specs []Spec) pools {
	p := pools{}
	for _, s := range specs {
		if s.Loaded == nil {
			continue
		}
		if p[s.Loaded] == nil {
			p[s.Loaded] = &sharedPool{}
		}
		p[s.Loaded].users++
	}
	return p
}

// adapter returns the adapter of a model's answers, and its scale.
func (s *Spec) adapter() (*llama.Adapter, float32) {
	if s.Adapter != nil {
		return s.Adapter, s.AdapterScale
	}
	return s.Pool.Session.Adapter, s.Pool.Session.AdapterScale
}

// prepare makes the pool of a model that gives answers, unless others have made it, with caches of at most room, and finds out the figures of its
// Status.
func prepare(spec Spec, m *llama.Model, places int, room int64, shared *sharedPool) (*model, error) {
	fingerprint, err := m.Fingerprint()
	if err != nil {
		return nil, err
	}
	if a, scale := spec.adapter(); a != nil {
		adapted, err := a.Fingerprint()
		if err != nil {
			return nil, err
		}
		fingerprint = fmt.Sprintf("%s+%s*%g", fingerprint, adapted, cmp.Or(scale, 1))
	}
	made := &model{model: m, fingerprint: fingerprint, context: m.LongestText(), keep: spec.Loaded != nil}
	if m.Kind() != llama.Generator {
		return made, nil
	}
	s, err := m.NewSession(&spec.Pool.Session) // takes memory only for tokens, and holds no tokens
	if err != nil {
		return nil, fmt.Errorf("a session as Pool describes it: %w", err)
	}
	if made.context = s.Capacity(); made.context == math.MaxInt {
		made.context = 0
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	if shared.pool == nil {
		spec.Pool.MaxSessions = cmp.Or(spec.Pool.MaxSessions, places) * shared.users
		spec.Pool.Session.Adapter, spec.Pool.Session.AdapterScale = nil, 0 // each answer says its own
		if shared.pool, err = newPool(m, spec.Pool, room); err != nil {
			return nil, fmt.Errorf("a pool as Pool describes it: %w", err)
		}
	}
	made.pool = shared.pool
	return made, nil
}
