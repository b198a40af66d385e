// Package kvcache holds the keys and values of the tokens that a model has seen.
//
// A Cache holds the keys and values of one layer: two tensors of the layout [capacity, kvHeads, headDim], of which the first Len
// slots are in use. Slots are physical: an eviction moves the rows that stay to the front and Len shrinks, while the position
// that RoPE wrote into a key stays what it was. Which slots to give up is the business of package eviction; a Cache never sees a
// policy. For policies it can keep a record of which query attended to which slot (Tracking): the record has to be the cache's,
// because it is of use only as long as it moves with the slots.
//
// For each chunk of tokens a layer calls Append with queries, keys and values before RoPE; then Query, which returns the queries
// in the form that attention to this cache needs; and then Observe with the queries that Query returned. Without a record
// Observe does nothing. Update is for keys that RoPE has been applied to already. Between chunks Keep, PrunePrefix and
// Truncate give slots up, and the memory of these slots goes back to the system. Clone and WriteState copy everything, record
// included.
package kvcache

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

var (
	// ErrFull is wrapped by the error of an Append or Update that does not fit.
	ErrFull = errors.New("the cache is full")
	// ErrBroken is wrapped by the errors of a cache whose device failed while slots were being moved, so that the slots no
	// longer hold what they should. Only Reset makes the cache usable again.
	ErrBroken = errors.New("the cache was broken by a failed move of its slots")
)

// Cache is one layer's keys and values. It is not safe for concurrent use.
//
// Between calls:
//   - 0 ≤ len ≤ capacity and len ≤ seen; len == seen as long as nothing was evicted.
//   - Unless broken is set, slots [0, len) of keys and values hold tokens, and in each KV head the tokens are in the order of
//     their positions. What slots [len, capacity) hold does not count.
//   - record is nil, or has a position for each of the len slots in each KV head.
//   - hadamard is nil, or every key in use was turned by its matrix.
type Cache struct {
	backend       backend.Backend
	fused         backend.Fuser
	keys, values  *tensor.Tensor   // [capacity, kvHeads, headDim]
	slots         [2]tensor.Tensor // views of keys and values being written or read, kept to spare an allocation per token
	len, capacity int              // slots in use, and slots
	seen          int              // tokens so far, evicted ones included
	record        *record          // nil unless tracking
	hadamard      *Hadamard        // nil unless keys are turned
	broken        error            // why slots do not hold what they should, nil if they do
}

// New makes an empty cache of type F32, F16, Q8_0 or Q4_0 on a device. Memory is reserved for the whole capacity; on the
// host it counts against the process only as slots are used.
func New(b backend.Backend, d tensor.DType, capacity, kvHeads, headDim int) (*Cache, error) {
	if !backend.CacheType(d) {
		return nil, fmt.Errorf("kvcache: a cache of type %v: the types are f32, f16, q8_0 and q4_0", d)
	}
	shape, err := tensor.NewShape(capacity, kvHeads, headDim)
	if err != nil {
		return nil, fmt.Errorf("kvcache: %w", err)
	}
	c := &Cache{backend: b, fused: backend.Fused(b), capacity: capacity}
	if c.keys, err = tensor.New(b, d, shape); err != nil {
		return nil, fmt.Errorf("kvcache: keys: %w", err)
	}
	if c.values, err = tensor.New(b, d, shape); err != nil {
		c.keys.Free()
		return nil, fmt.Errorf("kvcache: values: %w", err)
	}
	return c, nil
}

// Len returns the number of slots in use.
func (c *Cache) Len() int { return c.len }

// HeadLen returns the number of slots that a KV head has in use: Len, for all heads.
func (c *Cache) HeadLen(int) int { return c.len }

// Seen returns the number of tokens so far, evicted ones included: the position of the next token.
func (c *Cache) Seen() int { return c.seen }

// KVHeads returns the number of heads that keys and values have.
func (c *Cache) KVHeads() int { return c.keys.Shape().Dim(1) }

// HeadDim returns the number of elements of a head's key.
func (c *Cache) HeadDim() int { return c.keys.Shape().Dim(2) }

// Cap returns the number of slots.
func (c *Cache) Cap() int { return c.capacity }

// Backend returns the device on which keys and values live, for policies that have arithmetic to do.
func (c *Cache) Backend() backend.Backend { return c.backend }

// MemoryUsage returns the bytes of the slots in use, keys and values together.
func (c *Cache) MemoryUsage() int64 { return 2 * int64(c.len) * int64(c.slotBytes()) }

// View returns the keys and values, [Cap, kvHeads, headDim] each, of which the first Len slots count. The tensors stay the
// cache's own.
func (c *Cache) View() (keys, values *tensor.Tensor) { return c.keys, c.values }

// slotBytes returns the bytes of one slot of keys, or of values.
func (c *Cache) slotBytes() int { return c.keys.Shape().Dim(1) * c.keys.RowBytes() }

// sides returns keys and values.
func (c *Cache) sides() [2]*tensor.Tensor { return [2]*tensor.Tensor{c.keys, c.values} }

// Free releases the memory of the keys, the values and the record.
func (c *Cache) Free() error {
	errs := []error{c.keys.Free(), c.values.Free()}
	if c.record != nil {
		errs = append(errs, c.record.free())
	}
	return errors.Join(errs...)
}

// DType returns the type of keys and values.
func (c *Cache) DType() tensor.DType { return c.keys.DType() }
