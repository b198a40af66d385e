package llama

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
)

// Migration describes a session's move to another device.
type Migration struct {
	From, To string        // the backends' names; of a model on several, all of them: "cpu+opencl"
	Position int           // of the next token
	Bytes    int64         // of keys and values
	Duration time.Duration // in which no token was computed
}

// Move lets another Model compute the rest of the conversation: the same weights, loaded on another device. The caller makes sure that they
// are the same; Move only compares the configurations, and returns an error that wraps ErrStateMismatch if they differ. Nothing is lost,
// repeated or computed again: the cache's slots move with their positions and the records of the eviction policy; sampling, penalties and
// stop strings go on as they were. The context is looked at between layers. When it ends or the move fails, the session stays on its
// device, and nothing stays allocated on the other device.
//
// Move may be called between two calls or inside the loop of one, and then takes effect with the next token. Elsewhere while a call is
// computing the error is ErrBusy. Moving to the model that the session is on does nothing.
//
// If the device that the session was moved to fails later, be it in computing tokens, in an eviction or in Truncate, the session goes back
// to the model that it came from, once, by itself, and does there what the device failed to do; so close the model that it came from only
// after the session. The cache is copied if the device can still be read, and otherwise computed anew from the tokens. That is not possible
// if tokens were evicted: the error then says so, and the session can begin anew with Truncate(0).
//
// A session with an adapter takes it along: its matrices are copied to the other device when the first session brings them there.
//
// Logits after a move are those of the new device. If both devices give the reference's bits (backend.BitExact), as CPUs and NVIDIA's GPUs
// do, neither the answer nor a saved state depends on whether and when the session moved.
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
		m, err = c.move(ctx, to, copyMemory)
	}
	if err != nil {
		return Migration{}, fmt.Errorf("move a session of %d tokens from %s to %s: %w", len(c.tokens), from.devices.name(), to.devices.name(), err)
	}
	s.call.tokenTime = precise.Average{}
	c.trace.move(c, m, nil)
	return m, nil
}

// filler fills a memory, which is empty and lies on to's device, with what the sequence's memory holds.
type filler func(ctx context.Context, c *sequence, to *Model, memory *engine.Memory) error

// move is Move with a choice of how the new memory is filled.
func (c *sequence) move(ctx context.Context, to *Model, fill filler) (Migration, error) {
	if a, b := c.model.Config(), to.Config(); !reflect.DeepEqual(a, b) {
		return Migration{}, fmt.Errorf("%w: its configuration differs", ErrStateMismatch)
	}
	began := precise.Now()
	if err := to.register(c.self); err != nil { // from here on to.Close closes this session too, and so waits for the lock
		return Migration{}, err
	}
	adapter, err := c.options.adapterOn(ctx, to)
	var memory *engine.Memory
	if err == nil {
		memory, err = c.newMemory(to, c.job.Long)
	}
	if err == nil {
		if err = fill(ctx, c, to, memory); err != nil {
			memory.Free()
		}
	}
	if err != nil {
		to.unregister(c.self)
		return Migration{}, err
	}
	if c.logits.At == engine.OnDevice && c.logits.Read(c.model.weights) != nil {
		c.logits.At = engine.Nowhere // the last token is computed again when its logits are wanted
	}
	from := c.model
	from.unregister(c.self)
	c.free() // an error would be that of a device which the sequence leaves, and is of no use to the caller
	c.origin, c.model, c.adapter, c.memory, c.latest = from, to, adapter, memory, 0
	_ = c.following.want(c, c.following.wanted) // if there is no memory, nothing is proposed
	if c.job.Answering() {
		from.batch.Leave(&c.job)
		to.batch.Join(&c.job)
	}
	to.batch.Want(c.options.Chunk)
	c.count()
	return Migration{
		From: from.devices.name(), To: to.devices.name(), Position: len(c.tokens), Bytes: c.usage.Bytes, Duration: precise.Since(began),
	}, nil
}

// copyMemory copies the sequence's slots and records.
func copyMemory(ctx context.Context, c *sequence, _ *Model, memory *engine.Memory) error {
	return c.memory.CopyTo(ctx, memory)
}

// computeMemory computes the sequence's tokens anew. None of them may have been evicted.
func computeMemory(ctx context.Context, c *sequence, to *Model, memory *engine.Memory) error {
	adapter, err := c.options.adapterOn(ctx, to)
	if err != nil {
		return err
	}
	j := engine.Job{Request: engine.Request{Context: ctx, Memory: memory, Long: c.job.Long, Adapter: adapter, Scale: c.options.AdapterScale}}
	j.Spans = c.images.spans
	for j.Start < len(c.tokens) {
		j.Tokens = toInt32(c.tokens[j.Start:])
		if err := to.batch.Run(&j); err != nil {
			return err
		}
		j.Start += j.Rows
	}
	return nil
}
