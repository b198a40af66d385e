package llama

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
)

// poolTexts pools the states of texts by a model that reads them as a whole.
func (e *embedding) poolTexts(ctx context.Context, texts [][]Token) ([]pooled, error) {
	if !isAdapterScale(e.scale) {
		return nil, &ParamError{"the adapter's scale", e.scale, wantAdapterScale}
	}
	w := whole{model: e.model, skip: e.skip, texts: texts, types: e.types, seen: e.seen, scale: cmp.Or(e.scale, 1)}
	if a := e.adapter; a != nil {
		if err := a.begin(); err != nil {
			return nil, err
		}
		defer a.texts.Done()
		var err error
		if w.adapter, err = a.weightsOn(ctx, e.model); err != nil {
			return nil, err
		}
	}
	return w.pooled(ctx)
}

// begin counts texts that are computed with the adapter, for which Close waits; a.texts.Done ends them.
func (a *Adapter) begin() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return fmt.Errorf("the adapter: %w", ErrClosed)
	}
	a.texts.Add(1)
	return nil
}

// whole is texts that a model reads as a whole, each in one pass, with as many others as there is room for.
type whole struct {
	model   *Model
	skip    int // how many tokens of each text do not count when states are pooled
	texts   [][]Token
	types   [][]int32       // of the tokens; nil: all 0
	seen    []int           // how many of the first tokens of each text are seen; nil: all
	adapter *engine.Adapter // nil: no adapter
	scale   float32
}

// pooled computes the texts and pools their states.
func (w *whole) pooled(ctx context.Context) ([]pooled, error) {
	m := w.model
	ctx, end, err := m.working.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	all, jobs := make([]pooled, len(w.texts)), make([]*engine.Job, len(w.texts))
	pooling := poolings(m)
	for i, tokens := range w.texts {
		all[i] = newPooled(m, w.skip)
		j := &engine.Job{Request: engine.Request{Context: ctx, Tokens: toInt32(tokens), Adapter: w.adapter, Scale: w.scale, Output: all[i].output(m)}}
		if len(pooling) == 1 && pooling[0] == model.FirstPooling && w.skip == 0 {
			j.Output.Rows = 1
		}
		if w.types != nil {
			j.Types = w.types[i]
		}
		if w.seen != nil {
			j.Seen = w.seen[i]
		}
		jobs[i] = j
	}
	if err := m.batch.RunAll(jobs...); err != nil {
		if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), ErrClosed) {
			err = ErrClosed
		}
		return nil, fmt.Errorf("compute %d texts: %w", len(w.texts), err)
	}
	return all, nil
}

// working is the calls that compute texts without a session: closing a model stops them, and waits for them.
type working struct {
	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	stop   context.Context
	cancel context.CancelFunc
}

// begin counts a call until end. The context that it returns ends with ErrClosed as its cause when the model is closed.
func (w *working) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, nil, ErrClosed
	}
	if w.stop == nil {
		w.stop, w.cancel = context.WithCancel(context.Background())
	}
	w.calls.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(w.stop, func() { cancel(ErrClosed) })
	return ctx, func() {
		forget()
		cancel(nil)
		w.calls.Done()
	}, nil
}

// close stops the calls and waits for them.
func (w *working) close() {
	w.mu.Lock()
	w.closed = true
	if w.cancel != nil {
		w.cancel()
	}
	w.mu.Unlock()
	w.calls.Wait()
}
