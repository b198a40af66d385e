package llama

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/kvcache"
)

// Migration tells of a session's move to another device.
type Migration struct {
	From, To string        // the backends' names
	Position int           // of the next token
	Bytes    int64         // of keys and values
	Duration time.Duration // in which no token was computed
}

// Move lets another Model compute the rest of the conversation: the same weights, loaded on another device. The caller makes
// sure that they are the same; Move only compares the configurations, and returns an error that wraps ErrStateMismatch where
// they differ. Nothing is lost, repeated or computed again: the cache's slots move with their positions and the records of the
// eviction policy; sampling, penalties and stop strings go on as they were. The context is looked at between layers. When it
// ends or the move fails, the session goes on where it was, and nothing stays allocated on the other device.
//
// Move may be called between two calls or inside the loop of one, where it takes effect with the next token; elsewhere while a
// call is computing the error is ErrBusy. Moving to the model that the session is on does nothing.
//
// If the device that the session was moved to fails later, be it in computing tokens, in an eviction or in Truncate, the
// session goes back to the model that it came from, once, by itself, and does there what the device failed to do; so close
// the model that it came from only after the session. The cache is copied if the device can still be read, and otherwise computed
// anew from the tokens. That is not possible where tokens were evicted: the error then says so, and the session can begin anew
// with Truncate(0).
//
// A session with an adapter takes it along: its matrices are copied to the other device when the first session brings them there.
//
// Logits after a move are those of the new device. Where both devices give the reference's bits (backend.BitExact), as CPUs and
// NVIDIA's GPUs do, neither the answer nor a saved state depends on whether and when the session moved.
func (s *Session) Move(ctx context.Context, to *Model) (Migration, error) {
	if to == nil {
		return Migration{}, &ParamError{"Move's model", nil, "one that was loaded on the other device"}
	}
	if !s.callMu.TryLock() {
		return Migration{}, ErrBusy
	}
	defer s.callMu.Unlock()
	c, err := s.lock()
	if err != nil {
		return Migration{}, err
	}
	defer s.unlock()
	if to == c.model {
		return Migration{}, nil
	}
	from := c.model
	err = c.settle()
	var m Migration
	if err == nil {
		m, err = c.move(ctx, to, c.copyCaches)
	}
	if err != nil {
		return Migration{}, fmt.Errorf("move a session of %d tokens from %s to %s: %w", len(c.tokens), from.device.Name(), to.device.Name(), err)
	}
	s.tokenTime = average{}
	c.tellMove(m, nil)
	return m, nil
}

// tellMove tells the Trace of a move that is just over, and of why it was necessary.
func (c *sequence) tellMove(m Migration, because error) {
	if c.trace.Move != nil {
		c.trace.Move(MoveInfo{c.number, precise.Now().Add(-m.Duration), m, because})
	}
}

// filler fills caches, which are empty and lie on to's device, with what the sequence's caches hold.
type filler func(ctx context.Context, to *Model, caches []*kvcache.Cache) error

// move is Move with a choice of how the new caches are filled.
func (c *sequence) move(ctx context.Context, to *Model, fill filler) (Migration, error) {
	if a, b := c.model.Config(), to.Config(); !reflect.DeepEqual(a, b) {
		return Migration{}, fmt.Errorf("%w: its configuration differs", ErrStateMismatch)
	}
	began := precise.Now()
	if err := to.register(c.self); err != nil { // from here on to.Close closes this session too, and so waits for the lock
		return Migration{}, err
	}
	adapter, err := c.adapterOn(ctx, to)
	var caches []*kvcache.Cache
	if err == nil {
		caches, err = c.newCaches(to)
	}
	if err == nil {
		if err = fill(ctx, to, caches); err != nil {
			freeCaches(caches)
		}
	}
	if err != nil {
		to.unregister(c.self)
		return Migration{}, err
	}
	if c.logits.at == onDevice && c.logits.read(c.model.device) != nil {
		c.logits.at = nowhere // the last token is computed again when its logits are wanted
	}
	from := c.model
	from.unregister(c.self)
	c.free() // an error would be that of a device which the sequence leaves, and is of no use to the caller
	c.origin, c.model, c.adapter, c.latest = from, to, adapter, 0
	c.setCaches(caches)
	if c.job.member {
		from.batch.leave(&c.job)
		to.batch.join(&c.job)
	}
	to.batch.want(c.options.Chunk)
	c.countCache()
	return Migration{
		From: from.device.Name(), To: to.device.Name(), Position: len(c.tokens), Bytes: c.usage.Bytes, Duration: precise.Since(began),
	}, nil
}

// copyCaches copies the sequence's slots and records into caches.
func (c *sequence) copyCaches(ctx context.Context, _ *Model, caches []*kvcache.Cache) error {
	for i, cache := range c.caches {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyState(cache.WriteState, caches[i].ReadState); err != nil {
			return layerError(i, err)
		}
	}
	return nil
}

// computeCaches fills caches by computing the sequence's tokens anew, none of which may have been evicted.
func (c *sequence) computeCaches(ctx context.Context, to *Model, caches []*kvcache.Cache) error {
	adapter, err := c.adapterOn(ctx, to)
	if err != nil {
		return err
	}
	j := job{ctx: ctx, caches: caches, long: c.job.long, adapter: adapter, scale: c.options.AdapterScale}
	for j.start < len(c.tokens) {
		j.tokens = c.tokens[j.start:]
		if err := to.batch.run(&j); err != nil {
			return err
		}
		j.start += j.rows
	}
	return nil
}

// copyState passes what write writes to read, through a pipe, without holding it all in memory.
func copyState(write func(io.Writer) error, read func(io.Reader) error) error {
	r, w := io.Pipe()
	done := make(chan error)
	go func() {
		err := parallel.Call(func() error { return write(w) })
		w.CloseWithError(err)
		done <- err
	}()
	err := read(r)
	r.CloseWithError(err)
	if failed := <-done; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return failed
	}
	return err
}
