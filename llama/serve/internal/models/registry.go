// Package models keeps the models of a server by name. It loads them when they are asked for, and gives back unused ones to stay within a
// budget of memory.
package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/queue"
)

// A registry is a table of names over a cache: the cache decides which models are loaded and closed, and a Lease keeps a model loaded as
// long as a request needs it. For example, a request for "small:latest":
//
//	find            the entry "small": by its name, by an alias, without the tag, or by AnyName
//	cache.acquire   waits until the model is loaded, and keeps it loaded
//	Lease           the request uses its Model, Pool and Queue
//	Lease.Close     cache.release: the cache may close the model for another one

// Spec describes one model.
type Spec struct {
	// Name is how requests call the model, and Aliases are further names. No two models share one. The alias AnyName stands for every name that
	// no model has.
	Name    string
	Aliases []string
	// Load loads the model when it is asked for; it should return soon after ctx has ended, which happens when nobody waits for the model
	// any more. The registry closes the model. It may be called again after the model was given back, but never while an
	// earlier call runs or the model of an earlier call is open.
	Load func(ctx context.Context) (*llama.Model, error)
	// Loaded is a model that is loaded already, in place of Load. It is never given back, and the caller closes it, after the registry.
	Loaded *llama.Model
	// Inspect reads what a model's files say, for Describe, without loading it; nil: nothing is known before it was loaded once.
	Inspect func() (*llama.Report, error)
	// Bytes is what loading the model takes, for the budget, before it is known. 0: it is taken to be nothing until the model was
	// loaded once; if there was no room then, the model is given back and loaded again when there is.
	Bytes int64
	// Adapter is that of the model's answers, with its scale; nil: the pool's. The model must be Loaded then.
	Adapter      *llama.Adapter
	AdapterScale float32
	// Pool are the options of the model's pool. Specs with the same Loaded have one pool, with the options of the first and room for the answers
	// of all. If MaxSessions is 0, it becomes the number of places of the queue. If MaxBytes is 0, it becomes the size of the weights, at least 256 MiB, and at most llama's own
	// choice. With a budget, it is at most the rest that the weights leave of it.
	Pool llama.PoolOptions
	// Draft is handed on with the model; nil: no drafter.
	Draft llama.Drafter
}

// AnyName is the alias of the model that has every name which no other model has.
const AnyName = "*"

// Options describe a registry.
type Options struct {
	// Budget bounds the memory of all loaded models together, in bytes: their weights, caches, workspaces and constraints, see
	// llama.Model.MemoryUsage.
	// It is looked at when a model is to be loaded and whenever one is leased or given back; meanwhile the pools bound the memory of
	// answers. Models that were given loaded count with what they take when New is called. 0: no bound.
	Budget int64
	// Places is how many answers of one model are computed at once: the places of its queue. 0: the MaxSessions of the spec's pool. If that
	// is 0 too, 32: one pass through a model computes that many rows unless llama.LoadOptions.MaxBatch says otherwise.
	Places int
	// Waiting is how many answers of one model may wait for a place. 0: 8 for each place, but at least 64. For a model that is not
	// loaded as many requests may wait as it has places and room for others to wait.
	Waiting int
	// PlainSampling says that nothing that models' authors recommend counts, so that the log need not have it.
	PlainSampling bool
	// Logger logs each load and each model given back; nil: silent.
	Logger *slog.Logger
}

// The defaults of Options.
const (
	defaultPlaces    = 32
	waitingPerPlace  = 8
	leastWaitingRoom = 64
)

// Registry keeps models by name. The methods are safe for any number of goroutines.
type Registry struct {
	// None of these changes after New.
	cache   *cache
	created time.Time
	entries []*entry // in the order of the specs
	byName  map[string]*entry
}

// entry is one model of a registry. It never changes.
type entry struct {
	spec  Spec
	slot  *slot
	queue *queue.Queue
	log   *slog.Logger
	plain bool // Options.PlainSampling

	context atomic.Int64               // Status.Context, as soon as it is known
	kind    atomic.Pointer[llama.Kind] // of the model, as soon as it is known
	memo    memo                       // of its facts
}

// New makes a registry. It loads nothing. It returns an error if there is no spec; if a spec has no name, another spec's name, or not
// exactly one of Load and Loaded; if a figure is negative; or if the models that are loaded already take more than the budget.
func New(specs []Spec, o Options) (*Registry, error) {
	switch {
	case len(specs) == 0:
		return nil, errors.New("no model is given: at least one is needed")
	case o.Budget < 0 || o.Places < 0 || o.Waiting < 0:
		return nil, fmt.Errorf("the Budget is %d, Places %d, Waiting %d: none may be negative", o.Budget, o.Places, o.Waiting)
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	r := &Registry{created: time.Now(), byName: make(map[string]*entry)}
	shared := newPools(specs)
	for i, spec := range specs {
		if err := r.add(i, spec, o, shared); err != nil {
			return nil, errors.Join(err, r.closePools())
		}
	}
	slots := make([]*slot, len(r.entries))
	for i, e := range r.entries {
		slots[i] = e.slot
	}
	var err error
	if r.cache, err = newCache(o.Budget, slots, o.Logger); err != nil {
		return nil, errors.Join(err, r.closePools())
	}
	return r, nil
}

// add adds the model of a spec, the i-th one.
func (r *Registry) add(i int, spec Spec, o Options, shared pools) error {
	spec.Aliases = slices.Clone(spec.Aliases)
	e := &entry{spec: spec, log: o.Logger, plain: o.PlainSampling}
	for _, name := range append([]string{spec.Name}, spec.Aliases...) {
		switch other := r.byName[name]; {
		case name == "" && name == spec.Name:
			return fmt.Errorf("the model at %d has no name", i)
		case name == "":
			return fmt.Errorf("an alias of %q is empty", spec.Name)
		case other == e:
			return fmt.Errorf("the model %q has the name %q twice", spec.Name, name)
		case other != nil:
			return fmt.Errorf("the models %q and %q have the name %q both", other.spec.Name, spec.Name, name)
		}
		r.byName[name] = e
	}
	switch {
	case spec.Load == nil && spec.Loaded == nil:
		return fmt.Errorf("the model %q has neither Load nor Loaded", spec.Name)
	case spec.Load != nil && spec.Loaded != nil:
		return fmt.Errorf("the model %q has both Load and Loaded", spec.Name)
	case spec.Load != nil && (spec.Adapter != nil || spec.Pool.Session.Adapter != nil):
		return fmt.Errorf("the model %q has an adapter and Load: adapters are for models that are Loaded", spec.Name)
	case spec.Bytes < 0:
		return fmt.Errorf("the model %q takes %d bytes: that must not be negative", spec.Name, spec.Bytes)
	}
	places := cmp.Or(o.Places, spec.Pool.MaxSessions, defaultPlaces)
	waiting := cmp.Or(o.Waiting, max(waitingPerPlace*places, leastWaitingRoom))
	e.queue = queue.New(places, waiting)
	e.slot = &slot{name: spec.Name, size: spec.Bytes, maxWaiters: places + waiting}
	if spec.Loaded == nil {
		e.slot.load = e.withNotes(loader(spec, places, o.Budget))
	} else {
		m, err := prepare(spec, spec.Loaded, places, math.MaxInt64, shared[spec.Loaded])
		if err != nil {
			return fmt.Errorf("the model %q: %w", spec.Name, err)
		}
		e.slot.resource = m
		e.note(m)
	}
	r.entries = append(r.entries, e)
	return nil
}

// withNotes returns load with a note of what List says also while the model is not loaded. It logs what the model's conversations may take.
func (e *entry) withNotes(load func(context.Context) (resource, error)) func(context.Context) (resource, error) {
	return func(ctx context.Context) (resource, error) {
		t, err := load(ctx)
		if err == nil {
			m := t.(*model)
			e.note(m)
			if m.pool != nil {
				e.log.Info("conversations of a model stay cached", "model", e.spec.Name, "max_bytes", m.pool.Stats().MaxBytes)
			}
		}
		return t, err
	}
}

// note keeps what List and Describe say of a model also while it is not loaded.
func (e *entry) note(m *model) {
	kind := m.model.Kind()
	e.context.Store(int64(m.context))
	e.kind.Store(&kind)
	e.memo.set(factsOf(m.model, m.context, m.fingerprint))
	if p := m.model.Sampling(); !e.plain && m.model.HasSampling() {
		e.log.Info("tokens are drawn as the model's files recommend, unless requests say otherwise", "model", e.spec.Name, "temperature", p.Temperature,
			"top_p", p.TopP, "top_k", p.TopK, "min_p", p.MinP, "repeat_penalty", p.RepeatPenalty)
	}
}

// closePools gives back what a New that failed has made.
func (r *Registry) closePools() error {
	var errs []error
	for _, e := range r.entries {
		if e.slot.resource != nil {
			errs = append(errs, e.slot.resource.close())
		}
	}
	return errors.Join(errs...)
}

// Lease is a model that is in use: it is not closed before Close is called.
type Lease struct {
	Name        string // the spec's, whichever of its names was asked for
	Model       *llama.Model
	Pool        *llama.Pool   // nil: the model's Kind is not llama.Generator
	Queue       *queue.Queue  // who may compute when; it outlives the lease, and counts what all leases of the model did
	Draft       llama.Drafter // nil: no drafter
	Fingerprint string        // llama.Model.Fingerprint's, with the adapter's if there is one
	Context     int           // tokens that a conversation, or a text to embed, may have; 0: no bound

	// Adapter is that of the answers; nil: they have no adapter.
	Adapter      *llama.Adapter
	AdapterScale float32

	session llama.SessionOptions // of the pool
	shelf   *cache
	slot    *slot
	done    atomic.Bool
}

// Embed is llama.Model.EmbedWith, with the adapter that the pool's sessions have.
func (l *Lease) Embed(ctx context.Context, o llama.EmbedOptions, texts ...string) ([][]float32, error) {
	a := l.Adapter
	switch {
	case a == nil:
		return l.Model.EmbedWith(ctx, o, texts...)
	case o != llama.EmbedOptions{}:
		return nil, fmt.Errorf("%w: with an adapter vectors have all dimensions and no task", llama.ErrUnsupported)
	}
	return a.Embed(ctx, l.Model, l.AdapterScale, texts...)
}

// Rerank is llama.Model.Rerank. For a model with an adapter it is an error.
func (l *Lease) Rerank(ctx context.Context, query string, documents ...string) ([]float32, error) {
	if l.Adapter != nil {
		return nil, fmt.Errorf("%w: scores of documents with an adapter", llama.ErrUnsupported)
	}
	return l.Model.Rerank(ctx, query, documents...)
}

// Classify is llama.Model.Classify, with long texts in windows if long says so, or, with second texts, ClassifyPairs. For a model with an adapter it is an error.
func (l *Lease) Classify(ctx context.Context, long llama.Windows, texts, seconds []string) ([][]llama.Label, error) {
	switch {
	case l.Adapter != nil:
		return nil, errLabels
	case seconds == nil:
		return long.Classify(ctx, l.Model, texts...)
	}
	pairs := make([][2]string, len(texts))
	for i, text := range texts {
		pairs[i] = [2]string{text, seconds[i]}
	}
	return l.Model.ClassifyPairs(ctx, pairs...)
}

// Entities is llama.Model.Entities, joined in a way. For a model with an adapter it is an error.
func (l *Lease) Entities(ctx context.Context, join llama.Joining, text string) ([]llama.Entity, error) {
	if l.Adapter != nil {
		return nil, errLabels
	}
	return join.Entities(ctx, l.Model, text)
}

var errLabels = fmt.Errorf("%w: labels by a model with an adapter", llama.ErrUnsupported)

// NewSession returns a session with the options of the pool's, and the adapter, outside the pool. The caller closes it before the lease.
func (l *Lease) NewSession() (*llama.Session, error) {
	o := l.Session()
	return l.Model.NewSession(&o)
}

// Session returns the options of the pool's sessions, with the adapter.
func (l *Lease) Session() llama.SessionOptions {
	o := l.session
	o.Adapter, o.AdapterScale = l.Adapter, l.AdapterScale
	return o
}

// Close gives the model back. It is idempotent, and may be called from any goroutine.
func (l *Lease) Close() {
	if l.done.CompareAndSwap(false, true) {
		l.shelf.release(l.slot)
	}
}

// Lease returns the model that has a name or an alias, and loads it if it is not loaded. The caller closes the lease as soon as the model
// is not needed any more, and does not ask for another one before that: two callers that each hold a model and wait for the other's would
// wait for ever.
//
// However many ask at the same time, a model is loaded once. When ctx ends, Lease returns its cause; when nobody waits any more, the load
// is cancelled. The error of a load that failed goes to all who waited for it, and the next request tries again. Other errors are
// *UnknownError, *TooLargeError, *queue.FullError if too many wait for the model already, and ErrClosed after Close.
func (r *Registry) Lease(ctx context.Context, name string) (*Lease, error) {
	e := r.find(name)
	if e == nil {
		known := make([]string, len(r.entries))
		for i, e := range r.entries {
			known[i] = e.spec.Name
		}
		return nil, &UnknownError{name, known}
	}
	t, err := r.cache.acquire(ctx, e.slot)
	if err != nil {
		return nil, err
	}
	m := t.(*model)
	adapter, scale := e.spec.adapter()
	return &Lease{
		Adapter: adapter, AdapterScale: scale,
		Name: e.spec.Name, Model: m.model, Pool: m.pool, Queue: e.queue, Draft: e.spec.Draft, Fingerprint: m.fingerprint, Context: m.context,
		session: e.spec.Pool.Session, shelf: r.cache, slot: e.slot,
	}, nil
}

// Only returns the name of the only model that there is, "" if there are several.
func (r *Registry) Only() string {
	if len(r.entries) == 1 {
		return r.entries[0].spec.Name
	}
	return ""
}

// latest is the tag that names may have, as Ollama's programs write them: "flint:latest" is "flint".
const latest = ":latest"

// find returns the model with a name or an alias, with or without the tag, or nil.
func (r *Registry) find(name string) *entry {
	if e := r.byName[name]; e != nil {
		return e
	}
	if bare, tagged := strings.CutSuffix(name, latest); tagged && r.byName[bare] != nil {
		return r.byName[bare]
	}
	if name == "" {
		return nil
	}
	return r.byName[AnyName]
}

// Find returns the status of the model of a name or an alias.
func (r *Registry) Find(name string) (s Status, known bool) {
	e := r.find(name)
	if e == nil {
		return Status{}, false
	}
	return r.status(e), true
}

// Unload gives the model of a name or an alias back as soon as nobody uses it, and nobody waits for it. It does not wait for that. It
// reports false if there is no such model, or if the model is never given back.
func (r *Registry) Unload(name string) bool {
	e := r.find(name)
	if e == nil || e.slot.load == nil {
		return false
	}
	r.cache.unload(e.slot)
	return true
}

// Status describes one model of a registry.
type Status struct {
	Name    string
	Aliases []string
	Loaded  bool
	Created time.Time       // when the registry was made
	InUse   int             // leases that are open
	Memory  llama.Memory    // 0 while it is not loaded
	Bytes   int64           // of Memory: weights, caches, workspaces and constraints
	Size    int64           // what loading it takes, as far as that is known: what the last load took, or Spec.Bytes
	Context int             // tokens that a conversation, or a text to embed, may have; 0 if there is no bound, and until the model was loaded once
	Kind    *llama.Kind     // nil until the model was loaded once
	Pool    llama.PoolStats // of the pool since the model was loaded; zero while it is not
	Queue   queue.Stats     // since the registry was made
}

// Named is a name that requests may use, and the status of its model.
type Named struct {
	Name string
	Status
}

// Names returns all names that requests may use, those of models first, but for AnyName.
func (r *Registry) Names() (all []Named) {
	list := r.List()
	for _, s := range list {
		all = append(all, Named{s.Name, s})
	}
	for _, s := range list {
		for _, alias := range s.Aliases {
			if alias != AnyName {
				all = append(all, Named{alias, s})
			}
		}
	}
	return all
}

// List returns the status of all models, in the order of the specs.
func (r *Registry) List() []Status {
	list := make([]Status, len(r.entries))
	for i, e := range r.entries {
		list[i] = r.status(e)
	}
	return list
}

// status returns the status of a model.
func (r *Registry) status(e *entry) Status {
	s := Status{
		Name: e.spec.Name, Aliases: slices.Clone(e.spec.Aliases), Created: r.created, Context: int(e.context.Load()), Kind: e.kind.Load(), Queue: e.queue.Stats(),
	}
	var t resource
	t, s.InUse, s.Size = r.cache.peek(e.slot)
	if m, ok := t.(*model); ok { // it may be closed meanwhile, and then has its last figures
		s.Loaded, s.Memory = true, m.model.MemoryUsage()
		s.Bytes = counted(s.Memory)
		if m.pool != nil {
			s.Pool = m.pool.Stats()
		}
	}
	return s
}

// Close closes the registry. Those who wait for a model, and those who ask from then on, get ErrClosed. It waits until all leases are
// closed; when ctx ends before that, it sends away who waits in the queues, and closes pools and models even so: answers that are being
// computed end with an error, and Close returns one that wraps the context's cause. Models that were given loaded stay open. Close is
// idempotent.
func (r *Registry) Close(ctx context.Context) error {
	err := r.cache.drain(ctx)
	if err != nil {
		err = fmt.Errorf("closed while some were in use: %w", err)
	}
	for _, e := range r.entries {
		e.queue.Close()
	}
	return errors.Join(err, r.cache.closeAll())
}
