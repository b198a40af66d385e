package llama

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"
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
// stop strings stay where they are. When the move fails or its context ends, the session goes on where it was.
//
// Move may be called between two calls or inside the loop of one, where it takes effect with the next token; elsewhere while a
// call is computing the error is ErrBusy. To move to where the session is does nothing.
//
// If the device that the session was moved to fails later, the session goes back to the model that it came from, once, by
// itself: close that only when the session is done. Logits after a move are those of the new device: equal bit for bit
// between CPUs, within rounding otherwise.
func (s *Session) Move(ctx context.Context, to *Model) (Migration, error) {
	if to == nil {
		return Migration{}, errors.New("llama: move a session to a nil model: Load one for the other device")
	}
	if !s.turn.TryLock() {
		return Migration{}, ErrBusy
	}
	defer s.turn.Unlock()
	if err := s.hold(); err != nil {
		return Migration{}, err
	}
	defer s.compute.Unlock()
	m, err := s.move(ctx, to, s.copyCaches)
	if err != nil {
		return Migration{}, fmt.Errorf("llama: move a session of %d tokens from %s to %s: %w", len(s.tokens), s.model.device.Name(), to.device.Name(), err)
	}
	return m, nil
}

// filler makes caches on a model's device what the session's are.
type filler func(ctx context.Context, to *Model, moved *memory) error

// move is Move with compute held.
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
	s.model.unregister(s)
	s.memory.free() // of a failed device too; its errors have been seen
	s.origin, s.model, s.memory, s.tokenTime = s.model, to, moved, average{}
	s.workspaceBytes.Store(s.ws.bytes)
	return Migration{
		From: s.origin.device.Name(), To: to.device.Name(), Position: s.position, Bytes: s.countCache(), Duration: time.Since(began),
	}, nil
}

// copyCaches copies them.
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

// computeCaches computes them anew from the tokens, none of which may have been evicted.
func (s *Session) computeCaches(ctx context.Context, to *Model, moved *memory) error {
	for at := 0; at < len(s.tokens); at += moved.ws.chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := to.forward(moved.ws, s.tokens[at:min(at+moved.ws.chunk, len(s.tokens))], at, moved.caches); err != nil {
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
		err := write(w)
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

// forward computes a chunk; when a device fails that the session was moved to, it is computed where the session came from.
func (s *Session) forward(t []Token) error {
	err := s.model.forward(s.ws, t, s.position, s.caches)
	if err == nil || s.origin == nil {
		return err
	}
	if err := s.goBack(err); err != nil {
		return err
	}
	return s.model.forward(s.ws, t, s.position, s.caches)
}

// lastLogits computes the logits of a row of the last chunk, its last. When a device fails that the session was moved to, the
// token is computed again where the session came from.
func (s *Session) lastLogits(row int) error {
	err := s.model.logits(s.ws, row, row+1, s.logits)
	if err == nil || s.origin == nil {
		return err
	}
	if err := s.goBack(err); err != nil {
		return err
	}
	last := s.tokens[len(s.tokens)-1:]
	if err := s.forget(len(s.tokens) - 1); err != nil {
		return err
	}
	if err := s.model.forward(s.ws, last, s.position, s.caches); err != nil {
		return err
	}
	s.tokens = append(s.tokens, last...)
	s.position++
	s.countCache()
	return s.model.logits(s.ws, 0, 1, s.logits)
}

// goBack moves the session to where it came from, because of an error.
func (s *Session) goBack(because error) error {
	back := s.origin
	_, err := s.move(context.Background(), back, s.copyCaches)
	if err != nil && s.evicted == 0 { // the device does not even give the cache back
		_, err = s.move(context.Background(), back, s.computeCaches)
	}
	if err != nil {
		return errors.Join(because, fmt.Errorf("llama: going back to %s failed too: %w", back.device.Name(), err))
	}
	s.origin = nil
	s.setbacks = append(s.setbacks, because)
	return nil
}

// Setbacks returns the errors of devices that the session came back from; see Move.
func (s *Session) Setbacks() []error { return slices.Clone(s.setbacks) }

// average follows a duration that changes slowly.
type average struct {
	mean  time.Duration
	count int
}

// averageOf is about how many values count.
const averageOf = 8

func (a *average) add(d time.Duration) {
	if a.count < averageOf {
		a.count++
	}
	a.mean += (d - a.mean) / time.Duration(a.count)
}
