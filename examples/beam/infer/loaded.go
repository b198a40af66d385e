package infer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/opal"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

// loaded is a model in memory.
type loaded struct {
	model       *llama.Model
	pool        *llama.Pool          // nil: the model gives no answers
	session     llama.SessionOptions // of sessions outside the pool
	rooms       chan struct{}        // holds an element for each text that is embedded or scored: what does not go through the pool is bounded as it is
	fingerprint string
}

// close frees the memory. Answers that are being computed end.
func (l *loaded) close() error {
	if l.pool == nil {
		return l.model.Close()
	}
	return errors.Join(l.pool.Close(), l.model.Close())
}

// loadedModels are the models of this process. It is a variable of the package because Beam gives the instances of a DoFn nothing else in
// common: a worker unmarshals one for each bundle that runs at the same time.
var loadedModels = models{open: map[Model]*modelEntry{}}

// models holds each model once, for as long as somebody uses it and for Model.Idle after that.
type models struct {
	mu   sync.Mutex
	open map[Model]*modelEntry
}

// modelEntry is a model that is loaded or being loaded. It is in models.open until loading has failed or the model has been closed.
type modelEntry struct {
	ready  chan struct{} // closed when loading has ended; err and loaded are written before that
	loaded *loaded
	err    error
	users  int         // guarded by models.mu
	idle   *time.Timer // guarded by models.mu: closes the model; nil while it has users
}

// use returns the model, which is loaded if it is not. It stays loaded until release is called. If several ask at the same time, one of
// them loads it, in its own context, and the others wait; when that one's context ends the next one loads.
func (m *models) use(ctx context.Context, spec Model) (l *loaded, release func(), first bool, err error) {
	for {
		h, first := m.acquire(spec)
		if first {
			h.loaded, h.err = load(ctx, spec)
			if h.err != nil {
				m.forget(spec, h)
			}
			close(h.ready)
		}
		select {
		case <-h.ready:
		case <-ctx.Done():
			m.release(spec, h)
			return nil, nil, false, context.Cause(ctx)
		}
		if h.err == nil {
			return h.loaded, sync.OnceFunc(func() { m.release(spec, h) }), first, nil
		}
		interrupted := errors.Is(h.err, context.Canceled) || errors.Is(h.err, context.DeadlineExceeded)
		if first || !interrupted {
			return nil, nil, false, fmt.Errorf("load the model %q: %w", spec.Path, h.err)
		}
	}
}

// acquire returns the entry of a model with one user more, and whether the caller has to load it.
func (m *models) acquire(spec Model) (h *modelEntry, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h = m.open[spec]
	if h == nil {
		h, first = &modelEntry{ready: make(chan struct{})}, true
		m.open[spec] = h
	}
	h.users++
	if h.idle != nil {
		h.idle.Stop()
		h.idle = nil
	}
	return h, first
}

// release takes one user away. After the last one the model waits for another for as long as it may be idle.
func (m *models) release(spec Model, h *modelEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h.users--
	if h.users == 0 && m.open[spec] == h {
		h.idle = time.AfterFunc(spec.idle(), func() { m.expire(spec, h) })
	}
}

// expire closes a model that has been idle, unless somebody has come meanwhile.
func (m *models) expire(spec Model, h *modelEntry) {
	m.mu.Lock()
	if h.users > 0 || m.open[spec] != h {
		m.mu.Unlock()
		return
	}
	delete(m.open, spec)
	m.mu.Unlock()
	if err := h.loaded.close(); err != nil {
		log.Warnf(context.Background(), "close the model %q: %v", spec.Path, err)
	}
}

// forget forgets a model that could not be loaded.
func (m *models) forget(spec Model, h *modelEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open[spec] == h {
		delete(m.open, spec)
	}
}

// embedded are the models that are part of the program.
var embedded = map[string]func(context.Context, *llama.LoadOptions) (*llama.Model, error){
	"flint": flint.LoadContext, "opal": opal.LoadContext, "pebble": pebble.LoadContext,
}

// load loads a model, from another machine if it has to.
func load(ctx context.Context, spec Model) (*loaded, error) {
	began := time.Now()
	loadOptions, poolOptions, err := spec.options()
	if err != nil {
		return nil, err
	}
	open := embedded[spec.Path]
	if open == nil {
		path, err := fetch(ctx, spec.Path, spec.SHA256)
		if err != nil {
			return nil, err
		}
		open = func(ctx context.Context, o *llama.LoadOptions) (*llama.Model, error) {
			return llama.LoadContext(ctx, path, o)
		}
	}
	model, err := open(ctx, loadOptions)
	if err != nil {
		return nil, err
	}
	l := &loaded{model: model, session: poolOptions.Session, rooms: make(chan struct{}, spec.sessions())}
	if model.Kind() == llama.Generator {
		if l.pool, err = model.NewPool(poolOptions); err != nil {
			return nil, errors.Join(err, model.Close())
		}
	}
	if l.fingerprint, err = model.Fingerprint(); err != nil {
		return nil, errors.Join(err, l.close())
	}
	log.Infof(ctx, "loaded the model %q (%s) in %v", spec.Path, l.fingerprint, time.Since(began).Round(time.Millisecond))
	return l, nil
}

// reserve waits until a text may be embedded or scored, and returns what ends that.
func (l *loaded) reserve(ctx context.Context) (leave func(), err error) {
	select {
	case l.rooms <- struct{}{}:
		return func() { <-l.rooms }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
