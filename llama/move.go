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

// Move lets another model compute the rest of the conversation: the same model, on another device. That it is the same is
// for the caller to see to; an error that wraps ErrStateMismatch comes only when the configurations differ. Nothing is lost,
// repeated or computed again: the cache moves with its positions, its record and whatever was evicted; sampling, penalties and
// stop strings stay where they are. The context is looked at between layers. When it ends or the move fails, the session
// goes on where it was, and nothing stays allocated on the other device.
//
// Move may be called between two calls or inside the loop of one, where it takes effect with the next token; elsewhere while a
// call is computing the error is ErrBusy. To move to where the session is does nothing.
//
// If the device that the session was moved to fails later, be it in computing tokens, in an eviction or in Truncate, the
// session goes back to the model that it came from, once, by itself, and does there what the device failed to do: close
// that model only when the session is done. The cache is copied if the device still gives it back whole, and else computed
// anew from the tokens. Where some of these were evicted that is not possible: the error says so, and the session can begin
// anew with Truncate(0).
//
// Logits after a move are those of the new device. Where both give the reference's bits (backend.BitExact), as CPUs and NVIDIA's
// GPUs do, it makes no difference to the answer, nor to a saved state, whether and when the session moved.
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
	m, err := s.move(ctx, to, s.copyCaches)
	if err != nil {
		return Migration{}, fmt.Errorf("move a session of %d tokens from %s to %s: %w", len(s.tokens), s.model.device.Name(), to.device.Name(), err)
	}
	return m, nil
}

// filler makes caches on a model's device what the session's are.
type filler func(ctx context.Context, to *Model, moved *memory) error

// move is Move, with memoryMu held.
func (s *Session) move(ctx context.Context, to *Model, fill filler) (Migration, error) {
	if to == s.model {
		return Migration{}, nil
	}
	if a, b := s.model.Config(), to.Config(); !reflect.DeepEqual(a, b) {
		return Migration{}, fmt.Errorf("%w: its configuration differs", ErrStateMismatch)
	}
	began := time.Now()
	if err := to.register(s); err != nil { // from here on its Close waits
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
	s.memory.free() // of a failed device too; its errors have been seen
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

// copyState lets one side read what the other writes.
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
