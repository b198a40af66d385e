package backend

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/tensor"
)

// PageSlots is the number of slots of a page, and of one tile of attention, so that cutting a cache into pages changes no bit.
const PageSlots = 128

// Page is memory for the keys and values of PageSlots slots of one KV head. How they lie in it is the device's affair: only the
// operations of attention.go and slots.go look into a page.
type Page struct {
	Slab  *tensor.Tensor // [pages, 2, PageSlots, headDim] of the cache's type, on the device; [pages, 1, …] of Latent slots
	Index int            // which of the slab's pages
}

// Slots are one layer's keys and values of one conversation, as a device sees them. Package kvcache owns the list; pages may be
// shared with other conversations, and then nobody writes to them. No operation changes the lists.
//
// Invariants: slot i of a head is slot i mod PageSlots of its page ⌊i/PageSlots⌋; a head has at least ⌈Len/PageSlots⌉ pages; heads may
// have different numbers of slots in use; Version is another one whenever a list of pages has changed, though not when only a Len has.
type Slots struct {
	DType   tensor.DType // F32, F16, Q8_0 or Q4_0
	HeadDim int
	Heads   []HeadSlots // one for each KV head
	Attention
	Latent  bool // a slot's value is its key, and pages have keys alone: see KeepsLatents
	Version uint64
	Device  any // what a device keeps of the lists, such as its copy of them; it belongs to the device
}

// Attention is what a layer's attention has beyond softmax(q·kᵀ/√headDim)·v. The zero value is that alone.
type Attention struct {
	// Window is how many of the slots before and at its own a token sees; 0: all.
	Window int
	// Cap limits scores: before the softmax a score s becomes Cap·tanh(s/Cap), as in Gemma 2. 0: scores stay as they are.
	Cap float32
	// Sinks [heads], of type F32 and on the device, has a score for each query head that joins the softmax and has no value, as in gpt-oss:
	// the weights of a row's slots then add up to less than 1. nil: no sinks.
	Sinks *tensor.Tensor
}

// HeadSlots are the slots of one KV head.
type HeadSlots struct {
	Pages []Page
	Len   int // slots in use
}

// Len returns the number of slots in use, of the head that has most.
func (s *Slots) Len() (n int) {
	for i := range s.Heads {
		n = max(n, s.Heads[i].Len)
	}
	return n
}

// SlotBytes returns the bytes of one slot's key, or value, of one head. Whether HeadDim is whole blocks is checked where slots are used.
func (s *Slots) SlotBytes() int {
	return s.HeadDim / max(s.DType.BlockLen(), 1) * s.DType.BlockBytes()
}

// Halves returns how many halves a page has: keys and values, or keys alone.
func (s *Slots) Halves() int {
	if s.Latent {
		return 1
	}
	return 2
}

// Run is some rows of a step that belong to one conversation: its latest Tokens tokens. Their keys and values are, or will be, in the last
// Tokens slots in use of each head. In the tensors of a step the rows of the runs lie one after the other.
type Run struct {
	Tokens   int // at least 1
	Slots    *Slots
	Together bool // the rows see each other: each sees those after its own, too
	Whole    bool // and all rows of the run, whatever the window
}

// CacheType reports whether d is a type that keys and values can be cached in.
func CacheType(d tensor.DType) bool {
	return d == tensor.F32 || d == tensor.F16 || d == tensor.Q8_0 || d == tensor.Q4_0
}

// The checks of slots. Pages of 128 slots are looked at only as far as an operation touches them: those that it writes must be writable, and pages
// behind the slots in use need not exist. For a run of 1 token and heads with 130 slots in use:
//
//	RoPEStore   writes slot 129: page 1 must be there and writable
//	Attend      reads slots 0 to 129: pages 0 and 1 must be there
//	Compact     to slots [0 1 5]: the first two stay; slot 5 moves to slot 2, so that page 0 must be writable

// String describes a cache as the errors of this file do.
func (s *Slots) String() string {
	if s == nil {
		return "no slots"
	}
	return fmt.Sprintf("%v slots [≤ %d %d %d]", s.DType, s.Len(), len(s.Heads), s.HeadDim)
}

// check returns an error unless the type, the size of a head and the number of heads make sense.
func (s *Slots) check(op string) error {
	switch {
	case s == nil:
		return fmt.Errorf("backend: %s of a run without slots", op)
	case !CacheType(s.DType):
		return fmt.Errorf("backend: %s of %v: a cache is f32, f16, q8_0 or q4_0", op, s)
	case s.Window < 0:
		return fmt.Errorf("backend: %s of %v with a window of %d", op, s, s.Window)
	case !(s.Cap >= 0) || math.IsInf(float64(s.Cap), 1):
		return fmt.Errorf("backend: %s of %v with scores limited to %v: the limit must be positive, or 0 for none", op, s, s.Cap)
	case len(s.Heads) < 1 || s.HeadDim < 1 || s.HeadDim%s.DType.BlockLen() != 0:
		return fmt.Errorf("backend: %s of %v: it must have heads, of whole blocks of %v", op, s, s.DType)
	}
	return nil
}

// checkPages returns an error unless slots [lo, hi) of a head have pages of the right type and shape, writable if the operation writes to
// them.
func (s *Slots) checkPages(op string, head, lo, hi int, write bool) error {
	h := &s.Heads[head]
	if lo < 0 || lo > hi || hi > len(h.Pages)*PageSlots {
		return fmt.Errorf("backend: %s of slots %d to %d of head %d of %v: it has %d pages of %d slots", op, lo, hi, head, s, len(h.Pages), PageSlots)
	}
	if lo == hi {
		return nil
	}
	var known *tensor.Tensor // the latest slab that was looked at; neighbours often share it
	pages := 0               // of that slab
	for i := lo / PageSlots; i <= (hi-1)/PageSlots; i++ {
		p := &h.Pages[i]
		if p.Slab != known {
			if err := s.checkSlab(op, p.Slab, write); err != nil {
				return fmt.Errorf("%w (page %d of head %d)", err, i, head)
			}
			known, pages = p.Slab, p.Slab.Shape().Dim(0)
		}
		if known == nil || p.Index < 0 || p.Index >= pages {
			return fmt.Errorf("backend: %s of %v: page %d of head %d is page %d of a slab of %d", op, s, i, head, p.Index, pages)
		}
	}
	return nil
}

// checkSlab returns an error unless a slab has pages for s.
func (s *Slots) checkSlab(op string, slab *tensor.Tensor, write bool) error {
	if slab == nil {
		return fmt.Errorf("backend: %s of %v: a page has no slab", op, s)
	}
	shape := slab.Shape()
	if shape.NDim() != 4 || shape.Dim(1) != s.Halves() || shape.Dim(2) != PageSlots || shape.Dim(3) != s.HeadDim || slab.DType() != s.DType {
		return fmt.Errorf("backend: %s of %v: a slab is %v: it must be %v[pages %d %d %d]", op, s, slab, s.DType, s.Halves(), PageSlots, s.HeadDim)
	}
	if write {
		return needWritable(op, slab)
	}
	return nil
}
