package llama

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/tensor"
)

// logitsPlace says where the logits after the last token are. A step leaves them on the device; they are copied to the host when
// somebody asks for all of them.
type logitsPlace uint8

const (
	nowhere  logitsPlace = iota // there are none
	onDevice                    // in logits.current
	onHost                      // in logits.host
)

// logits are those after the last token of a sequence; while a drafter's proposals have been computed ahead, also those after each of
// these.
//
// Invariants: while at is onDevice, current is row row of the rows that the latest step left in memory; len(host) is the size of the
// vocabulary while at is onHost; best holds top of the largest logits of each of these rows, or top is 0; tempered is 0, or
// changed has softmax(current/tempered), of those tokens that are allowed in the choice under way.
type logits struct {
	at        logitsPlace
	memory    *tensor.Tensor // [capacity, vocab] on the device; nil until a step asks for logits
	into      tensor.Tensor  // [rows, vocab]: of the latest step, in memory
	current   tensor.Tensor  // [1, vocab]: after the last token
	rows, row int
	best      choices
	top       int
	host      []float32      // [vocab]
	spare     []float32      // [vocab] or empty: what adopt makes host
	changed   *tensor.Tensor // [1, vocab]: what a choice makes of current; nil until one needs it
	tempered  float32
}

// output makes an output of a step on m: the logits of the last n tokens, and the top largest of each.
func (l *logits) output(m *Model, n, top int) (o output, err error) {
	vocab := m.config.VocabSize
	if l.memory == nil || l.memory.Shape().Dim(0) < n {
		t, err := tensor.New(m.device.Backend, tensor.F32, tensor.ShapeOf(n, vocab))
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
	l.best.reserve(n * top)
	return output{last: n, into: &l.into, top: top, best: &l.best}, nil
}

// computed notes that the latest step left n rows of logits in memory, of which the first is current.
func (l *logits) computed(n, top int) {
	l.rows, l.top = n, top
	l.point(0)
}

// point makes row the current one.
func (l *logits) point(row int) {
	l.row, l.at, l.tempered = row, onDevice, 0
	if err := l.into.SliceInto(&l.current, row, row+1); err != nil {
		l.at = nowhere // row is one of into's: this cannot be
	}
}

// keep copies logits that are on the host, for adopt.
func (l *logits) keep(row []float32) { l.spare = append(l.spare[:0], row...) }

// adopt makes the logits that keep copied those after the last token, if there are any.
func (l *logits) adopt() {
	if len(l.spare) > 0 {
		l.host, l.spare, l.at = l.spare, l.host[:0], onHost
	}
}

// bytes returns the memory on the device.
func (l *logits) bytes() (n int64) {
	for _, t := range [...]*tensor.Tensor{l.memory, l.changed} {
		if t != nil {
			n += int64(t.Size())
		}
	}
	return n
}

// free gives the memory on the device back. Logits that were there are lost.
func (l *logits) free() error {
	var errs []error
	for _, t := range [...]*tensor.Tensor{l.memory, l.changed} {
		if t != nil {
			errs = append(errs, t.Free())
		}
	}
	l.memory, l.changed, l.tempered = nil, nil, 0
	if l.at == onDevice {
		l.at = nowhere
	}
	return errors.Join(errs...)
}

// read copies the logits that are on the device to the host.
func (l *logits) read(d *device) error {
	if n := l.current.Shape().NumElements(); len(l.host) != n {
		l.host = make([]float32, n)
	}
	if err := backend.ReadFloats(d, &l.current, l.host); err != nil {
		return err
	}
	l.at = onHost
	return nil
}

// change returns a copy of the logits that are on the device, which may be changed. Tokens that are not allowed have -Inf there; see
// sampler.allowed.
func (l *logits) change(d *device, allowed []uint64) (*tensor.Tensor, error) {
	l.tempered = 0
	if l.changed == nil {
		t, err := tensor.New(d.Backend, tensor.F32, l.current.Shape())
		if err != nil {
			return nil, err
		}
		l.changed = t
	}
	if err := d.CopySlice(&l.current, l.changed, 0, 0, l.changed.Shape().NumElements()); err != nil {
		return nil, err
	}
	if allowed == nil {
		return l.changed, nil
	}
	return l.changed, d.choose.Mask(l.changed, allowed)
}

// temper returns the probabilities, [1, vocab], of the logits that are on the device. It computes them once for a choice.
func (l *logits) temper(d *device, allowed []uint64, temperature float32) (*tensor.Tensor, error) {
	if l.tempered == temperature {
		return l.changed, nil
	}
	p, err := l.change(d, allowed)
	if err != nil {
		return nil, err
	}
	if err := d.Scale(p, 1/temperature); err != nil {
		return nil, err
	}
	if err := d.Softmax(p); err != nil {
		return nil, err
	}
	l.tempered = temperature
	return p, nil
}

// Logits returns the logits after the last token, [VocabSize], or nil when there are none: before the first token and after
// Truncate. The slice is valid until the next call. It may be called inside the loop of an answer, too, and brings the logits from
// the device the first time that it is called after a token.
func (s *Session) Logits() (l []float32, err error) {
	err = s.with(func(c *sequence) error {
		if err := c.fetchLogits(); err != nil || c.logits.at == nowhere {
			return err
		}
		l = c.logits.host
		return nil
	})
	return l, err
}

// needLogits returns the logits after the last token on the host, nil before the first token. Where they were lost, it computes the
// last token once more.
func (s *Session) needLogits() ([]float32, error) {
	if err := s.with((*sequence).ensureLogits); err != nil {
		return nil, err
	}
	return s.Logits()
}

// fetchLogits brings the logits, if there are any, to the host.
func (c *sequence) fetchLogits() error {
	if c.logits.at != onDevice {
		return nil
	}
	err := c.useLogits(func() error { return c.logits.read(c.model.device) })
	if err != nil {
		return fmt.Errorf("read the logits after token %d: %w", len(c.tokens), err)
	}
	return nil
}

// useLogits does something with the logits on the device. When the device fails for good, there are no logits any more.
func (c *sequence) useLogits(use func() error) error {
	err := c.onDevice(context.Background(), use)
	if err != nil {
		c.logits.at = nowhere
	}
	return err
}

// choose picks the next token. Where the largest logits or probabilities decide, only those are copied to the host.
func (s *Session) choose() (Token, error) {
	if err := s.with((*sequence).ensureLogits); err != nil {
		return 0, err
	}
	if !s.sampler.changes() && s.sampler.Logprobs == 0 {
		if token, ok, err := s.chooseOnDevice(); ok || err != nil {
			return token, err
		}
	}
	logits, err := s.Logits()
	if err != nil {
		return 0, err
	}
	return s.sampler.choose(logits, s.sequence.tokens) // the sequence is not locked: a mask is the program's code
}

// chooseOnDevice picks the next token from the few largest logits, or the probabilities, that the device finds. ok is false, and
// no token chosen, where the choice is by all logits as they are or the logits are not on the device.
func (s *Session) chooseOnDevice() (token Token, ok bool, err error) {
	c, err := s.lock()
	if err != nil {
		return 0, false, err
	}
	defer s.unlock()
	if c.logits.at != onDevice {
		return 0, false, nil
	}
	vocab := c.model.config.VocabSize
	c.logits.tempered = 0 // what is allowed may be something else than in the latest choice
	few := s.sampler.few(vocab)
	switch {
	case few == nil && !s.sampler.tempers():
		return 0, false, nil
	case few == nil:
		if token, ok, err = s.sampler.drawRanked((*deviceRanking)(s), vocab); ok || err != nil {
			return token, ok, err
		}
		if err := c.fetchLogits(); err != nil {
			return 0, false, err
		}
		logits := c.logits.host
		if s.sampler.allowed != nil {
			logits = s.sampler.copied(logits)
			selection.Mask(logits, s.sampler.allowed)
		}
		token, err = s.sampler.pickAny(logits)
		return token, true, err
	}
	if err := c.largest(few, s.sampler.allowed); err != nil {
		return 0, false, fmt.Errorf("the %d largest logits after token %d: %w", len(few.tokens), len(c.tokens), err)
	}
	token, err = s.sampler.pick(few)
	return token, true, err
}

// largest finds the largest logits of allowed tokens. The logits are on the device; where the largest of all are allowed, the step may
// have found them already.
func (c *sequence) largest(few *choices, allowed []uint64) error {
	l, n := &c.logits, len(few.tokens)
	if l.top >= n {
		at := l.row * l.top
		copy(few.tokens, l.best.tokens[at:][:n])
		copy(few.values, l.best.values[at:][:n])
		if few.within(allowed) {
			return nil
		}
	}
	return c.useLogits(func() (err error) {
		x := &l.current
		if allowed != nil {
			if x, err = l.change(c.model.device, allowed); err != nil {
				return err
			}
		}
		return c.model.device.choose.Largest(x, few.tokens, few.values)
	})
}

// within tells whether all of the choices are allowed; see sampler.allowed.
func (c *choices) within(allowed []uint64) bool {
	return allowed == nil || !slices.ContainsFunc(c.tokens, func(t int32) bool { return allowed[t/64]>>(t%64)&1 == 0 })
}
