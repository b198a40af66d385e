package llama

import (
	"context"
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/tensor"
)

// SwitchOptions say where a session is to go, and when.
type SwitchOptions struct {
	// Load makes the same model on the other device, in the background: opening the device, compiling its programs and copying
	// weights to it. The context, which is for LoadContext, ends with the Switch. The Switch closes the model.
	Load func(ctx context.Context) (*Model, error)
	// Threshold is the position from which on to move; 0 means as soon as it pays: when what the other device saves on Expect
	// further tokens, by the rates measured, is more than the move costs. With a threshold, rates do not matter.
	Threshold int
	// Expect is how many further tokens a conversation is assumed to have; 0: 128.
	Expect int
	// Warmup is how many tokens the other device computes beforehand, to be ready and to be measured; 0: 8.
	Warmup int
}

// Switch moves a session to another device while it answers. It begins to load there at once, and Watch moves the session
// between two tokens when the other device is ready and the move pays; whatever goes wrong, the session goes on where it is.
// Except for Report, its methods are for the goroutine that uses the session.
type Switch struct {
	session *Session
	options SwitchOptions
	cancel  context.CancelFunc
	ready   chan struct{} // closed when the model below is there, or has failed
	model   *Model
	token   time.Duration // of computing one token there

	mu     sync.Mutex
	report SwitchReport
}

// SwitchReport tells how a Switch decided.
type SwitchReport struct {
	Ready     bool          // the other device is there
	Load      time.Duration // loading and warming up took
	Here      time.Duration // a token, on the first device
	There     time.Duration // a token, on the other
	Threshold int           // tokens from which on a move pays; math.MaxInt: never, since the other device is not faster
	Moved     bool
	Migration Migration
	Err       error // why there is no other device, or why the move failed
}

// String sums up in a line.
func (r SwitchReport) String() string {
	switch {
	case r.Err != nil:
		return fmt.Sprintf("no switch: %v", r.Err)
	case r.Moved:
		return fmt.Sprintf("%s → %s at position %d: %d bytes of cache in %v; loaded in %v; a token took %v and takes %v",
			r.Migration.From, r.Migration.To, r.Migration.Position, r.Migration.Bytes, r.Migration.Duration.Round(time.Millisecond),
			r.Load.Round(time.Millisecond), r.Here.Round(time.Microsecond), r.There.Round(time.Microsecond))
	case !r.Ready:
		return "no switch: the other device was not ready"
	case r.Threshold == math.MaxInt:
		return fmt.Sprintf("no switch: the other device takes %v for a token, this one %v", r.There.Round(time.Microsecond), r.Here.Round(time.Microsecond))
	}
	return fmt.Sprintf("no switch: it pays from %d tokens on", r.Threshold)
}

// NewSwitch begins to load. Close it after the session.
func NewSwitch(ctx context.Context, s *Session, o SwitchOptions) (*Switch, error) {
	switch {
	case o.Load == nil:
		return nil, &ParamError{"SwitchOptions.Load", nil, "a function that loads the model on the other device"}
	case o.Threshold < 0 || o.Expect < 0 || o.Warmup < 0:
		return nil, &ParamError{"SwitchOptions", fmt.Sprintf("{Threshold: %d, Expect: %d, Warmup: %d}", o.Threshold, o.Expect, o.Warmup), "without negative numbers"}
	}
	if o.Expect == 0 {
		o.Expect = 128
	}
	if o.Warmup == 0 {
		o.Warmup = 8
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &Switch{session: s, options: o, cancel: cancel, ready: make(chan struct{})}
	go w.load(ctx, s.options.KV)
	return w, nil
}

// load makes the other model and warms it up.
func (w *Switch) load(ctx context.Context, kv tensor.DType) {
	defer close(w.ready)
	began := time.Now()
	err := parallel.Call(func() (err error) {
		if w.model, err = w.options.Load(ctx); err != nil {
			return err
		}
		w.token, err = w.model.warmUp(ctx, kv, w.options.Warmup)
		return err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Ready, w.report.Load, w.report.There, w.report.Err = err == nil, time.Since(began), w.token, err
}

// warmUp computes a short prompt and then single tokens, and returns what the faster half of these took on average.
func (m *Model) warmUp(ctx context.Context, kv tensor.DType, tokens int) (time.Duration, error) {
	s, err := m.NewSession(&SessionOptions{MaxTokens: min(tokens+16, m.config.ContextLength), KV: kv})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	prompt := make([]Token, min(16, m.config.ContextLength-1))
	if err := s.Prefill(ctx, prompt); err != nil {
		return 0, err
	}
	best := time.Duration(math.MaxInt64)
	for range min(tokens, m.config.ContextLength-len(prompt)) {
		began := time.Now()
		if err := s.Prefill(ctx, prompt[:1]); err != nil {
			return 0, err
		}
		if _, err := s.choose(); err != nil {
			return 0, err
		}
		best = min(best, time.Since(began))
	}
	return best, nil
}

// Watch passes the pieces of one of the session's answers on, and moves the session when its time has come.
func (w *Switch) Watch(ctx context.Context, pieces iter.Seq2[Piece, error]) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		for piece, err := range pieces {
			if !yield(piece, err) {
				return
			}
			if err == nil && piece.Stop == 0 {
				w.maybeMove(ctx)
			}
		}
	}
}

// Wait returns when the other device is ready or has failed, or with the context's error.
func (w *Switch) Wait(ctx context.Context) error {
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maybeMove moves the session if the other device is ready and it pays.
func (w *Switch) maybeMove(ctx context.Context) {
	select {
	case <-w.ready:
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.report
	if r.Err != nil || r.Moved {
		return
	}
	s := w.session
	if r.Here = s.tokenTime.mean; w.options.Threshold > 0 {
		r.Threshold = w.options.Threshold
		if len(s.tokens) < r.Threshold {
			return
		}
	} else {
		if s.tokenTime.count < 2 {
			return // not measured yet
		}
		if r.Threshold = w.worth(s); w.options.Expect < r.Threshold {
			return
		}
	}
	r.Migration, r.Err = s.Move(ctx, w.model)
	r.Moved = r.Err == nil
}

// worth returns the number of further tokens from which on a move pays.
func (w *Switch) worth(s *Session) int {
	saved := s.tokenTime.mean - w.token // by each token
	if saved <= 0 {
		return math.MaxInt
	}
	const fixed, perByte = 5 * time.Millisecond, time.Second / (1 << 30) // allocating; copying through the host at 1 GB/s
	cost := fixed + time.Duration(s.cacheBytes.Load())*perByte
	return int(cost/saved) + 1
}

// Report tells how things stand. It is safe to call at any time.
func (w *Switch) Report() SwitchReport {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.report
}

// Close ends the loading if it still goes on, and closes the other model.
func (w *Switch) Close() error {
	w.cancel()
	<-w.ready
	if w.model == nil {
		return nil
	}
	return w.model.Close()
}
