package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// Memory is what a model's layers remember of one conversation: for each layer a cache or, if it is recurrent, a state, or both. It belongs to one
// goroutine at a time.
//
// Invariants between its methods, unless one has failed: every cache has seen the same tokens, and every state has seen the first of them.
// States have seen less if the memory went back further than they can: see Computed.
//
// For example, layer 0 has a cache, layer 1 is recurrent and has a snapshot after 64 tokens, and the memory has seen 100 tokens:
//
//	Cut(80)      the cache keeps 80 tokens; the state goes back to its snapshot of 64, since it cannot forget single tokens
//	Seen()       80
//	Computed()   64: Cut(64), and compute tokens 64 to 79 again
type Memory struct {
	caches []*kvcache.Cache // by layers; nil for those without attention
	whole  []*kvcache.Cache // those without a window
	States States
}

// MemoryOptions describe a Memory.
type MemoryOptions struct {
	KV       tensor.DType // of the cached keys and values
	Capacity int          // tokens that each cache can hold
	Long     bool         // the conversation has the angles of long ones: see Weights.Long
	Policy   string       // the eviction policy's name, for messages
	Track    *kvcache.Tracking
	sample   []bool // which layers remember; nil: all

	// Of recurrent layers.
	Snapshots     int // how many snapshots are kept; 0: a good number; negative: no snapshots
	SnapshotEvery int // after how many tokens there is one in any case; 0: only where Mark says
}

// leavesOut reports whether a layer does not remember anything.
func (o *MemoryOptions) leavesOut(layer int) bool { return o.sample != nil && !o.sample[layer] }

// attending yields the caches with their layers.
func (m *Memory) attending() iter.Seq2[int, *kvcache.Cache] {
	return func(yield func(int, *kvcache.Cache) bool) {
		for i, c := range m.caches {
			if c != nil && !yield(i, c) {
				return
			}
		}
	}
}

// findWhole lists the caches without a window.
func (m *Memory) findWhole() {
	m.whole = nil
	for _, c := range m.attending() {
		if c.Window() == 0 {
			m.whole = append(m.whole, c)
		}
	}
}

// Free gives the memory back. The Memory can be freed again, to no effect.
func (m *Memory) Free() error {
	errs := []error{m.States.free()}
	for _, c := range m.attending() {
		errs = append(errs, c.Free())
	}
	return errors.Join(errs...)
}

// Clone returns a copy that shares pages until one of the two writes.
func (m *Memory) Clone() (*Memory, error) {
	clone := &Memory{caches: make([]*kvcache.Cache, len(m.caches))}
	for i, c := range m.attending() {
		copied, err := c.Clone()
		if err != nil {
			clone.Free()
			return nil, layerError(i, err)
		}
		clone.caches[i] = copied
	}
	clone.States.clone(&m.States)
	clone.findWhole()
	return clone, nil
}

// Whole returns the caches of layers without a window, from which an eviction policy chooses slots.
func (m *Memory) Whole() []*kvcache.Cache { return m.whole }

// Windowed reports whether some layers see a window only.
func (m *Memory) Windowed() bool {
	for _, c := range m.attending() {
		if c.Window() > 0 {
			return true
		}
	}
	return false
}

// Seen returns how many tokens the memory has seen, evicted ones included.
func (m *Memory) Seen() int {
	for _, c := range m.attending() {
		return c.Seen()
	}
	return m.States.seen()
}

// Computed returns how many of the first tokens all layers have seen. If it is less than Seen, Cut to it and compute the others again
// before anything else: the results will be the same.
func (m *Memory) Computed() int {
	if !m.States.any() {
		return m.Seen()
	}
	return m.States.seen()
}

// MemoryUsage is what a Memory takes.
type MemoryUsage struct {
	Slots      int // in use: of the layer that has most
	CacheBytes     // in use
}

// CacheBytes is memory of conversations by its use, in bytes.
type CacheBytes struct {
	Whole   int64 // keys and values of layers that see all positions
	Windows int64 // keys and values of layers that see a window
	Shared  int64 // keys and values that several layers read, of either kind
	States  int64 // of recurrent layers, with their snapshots
	Records int64 // what eviction policies need
}

// add adds keys and values of a kind of cache.
func (b *CacheBytes) add(kind int, bytes int64) {
	*[...]*int64{wholeCache: &b.Whole, windowCache: &b.Windows, sharedCache: &b.Shared}[kind] += bytes
}

// Held returns the bytes of keys and values, and of states with their snapshots.
func (b *CacheBytes) Held() int64 { return b.Whole + b.Windows + b.Shared + b.States }

// The kinds of caches, by the layers that read them.
const (
	wholeCache  = iota // one layer, which sees all positions
	windowCache        // one layer with a window
	sharedCache        // several layers
)

// cacheKind returns the kind of a layer's cache.
func (w *Weights) cacheKind(layer int, is *model.Layer) int {
	switch {
	case slices.Contains(w.cacheOf[layer+1:], layer):
		return sharedCache
	case is.Window > 0:
		return windowCache
	}
	return wholeCache
}

// Usage counts.
func (m *Memory) Usage() (u MemoryUsage) {
	for _, c := range m.attending() {
		switch {
		case c.Window() == 0:
			u.Slots = max(u.Slots, c.Len())
		case len(m.whole) == 0:
			u.Slots = max(u.Slots, c.Seen()) // nothing else counts the tokens that the conversation has room for
		}
		u.add(c.Kind(), c.MemoryUsage())
		u.Records += c.RecordBytes()
	}
	for _, state := range m.States.list {
		u.States += state.MemoryUsage()
		if len(m.whole) == 0 {
			u.Slots = max(u.Slots, m.Seen())
		}
	}
	return u
}

// Least returns the smallest non-zero length to which a conversation of tokens tokens can be cut and its last token computed again.
func (m *Memory) Least(tokens int) (n int) {
	for _, c := range m.attending() {
		if least := c.Least(tokens); least > 0 {
			n = max(n, least+1)
		}
	}
	if at := m.States.marks.Pinned; at > 0 {
		n = max(n, at+1)
	}
	return n
}

// Complete reports whether the memory has a slot for each of tokens tokens, or for all that a window shows, and can take more.
func (m *Memory) Complete(tokens int) bool {
	for _, c := range m.attending() {
		if c.Window() == 0 && c.Len() != tokens || c.Seen() != tokens || c.Reserve(0) != nil {
			return false
		}
	}
	return m.Computed() == tokens
}

// reserve makes room for further tokens, which are computed in one step; see States.begin.
func (m *Memory) reserve(tokens int, keep, guesses bool) error {
	for i, c := range m.attending() {
		if err := c.Reserve(tokens); err != nil {
			return layerError(i, err)
		}
	}
	if !m.States.any() {
		return nil
	}
	return m.States.begin(tokens, keep, guesses)
}

// each calls f for each layer's cache, for all of them also when some fail.
func (m *Memory) each(f func(c *kvcache.Cache) error) error {
	var errs []error
	for i, c := range m.attending() {
		if err := f(c); err != nil {
			errs = append(errs, layerError(i, err))
		}
	}
	return errors.Join(errs...)
}

// Cut forgets the tokens after the first n. When a layer's cache fails, the others forget them all the same. Recurrent layers may have to
// forget more: see Computed.
func (m *Memory) Cut(n int) error {
	errs := m.each(func(c *kvcache.Cache) error { return c.Truncate(n) })
	if !m.States.any() {
		return errs
	}
	return errors.Join(errs, m.States.cut(m.Reach(n)))
}

// Reach returns of how many of the first n tokens the layers would have seen all after Cut(n).
func (m *Memory) Reach(n int) int {
	if !m.States.any() {
		return n
	}
	reach := m.States.list[0].Reach(n)
	for _, c := range m.attending() {
		if reach < c.Least(reach) {
			return 0 // a cache with a window cannot go back to the token from which the rest would be computed
		}
	}
	return reach
}

// TakeBack undoes the latest step, before which the conversation had n tokens, without the device; see kvcache.Cache.TakeBack. When a
// layer's cache fails, the others go back all the same.
func (m *Memory) TakeBack(n int) error {
	return errors.Join(m.each(func(c *kvcache.Cache) error { return c.TakeBack(n) }), m.States.takeBack(n))
}

// DropUnseen gives back what layers with windows have of tokens that no later one sees.
func (m *Memory) DropUnseen() error {
	for i, c := range m.attending() {
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

// Break makes the memory unusable until it is cut to no tokens, since its layers disagree. Later calls give errors that wrap
// kvcache.ErrBroken.
func (m *Memory) Break(because error) {
	for _, c := range m.attending() {
		c.Break(because)
	}
}

// Write writes all slots, records and states to w, with snapshots if they are wanted; Read reads them.
func (m *Memory) Write(w io.Writer, snapshots bool) error {
	for i, c := range m.attending() {
		if err := c.Save(w); err != nil {
			return layerError(i, err)
		}
	}
	return m.States.write(w, snapshots)
}

// Read fills an empty memory with what Write wrote of a conversation of tokens tokens, and the first evicted of them may lack slots. The
// error wraps kvcache.ErrMismatch if the memory that was written had other options.
func (m *Memory) Read(r io.Reader, tokens, evicted int) error {
	for i, c := range m.attending() {
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
	return m.States.read(r, tokens, evicted)
}

// CopyTo copies slots, records and states with their snapshots to an empty memory, which may be on another device. The context is looked at
// between layers.
func (m *Memory) CopyTo(ctx context.Context, to *Memory) error {
	for i, c := range m.attending() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyState(c.Save, to.caches[i].Restore); err != nil {
			return layerError(i, err)
		}
	}
	return m.States.copyTo(ctx, &to.States)
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
