package backend

import "github.com/antigravity-go/antigravity/tensor"

// PageSlots is the number of slots of a page, and of one tile of attention, so that cutting a cache into pages changes no bit.
const PageSlots = 128

// Page is memory for the keys and values of PageSlots slots of one KV head. How they lie in it is the device's affair: only the
// operations of Pager look into a page.
type Page struct {
	Slab  *tensor.Tensor // [pages, 2, PageSlots, headDim] of the cache's type, on the device
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

// Run is some rows of a step that belong to one conversation: its latest Tokens tokens. Their keys and values are, or will be, in the last
// Tokens slots in use of each head. In the tensors of a step the rows of the runs lie one after the other.
type Run struct {
	Tokens int // at least 1
	Slots  *Slots
}

// Pager is the part of a Backend that works on keys and values in pages. An operation takes the runs of several conversations at once, of
// one HeadDim and one number of KV heads, but perhaps of different types. No two runs of a call have the same Slots, and no run writes to a
// page that another one has. Package host has all operations over memory that the host can map, with pages that are the keys [PageSlots,
// headDim] and then the values [PageSlots, headDim].
type Pager interface {
	// SlabPages returns how many pages the next slab should have, when the slabs of the same type have `pages` in all.
	SlabPages(pages int) int
	// RoPEStore rotates q [rows, heads, headDim] and k [rows, kvHeads, headDim] by table [rows, headDim], as RoPE does, and converts k
	// and v, of k's shape, to the last slots in use of the runs. A table that is nil rotates nothing; q, which is then not looked at, may be
	// nil too. What k holds afterwards is undefined. No two of the tensors share memory.
	RoPEStore(q, k, v, table *tensor.Tensor, runs []Run) error
	// Attend lets the rows of each run attend to its slots, heads/kvHeads query heads sharing each KV head: out = softmax(q·kᵀ/√headDim)·v, for
	// q and out [rows, heads, headDim], with what Attention of the run's slots adds to that. Row i of a run of n tokens sees the first Len-n+i+1
	// slots of each head; with a Window, the last Window of these.
	Attend(q, out *tensor.Tensor, runs []Run) error
	// AccumulateAttention adds the attention that the keys of one run get from its queries to sums [kvHeads, ≥ Len] of type F32:
	// sums[h, j] += Σ softmax(q·kᵀ/√headDim)[j] over the queries of all rows of q [rows, heads, headDim] that share KV head h, in
	// their order. Rows see the slots that they see in Attend, with the same scores and sinks. Eviction policies choose by it.
	AccumulateAttention(q, sums *tensor.Tensor, run Run) error
	// Compact makes slot i of each head what slot keep[head][i] of it was; each list is strictly ascending. It writes to no slot that
	// stays what it was (keep[head][i] = i). The caller has made sure that the pages which change are nobody else's, and sets each Len
	// afterwards. What the slots behind hold is then undefined.
	Compact(s *Slots, keep [][]int32) error
	// CopyPage copies a page to another one. The slabs must have the same type and pages of the same shape.
	CopyPage(from, to Page) error
	// ReadSlots copies keys and values of a head's slots from first on, as many as keys and values [n, headDim] have rows, converting
	// them if these are F32; otherwise these have the cache's type. A tensor that is nil is left out. The slots need not be in
	// use, but must have pages.
	ReadSlots(s *Slots, head, first int, keys, values *tensor.Tensor) error
	// WriteSlots is the reverse of ReadSlots: keys and values are F32, which is converted, or of the cache's type.
	WriteSlots(s *Slots, head, first int, keys, values *tensor.Tensor) error
}
