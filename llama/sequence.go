package llama

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"weak"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
)

// A sequence is a conversation on a device. It may be ahead of itself: a step computes tokens that a drafter has proposed together with
// the answer's own. accept makes the first of them part of the conversation, and settle takes all of them back. For example, a drafter has
// proposed d and e after a b c, and they were computed in one step with c:
//
//	                         tokens    ahead   seen by memory   logits point to the row after
//	answer([c d e])          a b c     d e     5                c
//	the next token is d:
//	  accept                 a b c d   e       5                d
//	the next token is f:
//	  settle                 a b c             3                c
//	  answer([f])            a b c f           4                f

// sequence is what a session's lock protects: the tokens of a conversation, their caches and logits, and the model that computes them. Call
// its methods with the lock held (guarded.lock). The goroutine of the session's call may also read its fields without the lock, since that
// goroutine alone changes them, Close and Pool apart, which leave tokens alone.
//
// Invariants between two calls of its methods:
//   - memory has seen len(tokens)+len(ahead) tokens, and still has a slot for each token from position evicted on, or, in layers with a
//     sliding window, of those in the window; of a model with recurrent layers it may have seen fewer, until catchUp;
//   - 0 ≤ evicted ≤ len(tokens), and 0 ≤ latest ≤ len(tokens)+len(ahead);
//   - adapter, memory and logits lie on model's device, and model closes the session when it is closed;
//   - origin is nil or another model than model.
type sequence struct {
	limits
	self   weak.Pointer[Session]
	number uint64 // of the session, among those of the model that opened it
	trace  *Trace // of the model that opened it

	model  *Model // computes the sequence, on its device
	origin *Model // the model that the sequence was moved from, and goes back to when model's device fails; or nil

	adapter   *engine.Adapter // options.Adapter on model's device; or nil
	memory    *engine.Memory
	tokens    []Token
	images    images    // of tokens
	ahead     []Token   // tokens computed after these, proposed by a drafter; the answer may or may not go on with them
	following following // by the head of model, if an answer has asked for it
	marks
	logits engine.Logits // after the last of tokens
	usage  CacheUsage

	relieve  func() bool // makes room when the system refuses memory, and reports whether it could; nil: nobody does
	job      engine.Job
	setbacks []error // one for each time that the sequence went back to origin: how the device failed

	published published
}

// marks are numbers of tokens of a sequence.
type marks struct {
	evicted int // seen at the last eviction: not all of these are in the caches any more
	latest  int // of the latest step, while nothing else has happened to the caches; 0 otherwise
	used    int // slots in use when they were last counted, by count: of the layer that has most
}

// published is what Model.MemoryUsage reads from other goroutines: bytes of the memory's records, and of logits on the device.
type published struct{ records, logitBytes atomic.Int64 }

// least returns the smallest non-zero length to which the conversation can be truncated and its last logits recomputed.
func (c *sequence) least() int { return max(c.memory.Least(len(c.tokens)), c.evicted) }

// free gives the memory back.
func (c *sequence) free() error {
	c.published.records.Store(0)
	c.published.logitBytes.Store(0)
	return errors.Join(c.memory.Free(), c.logits.Free(), c.following.drop())
}

// onDevice does work that needs the device. When it fails and the sequence was moved to that device, the sequence goes back to where
// it came from, and the work is done again there. Logits that were still on the device are computed again from the latest step.
//
// This is the one place that knows what to do when a device fails.
func (c *sequence) onDevice(ctx context.Context, work func() error) error {
	err := work()
	if err == nil || c.origin == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	var redo []Token
	images := c.images.clone() // which redo may need
	defer runtime.KeepAlive(images.held)
	if c.logits.At == engine.OnDevice {
		// The step is taken back first, since that does not need the device; and as a whole, since records of attention can be undone by
		// whole steps only.
		if kept := len(c.tokens) + len(c.ahead) - c.latest; c.latest > 0 && kept < len(c.tokens) {
			redo = slices.Clone(c.tokens[kept:])
			if failed := c.takeBack(kept); failed != nil {
				err = errors.Join(err, failed)
			}
		}
		c.logits.At = engine.Nowhere
	}
	if err := c.goBack(err); err != nil {
		return err
	}
	if len(redo) > 0 {
		if _, err := c.compute(context.Background(), redo, c.lastLogits(1, 0, 0), true); err != nil {
			return err
		}
		c.tokens = append(c.tokens, redo...)
		c.logits.Computed(&c.job.Output)
	}
	return work()
}

// outputOf makes the output of a step, on the model that then computes it.
type outputOf func() (engine.Output, error)

// lastLogits is an output: the logits of the last n tokens, and the top largest of each or, if the temperature is not 0, their top likeliest
// tokens.
func (c *sequence) lastLogits(n, top int, temperature float32) outputOf {
	return func() (engine.Output, error) { return c.logits.Output(c.model.weights, n, top, temperature) }
}

// noOutput is an output for steps without logits.
func noOutput() (engine.Output, error) { return engine.Output{}, nil }

// compute lets the model's batch compute tokens, as many of the first of them as it has room for, and returns how many that were.
// The tokens of an answer are computed all together, and without looking at the context. It changes nothing but the memory, latest
// and logits' memory.
func (c *sequence) compute(ctx context.Context, t []Token, out outputOf, answer bool) (rows int, err error) {
	if err := catchUp(ctx, c); err != nil {
		return 0, err
	}
	rows, err = c.run(ctx, t, out, answer)
	if errors.Is(err, engine.ErrBehind) { // a pass failed because of others, and left states where snapshots are
		if err = catchUp(ctx, c); err == nil {
			rows, err = c.run(ctx, t, out, answer)
		}
	}
	return rows, err
}

// run is compute for a memory that has seen all of the conversation that comes before the tokens.
func (c *sequence) run(ctx context.Context, t []Token, out outputOf, answer bool) (rows int, err error) {
	j := &c.job
	if j.Output, err = out(); err != nil {
		return 0, err
	}
	if j.Context = ctx; answer {
		j.Context = nil
	}
	j.Memory, j.Tokens, j.Start, j.Answer = c.memory, toInt32(t), c.memory.Seen(), answer
	known := len(c.tokens) + len(c.ahead)
	if fresh := j.Start + len(t) - known; fresh > 0 {
		c.images.add(&c.limits, known, t[len(t)-fresh:])
	}
	j.Spans = c.images.spans
	j.Output.Keep = c.following.keep()
	j.Adapter, j.Scale = c.adapter, c.options.AdapterScale
	var began time.Time
	if c.trace.Step != nil {
		began = precise.Now()
	}
	err = c.model.batch.Run(j)
	if err == nil {
		c.latest = j.Rows
		known = max(known, j.Start+j.Rows)
	}
	c.images.cut(known)
	c.count()
	if c.trace.Step != nil {
		c.trace.step(c, began, err)
	}
	return j.Rows, err
}

// step computes tokens and appends those that were computed to the conversation; see compute. After an error the conversation is
// what it was.
func (c *sequence) step(ctx context.Context, t []Token, out outputOf, answer bool) (rows int, err error) {
	model, at := c.model, c.logits.At
	c.logits.At = engine.Nowhere
	err = c.onDevice(ctx, func() error {
		for {
			rows, err = c.compute(ctx, t, out, answer)
			if !errors.Is(err, tensor.ErrNoMemory) || c.relieve == nil || !c.relieve() {
				return err
			}
		}
	})
	if err != nil {
		if c.model == model { // elsewhere the logits are gone
			c.logits.At = at
		}
		if errors.Is(err, tensor.ErrNoMemory) {
			err = fmt.Errorf("%w; less memory is taken by fewer sessions at once, a smaller SessionOptions.Capacity or KV, or fewer layers on the device (LoadOptions.Devices)", err)
		}
		return 0, err
	}
	c.tokens = append(c.tokens, t[:rows]...)
	if o := &c.job.Output; o.Last > 0 && rows == len(t) {
		c.logits.Computed(o)
	}
	c.usage.PeakBytes = max(c.usage.PeakBytes, c.usage.Bytes)
	return rows, nil
}

// truncate goes back to the first n tokens, n ≤ len(tokens). n is 0, or the caches still have a slot for each token from n on: then n
// is at least least()-1, since an eviction keeps the latest token.
func (c *sequence) truncate(n int) error {
	if err := c.rest(); err != nil || n == len(c.tokens) {
		return err
	}
	c.keepFirst(n)
	err := c.onDevice(context.Background(), func() error { return c.memory.Cut(n) })
	c.count()
	if err != nil {
		return fmt.Errorf("truncate to %d tokens: %w", n, err)
	}
	return nil
}

// keepFirst cuts the history to its first n tokens.
func (c *sequence) keepFirst(n int) {
	c.tokens, c.logits.At = c.tokens[:n], engine.Nowhere
	c.images.cut(n)
	c.evicted, c.latest = min(c.evicted, n), 0
}

// takeBack undoes the latest step, before which the conversation had n tokens, without the device.
func (c *sequence) takeBack(n int) error {
	err := c.memory.TakeBack(n)
	c.ahead = c.ahead[:0]
	c.keepFirst(n)
	c.count()
	return err
}

// settle takes what a drafter proposed, and the answer has not confirmed, out of the caches. The logits stay.
//
// A record of past attention cannot forget single tokens: then the whole step is undone, and its confirmed tokens are computed again.
func (c *sequence) settle() error {
	gone := len(c.ahead)
	if gone == 0 {
		return nil
	}
	n := len(c.tokens)
	if _, tracked := c.manager.Tracking(); !tracked {
		c.ahead = c.ahead[:0]
		c.latest = 0
		err := c.onDevice(context.Background(), func() error { return c.memory.Cut(n) })
		c.count()
		return err
	}
	if c.origin != nil { // the logits must outlast a device that fails below
		if err := c.fetchLogits(); err != nil || len(c.ahead) == 0 { // going back has settled it
			return err
		}
	}
	at := c.logits.At
	images := c.images.clone() // which redo may need
	defer runtime.KeepAlive(images.held)
	redo := slices.Clone(c.tokens[n+gone-c.latest:])
	if err := c.takeBack(n - len(redo)); err != nil {
		return err
	}
	for len(redo) > 0 {
		rows, err := c.step(context.Background(), redo, noOutput, true)
		if err != nil {
			return err
		}
		redo = redo[rows:]
	}
	c.logits.At = at
	return nil
}

// rest settles, and gives back what caches with windows have of tokens that no later one sees. What the caches hold then depends on the
// tokens alone, and not on the steps that computed them.
func (c *sequence) rest() error {
	if err := c.settle(); err != nil || !c.memory.Windowed() {
		return err
	}
	err := c.onDevice(context.Background(), func() error { return c.memory.DropUnseen() })
	c.count()
	return err
}

// ensureLogits makes sure that there are logits after the last token, if there is a token. If they were lost by a Truncate or a device's
// failure, it computes the last token once more.
func (c *sequence) ensureLogits() error {
	if c.logits.At != engine.Nowhere || len(c.tokens) == 0 {
		return nil
	}
	last := c.tokens[len(c.tokens)-1]
	if err := c.truncate(len(c.tokens) - 1); err != nil {
		return err
	}
	_, err := c.step(context.Background(), []Token{last}, c.lastLogits(1, 0, 0), true)
	return err
}

// room returns how many tokens can still be appended.
func (c *sequence) room() int { return c.limits.room(len(c.tokens), c.slots()) }

// slots returns the number of cache slots in use, those of ahead left out and those of catchUp included: of the layer that has most.
func (c *sequence) slots() int { return c.used + len(c.tokens) - c.memory.Seen() }

// count counts what the memory takes. It also publishes what Model.MemoryUsage reads from other goroutines.
func (c *sequence) count() {
	u := c.memory.Usage()
	c.used, c.usage.Bytes, c.usage.RecordBytes, c.usage.Parts = u.Slots, u.Held(), u.Records, CacheParts(u.CacheBytes)
	c.published.records.Store(u.Records)
	c.published.logitBytes.Store(c.logits.Bytes() + c.following.bytes())
}

// fetchLogits brings the logits, if there are any, to the host.
func (c *sequence) fetchLogits() error {
	if c.logits.At != engine.OnDevice {
		return nil
	}
	err := c.useLogits(func() error { return c.logits.Read(c.model.weights) })
	if err != nil {
		return fmt.Errorf("read the logits after token %d: %w", len(c.tokens), err)
	}
	return nil
}

// useLogits does something with the logits on the device. When the device fails for good, there are no logits any more.
func (c *sequence) useLogits(use func() error) error {
	err := c.onDevice(context.Background(), use)
	if err != nil {
		c.logits.At = engine.Nowhere
	}
	return err
}

// answer computes run: the next token of an answer, and behind it tokens that may be the next ones.
func (c *sequence) answer(run []Token, top int, temperature float32) error {
	c.job.Guesses = len(run) > 1
	_, err := c.step(context.Background(), run, c.lastLogits(len(run), top, temperature), true)
	c.job.Guesses = false
	if err != nil {
		return err
	}
	n := len(c.tokens) - (len(run) - 1)
	c.ahead = append(c.ahead[:0], c.tokens[n:]...)
	c.tokens = c.tokens[:n]
	return nil
}

// expects reports whether t is the first of the tokens that were computed ahead.
func (c *sequence) expects(t Token) bool { return len(c.ahead) > 0 && c.ahead[0] == t }

// accept makes the first of the tokens that were computed ahead part of the conversation.
func (c *sequence) accept() {
	c.tokens = append(c.tokens, c.ahead[0])
	c.ahead = append(c.ahead[:0], c.ahead[1:]...)
	c.logits.Point(c.logits.Row + 1)
}
