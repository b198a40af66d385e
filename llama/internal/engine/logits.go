package engine

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/tensor"
)

// LogitsPlace is the place of the logits after the last token. A pass leaves them on the device; they are copied to the host when somebody
// asks for all of them.
type LogitsPlace uint8

// The places.
const (
	Nowhere  LogitsPlace = iota // there are no logits
	OnDevice                    // the latest step left them on the device
	OnHost                      // in Host
)

// Logits are those after the last token of a conversation; while tokens are computed ahead, also those after each of these. The zero value
// has no logits. One goroutine at a time uses them.
//
// Invariants: while At is OnDevice, current is row Row of the rows that the latest step left in memory; len(Host) is the size of the
// vocabulary while At is OnHost; best holds top of the largest logits of each of these rows, or of
// their probabilities at the temperature drawn if that is not 0, or top is 0; tempered is 0, or
// changed has softmax(current/tempered), of those tokens that are allowed in the choice under way.
//
// For example, an answer computes a token and two that are expected after it:
//
//	Output(w, 3, 1, 0)  memory [3, vocab], and room for the largest logit of each row
//	Computed          Row 0: the next token is chosen from the first row
//	Point(1)          the first expected token was chosen: the next one is chosen from the second row
//	Read              copies the second row to Host: At is OnHost
type Logits struct {
	At   LogitsPlace
	Row  int       // among those of the latest step
	Host []float32 // [vocab]

	memory   *tensor.Tensor // [capacity, vocab] on the device; nil until a step asks for logits
	into     tensor.Tensor  // [rows, vocab]: of the latest step, in memory
	current  tensor.Tensor  // [1, vocab]: after the last token
	best     selection.Choices
	top      int
	drawn    float32
	spare    []float32      // [vocab] or empty: what Adopt makes Host
	changed  *tensor.Tensor // [1, vocab]: what a choice makes of current; nil until one needs it
	tempered float32

	// The operations, which allocate nothing.
	copied    copying
	masked    backend.Call[backend.Mask, *backend.Mask]
	scaled    backend.Call[backend.Scale, *backend.Scale]
	softmaxed backend.Call[backend.Softmax, *backend.Softmax]
	largest   backend.Call[backend.Largest, *backend.Largest]
}

// Output makes an output of a job of w: the logits of the last n tokens, and the top largest of each or, if the temperature is not 0, their
// top likeliest tokens.
func (l *Logits) Output(w *Weights, n, top int, temperature float32) (o Output, err error) {
	vocab := w.Config.VocabSize
	if l.memory == nil || l.memory.Shape().Dim(0) < n {
		t, err := tensor.New(w.device, tensor.F32, tensor.ShapeOf(n, vocab))
		if err != nil {
			return o, fmt.Errorf("logits of %d tokens: %w", n, err)
		}
		if l.memory != nil {
			if err := l.memory.Free(); err != nil {
				return o, err
			}
		}
		l.memory = t
	}
	if err := l.memory.SliceInto(&l.into, 0, n); err != nil {
		return o, err
	}
	l.best.Reserve(n * top)
	return Output{Last: n, Into: &l.into, Top: top, Best: &l.best, Temperature: temperature}, nil
}

// Computed notes that the latest step left rows of logits as o, which Output made, asked for. The first of them is the current one.
func (l *Logits) Computed(o *Output) {
	l.top, l.drawn = o.Top, o.Temperature
	l.Point(0)
}

// Point makes row the current one.
func (l *Logits) Point(row int) {
	l.Row, l.At, l.tempered = row, OnDevice, 0
	if err := l.into.SliceInto(&l.current, row, row+1); err != nil {
		l.At = Nowhere // row is one of into's: this cannot be
	}
}

// Keep copies logits that are on the host, for Adopt.
func (l *Logits) Keep(row []float32) { l.spare = append(l.spare[:0], row...) }

// Adopt makes the logits that Keep copied those after the last token, if there are any.
func (l *Logits) Adopt() {
	if len(l.spare) > 0 {
		l.Host, l.spare, l.At = l.spare, l.Host[:0], OnHost
	}
}

// Bytes returns the memory on the device.
func (l *Logits) Bytes() (n int64) {
	for _, t := range [...]*tensor.Tensor{l.memory, l.changed} {
		if t != nil {
			n += int64(t.Size())
		}
	}
	return n
}

// Free gives the memory on the device back. Logits that were there are lost.
func (l *Logits) Free() error {
	var errs []error
	for _, t := range [...]*tensor.Tensor{l.memory, l.changed} {
		if t != nil {
			errs = append(errs, t.Free())
		}
	}
	l.memory, l.changed, l.tempered = nil, nil, 0
	if l.At == OnDevice {
		l.At = Nowhere
	}
	return errors.Join(errs...)
}

// Read copies the logits that are on the device of w to Host.
func (l *Logits) Read(w *Weights) error {
	if n := l.current.Shape().NumElements(); len(l.Host) != n {
		l.Host = make([]float32, n)
	}
	if err := backend.ReadFloats(w.device, &l.current, l.Host); err != nil {
		return err
	}
	l.At = OnHost
	return nil
}

// Begin begins a choice. Other tokens may be allowed in it than in the choice before.
func (l *Logits) Begin() { l.tempered = 0 }

// Found copies to c the largest logits of allowed tokens, if the step that computed the logits has found them. It reports whether it has. See
// Choices.Within for allowed.
func (l *Logits) Found(c *selection.Choices, allowed []uint64) bool {
	return l.found(c, 0) && c.Within(allowed)
}

// FoundLikeliest is Found for the likeliest tokens at a temperature, if all tokens are allowed.
func (l *Logits) FoundLikeliest(c *selection.Choices, temperature float32) bool {
	return l.found(c, temperature)
}

// found copies what the step has found, if that are enough choices of the kind that is wanted.
func (l *Logits) found(c *selection.Choices, temperature float32) bool {
	n := len(c.Tokens)
	if l.top < n || l.drawn != temperature {
		return false
	}
	at := l.Row * l.top
	copy(c.Tokens, l.best.Tokens[at:][:n])
	copy(c.Values, l.best.Values[at:][:n])
	return true
}

// Largest finds the largest logits of allowed tokens on the device of w.
func (l *Logits) Largest(w *Weights, c *selection.Choices, allowed []uint64) (err error) {
	x := &l.current
	if allowed != nil {
		if x, err = l.change(w.device, allowed); err != nil {
			return err
		}
	}
	return l.largest.Run(w.device, backend.Largest{X: x, Indices: c.Tokens, Values: c.Values})
}

// Likeliest finds the likeliest tokens, of those that are allowed, with their probabilities: the largest of softmax(logits/temperature).
func (l *Logits) Likeliest(w *Weights, c *selection.Choices, allowed []uint64, temperature float32) error {
	p, err := l.temper(w.device, allowed, temperature)
	if err != nil {
		return err
	}
	return l.largest.Run(w.device, backend.Largest{X: p, Indices: c.Tokens, Values: c.Values})
}

// Probabilities copies softmax(logits/temperature) of the allowed tokens to dst [vocab].
func (l *Logits) Probabilities(w *Weights, dst []float32, allowed []uint64, temperature float32) error {
	p, err := l.temper(w.device, allowed, temperature)
	if err != nil {
		return err
	}
	return backend.ReadFloats(w.device, p, dst)
}

// change returns a copy of the logits that are on the device, which may be changed. Tokens that are not allowed have -Inf there.
func (l *Logits) change(d backend.Backend, allowed []uint64) (*tensor.Tensor, error) {
	l.tempered = 0
	if l.changed == nil {
		t, err := tensor.New(d, tensor.F32, l.current.Shape())
		if err != nil {
			return nil, err
		}
		l.changed = t
	}
	if err := l.copied.Run(d, *backend.Copy(&l.current, l.changed)); err != nil {
		return nil, err
	}
	if allowed == nil {
		return l.changed, nil
	}
	return l.changed, l.masked.Run(d, backend.Mask{X: l.changed, Allowed: allowed})
}

// temper returns the probabilities, [1, vocab], of the logits that are on the device. It computes them once for a choice.
func (l *Logits) temper(d backend.Backend, allowed []uint64, temperature float32) (*tensor.Tensor, error) {
	if l.tempered == temperature {
		return l.changed, nil
	}
	p, err := l.change(d, allowed)
	if err != nil {
		return nil, err
	}
	if err := l.scaled.Run(d, backend.Scale{X: p, By: 1 / temperature}); err != nil {
		return nil, err
	}
	if err := l.softmaxed.Run(d, backend.Softmax{X: p}); err != nil {
		return nil, err
	}
	l.tempered = temperature
	return p, nil
}
