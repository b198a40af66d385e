package llama

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/antigravity-go/antigravity/internal/parallel"
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
	if err := s.lockOpen(); err != nil {
		return Migration{}, err
	}
	defer s.memoryMu.Unlock()
	m, err := s.moveLocked(ctx, to, s.copyCaches)
	if err != nil {
		return Migration{}, fmt.Errorf("move a session of %d tokens from %s to %s: %w", len(s.tokens), s.model.device.Name(), to.device.Name(), err)
	}
	return m, nil
}

// filler fills moved's caches, which are empty and lie on to's device, with what the session's caches hold.
type filler func(ctx context.Context, to *Model, moved *memory) error

// moveLocked is Move, with memoryMu held and a choice of how the new caches are filled.
func (s *Session) moveLocked(ctx context.Context, to *Model, fill filler) (Migration, error) {
	if to == s.model {
		return Migration{}, nil
	}
	if a, b := s.model.Config(), to.Config(); !reflect.DeepEqual(a, b) {
		return Migration{}, fmt.Errorf("%w: its configuration differs", ErrStateMismatch)
	}
	began := time.Now()
	if err := to.register(s); err != nil { // from here on to.Close closes this session too, and so waits for memoryMu
		return Migration{}, err
	}
	moved, err := s.allocate(to)
	if err == nil {
		if err = fill(ctx, to, &moved); err != nil {
			moved.free()
		}
	}
	if err != nil {
		to.unregister(s)
		return Migration{}, err
	}
	if s.logitsAt == onDevice && s.readLogits() != nil {
		s.logitsAt = nowhere // the last token is computed again when its logits are wanted
	}
	s.model.unregister(s)
	s.memory.free() // an error would be that of a device which the session leaves, and is of no use to the caller
	s.origin, s.model, s.memory, s.tokenTime = s.model, to, moved, average{}
	s.workspaceBytes.Store(s.ws.bytes)
	return Migration{
		From: s.origin.device.Name(), To: to.device.Name(), Position: len(s.tokens), Bytes: s.countCache(), Duration: time.Since(began),
	}, nil
}

// copyCaches copies the session's slots and records into the caches of moved.
func (s *Session) copyCaches(ctx context.Context, _ *Model, moved *memory) error {
	for i, c := range s.caches {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyState(c.WriteState, moved.caches[i].ReadState); err != nil {
			return fmt.Errorf("layer %d: %w", i, err)
		}
	}
	return nil
}

// computeCaches fills the caches of moved by computing the session's tokens anew, none of which may have been evicted.
func (s *Session) computeCaches(ctx context.Context, to *Model, moved *memory) error {
	for at := 0; at < len(s.tokens); at += moved.ws.chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := to.forward(ctx, moved.ws, s.tokens[at:min(at+moved.ws.chunk, len(s.tokens))], at, moved.caches); err != nil {
			return err
		}
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
