package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// Memory is what a model's layers remember of one conversation: a cache for each layer. It belongs to one goroutine at a time.
//
// Invariant between its methods: every cache has seen the same tokens, unless a method has failed.
type Memory struct {
	caches []*kvcache.Cache // one a layer, in the layers' order
	whole  []*kvcache.Cache // those without a window
}

// MemoryOptions describe a Memory.
type MemoryOptions struct {
	KV       tensor.DType // of the cached keys and values
	Capacity int          // tokens that each cache can hold
	Long     bool         // the conversation has the angles of long ones: see Weights.Long
	Policy   string       // the eviction policy's name, for messages
	Track    *kvcache.Tracking
}

// findWhole lists the caches without a window.
func (m *Memory) findWhole() {
	m.whole = nil
	for _, c := range m.caches {
		if c.Window() == 0 {
			m.whole = append(m.whole, c)
		}
	}
}

// Free gives the memory back. The Memory can be freed again, to no effect.
func (m *Memory) Free() error {
	var errs []error
	for _, c := range m.caches {
		errs = append(errs, c.Free())
	}
	return errors.Join(errs...)
}

// Clone returns a copy that shares pages until one of the two writes.
func (m *Memory) Clone() (*Memory, error) {
	clone := &Memory{}
	for i, c := range m.caches {
		copied, err := c.Clone()
		if err != nil {
			clone.Free()
			return nil, layerError(i, err)
		}
		clone.caches = append(clone.caches, copied)
	}
	clone.findWhole()
	return clone, nil
}

// Whole returns the caches of layers without a window, among whose slots an eviction policy chooses.
func (m *Memory) Whole() []*kvcache.Cache { return m.whole }

// Windowed reports whether some layers see a window only.
func (m *Memory) Windowed() bool { return len(m.whole) < len(m.caches) }

// Seen returns how many tokens the memory has seen, evicted ones included.
func (m *Memory) Seen() int { return m.caches[0].Seen() }

// MemoryUsage is what a Memory takes.
type MemoryUsage struct {
	Slots       int   // in use: of the layer that has most
	Bytes       int64 // of keys and values
	RecordBytes int64 // of the records that the eviction policy needs
}

// Usage counts.
func (m *Memory) Usage() (u MemoryUsage) {
	for _, c := range m.caches {
		switch {
		case c.Window() == 0:
			u.Slots = max(u.Slots, c.Len())
		case len(m.whole) == 0:
			u.Slots = max(u.Slots, c.Seen()) // nothing else counts the tokens that the conversation has room for
		}
		u.Bytes += c.MemoryUsage()
		u.RecordBytes += c.RecordBytes()
	}
	return u
}

// Least returns the smallest non-zero length to which a conversation of tokens tokens can be cut and its last token computed again.
func (m *Memory) Least(tokens int) (n int) {
	for _, c := range m.caches {
		if least := c.Least(tokens); least > 0 {
			n = max(n, least+1)
		}
	}
	return n
}

// Complete reports whether the memory has a slot for each of tokens tokens, or for all that a window shows, and can take more.
func (m *Memory) Complete(tokens int) bool {
	for _, c := range m.caches {
		if c.Window() == 0 && c.Len() != tokens || c.Seen() != tokens || c.Reserve(0) != nil {
			return false
		}
	}
	return true
}

// reserve makes room for further tokens.
func (m *Memory) reserve(tokens int) error {
	for i, c := range m.caches {
		if err := c.Reserve(tokens); err != nil {
			return layerError(i, err)
		}
	}
	return nil
}

// each calls f for each layer's cache, for all of them also when some fail.
func (m *Memory) each(f func(c *kvcache.Cache) error) error {
	var errs []error
	for i, c := range m.caches {
		if err := f(c); err != nil {
			errs = append(errs, layerError(i, err))
		}
	}
	return errors.Join(errs...)
}

// Cut forgets the tokens after the first n. When a layer's cache fails, the others forget them all the same.
func (m *Memory) Cut(n int) error {
	return m.each(func(c *kvcache.Cache) error { return c.Truncate(n) })
}

// TakeBack undoes the latest step, before which the conversation had n tokens, without the device; see kvcache.Cache.TakeBack. When a
// layer's cache fails, the others go back all the same.
func (m *Memory) TakeBack(n int) error {
	return m.each(func(c *kvcache.Cache) error { return c.TakeBack(n) })
}

// DropUnseen gives back what layers with windows have of tokens that no later one sees.
func (m *Memory) DropUnseen() error {
	for i, c := range m.caches {
		if err := c.DropUnseen(); err != nil {
			return layerError(i, err)
		}
	}
	return nil
}

// Reanchor gives the first sinks slots of layers without a window the positions just before the other slots', in a conversation of tokens
// tokens.
func (m *Memory) Reanchor(sinks, tokens int) error {
	for i, c := range m.whole {
		if n := min(sinks, c.Len()-1); n > 0 {
			if err := c.Reanchor(n, tokens-c.Len()); err != nil {
				return layerError(i, err)
			}
		}
	}
	return nil
}

// Break makes the memory unusable until it is cut to no tokens, since its layers disagree. Later calls give errors that wrap kvcache.ErrBroken.
func (m *Memory) Break(because error) { m.caches[0].Break(because) }

// Write writes all slots and records to w; Read reads them.
func (m *Memory) Write(w io.Writer) error {
	for i, c := range m.caches {
		if err := c.Save(w); err != nil {
			return layerError(i, err)
		}
	}
	return nil
}

// Read fills an empty memory with what Write wrote of a conversation of tokens tokens, the first evicted of which may lack slots. The error
// wraps kvcache.ErrMismatch if what was written belongs to a memory of other options.
func (m *Memory) Read(r io.Reader, tokens, evicted int) error {
	for i, c := range m.caches {
		if err := c.Restore(r); err != nil {
			return layerError(i, err)
		}
		if c.Seen() != tokens {
			return fmt.Errorf("layer %d has seen %d tokens of %d", i, c.Seen(), tokens)
		}
		if c.Window() > 0 {
			continue
		}
		for head := range c.KVHeads() { // an eviction keeps the latest token and leaves later ones alone
			if n := c.HeadLen(head); n < c.Seen()-max(evicted-1, 0) {
				return fmt.Errorf("layer %d, head %d has %d slots of %d tokens, %d after an eviction", i, head, n, c.Seen(), c.Seen()-evicted)
			}
		}
	}
	return nil
}

// CopyTo copies slots and records to an empty memory, which may be on another device. The context is looked at between layers.
func (m *Memory) CopyTo(ctx context.Context, to *Memory) error {
	for i, c := range m.caches {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyState(c.Save, to.caches[i].Restore); err != nil {
			return layerError(i, err)
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

// layerError says in which layer something failed.
func layerError(layer int, err error) error { return fmt.Errorf("layer %d: %w", layer, err) }
