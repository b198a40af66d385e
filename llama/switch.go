package llama

import (
	"context"
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/tensor"
)

// A Switch loads the model on the other device on a goroutine of its own, computes some tokens there, and measures them. After each piece
// of an answer, maybeMove compares: a move costs some milliseconds and the copy of the cache, and each further token then saves the
// difference of the two devices' times. For example, a token takes 2 ms here and 1.9 ms there, and the cache is small:
//
//	NewSwitch    load begins; the answer goes on here
//	a piece      the other device is not ready: nothing happens
//	a piece      ready; the move costs 5 ms and saves 0.1 ms a token, so that it pays from 51 tokens on: worth returns 51
//	             51 ≤ Expect = 128: the session moves
//	a piece      Report has Moved set; nothing happens any more

// SwitchOptions say which device a session is to move to, and when.
type SwitchOptions struct {
	// Load makes the same model on the other device, in the background: opening the device, compiling its programs and copying
	// weights to it. The context, which is for LoadContext, ends with the Switch. The Switch closes the model.
	Load func(ctx context.Context) (*Model, error)
	// Threshold is the position from which on to move, whatever the devices' rates. 0 means as soon as the move pays: when the
	// time that the other device saves on Expect further tokens, by the rates measured, is more than the move takes.
	Threshold int
	// Expect is how many further tokens a conversation is assumed to have; 0: 128.
	Expect int
	// Warmup is how many tokens the other device computes beforehand, to be ready and to be measured; 0: 8.
	Warmup int
}

// Switch moves a session to another device while it answers. It loads the model there in the background, and Watch moves the session
// between two tokens when the other device is ready and the move pays. If anything fails, the session goes on on its first device. All
// methods but Report are for the goroutine that uses the session.
type Switch struct {
	// Invariants: only load writes model and tokenTime, before it closes ready, and the others read them only after that; model is nil if
	// SwitchOptions.Load failed. The session is moved once at most, and not after an error.

	session   *Session
	options   SwitchOptions // with the defaults filled in
	cancel    context.CancelFunc
	ready     chan struct{} // closed when loading and warming up are over, whether they succeeded or not
	model     *Model        // on the other device
	tokenTime time.Duration // the time that choosing a token and computing it takes on the other device

	mu     sync.Mutex // guards report
	report SwitchReport
}

// SwitchReport says how a Switch decided.
type SwitchReport struct {
	Ready     bool          // the model is loaded on the other device and warmed up
	Load      time.Duration // how long loading and warming up took
	Here      time.Duration // how long a token takes on the first device
	There     time.Duration // how long a token takes on the other device
	Threshold int           // SwitchOptions.Threshold; if that is 0, the further tokens that make a move pay, or math.MaxInt
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

// The defaults of SwitchOptions, and what warming up computes first.
const (
	defaultExpect = 128
	defaultWarmup = 8
	warmUpPrompt  = 16 // tokens
)

// NewSwitch begins to load the model on the other device. Close the Switch after the session.
func NewSwitch(ctx context.Context, s *Session, o SwitchOptions) (*Switch, error) {
	switch {
	case o.Load == nil:
		return nil, &ParamError{"SwitchOptions.Load", nil, "a function that loads the model on the other device"}
	case o.Threshold < 0 || o.Expect < 0 || o.Warmup < 0:
		return nil, &ParamError{"SwitchOptions", fmt.Sprintf("{Threshold: %d, Expect: %d, Warmup: %d}", o.Threshold, o.Expect, o.Warmup), "without negative numbers"}
	}
	if o.Expect == 0 {
		o.Expect = defaultExpect
	}
	if o.Warmup == 0 {
		o.Warmup = defaultWarmup
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &Switch{session: s, options: o, cancel: cancel, ready: make(chan struct{})}
	go w.load(ctx, s.options.KV)
	return w, nil
}

// load makes the other model and warms it up.
func (w *Switch) load(ctx context.Context, kv tensor.DType) {
	defer close(w.ready)
	began := precise.Now()
	err := parallel.Call(func() (err error) {
		if w.model, err = w.options.Load(ctx); err != nil {
			return err
		}
		w.tokenTime, err = warmUp(ctx, w.model, kv, w.options.Warmup)
		return err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Ready, w.report.Load, w.report.There, w.report.Err = err == nil, precise.Since(began), w.tokenTime, err
}

// warmUp computes a short prompt and then single tokens, in a session with a cache of type kv, and returns how long the fastest
// of the single tokens took.
func warmUp(ctx context.Context, m *Model, kv tensor.DType, tokens int) (time.Duration, error) {
	s, err := m.NewSession(&SessionOptions{Capacity: min(tokens+warmUpPrompt, m.config.ContextLength), KV: kv})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	prompt := make([]Token, min(warmUpPrompt, m.config.ContextLength-1)) // token 0 is as good as any
	if err := s.Prefill(ctx, prompt); err != nil {
		return 0, err
	}
	best := time.Duration(math.MaxInt64)
	for range min(tokens, m.config.ContextLength-len(prompt)) {
		began := precise.Now()
		if err := s.Prefill(ctx, prompt[:1]); err != nil {
			return 0, err
		}
		if _, err := s.call.choose(); err != nil {
			return 0, err
		}
		best = min(best, precise.Since(began))
	}
	return best, nil
}

// Watch passes the pieces of one of the session's answers on, and moves the session between two of them when the other device is
// ready and the move pays.
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

// minMeasured is how many tokens must have been timed on the session's device before its rate is compared with the other's.
const minMeasured = 2

// maybeMove moves the session if the other device is ready, and the conversation has reached the threshold or the move pays.
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
	if r.Here = s.call.tokenTime.Mean; w.options.Threshold > 0 {
		r.Threshold = w.options.Threshold
		if s.Position() < r.Threshold {
			return
		}
	} else {
		if s.call.tokenTime.Count < minMeasured {
			return
		}
		if r.Threshold = w.worth(s); w.options.Expect < r.Threshold {
			return
		}
	}
	r.Migration, r.Err = s.Move(ctx, w.model)
	r.Moved = r.Err == nil
}

// worth returns how many further tokens a conversation must have for a move to save more time than it takes; math.MaxInt where
// the other device is not faster.
func (w *Switch) worth(s *Session) int {
	saved := s.call.tokenTime.Mean - w.tokenTime // by each token
	if saved <= 0 {
		return math.MaxInt
	}
	// What a move takes, roughly: allocating memory, and copying the cache through the host at 1 GiB/s.
	const fixed, perMiB = 5 * time.Millisecond, time.Second / 1024
	cost := fixed + time.Duration(s.sequence.usage.Bytes>>20)*perMiB
	return int(cost/saved) + 1
}

// Report says how things stand. It is safe to call at any time.
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
