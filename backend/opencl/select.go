//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// selectSlice is how many elements a group of the kernels of select.cl takes; more than half of that are not selected on the
// device.
const selectSlice = 2048

var selection = program{"common select", fmt.Sprintf("-DGROUP=%d -DSLICE=%d", groupSize, selectSlice)}

// Largest finds the largest elements of rows on the device and reads only these, all at once. Where the device is a processor,
// whose memory is the host's and which is slow to meet in, the host searches the rows where they lie.
func (b *Backend) Largest(x *tensor.Tensor, indices []int32, values []float32) error {
	wanted, err := backend.CheckLargest(x, indices, values)
	if err != nil || len(indices) == 0 {
		return err
	}
	b.mu.Lock()
	from := b.operand(x)
	if !from.ok || !b.selects || wanted > selectSlice/2 {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.Largest(x, indices, values) })
	}
	defer b.mu.Unlock()
	return b.largest(from, x.Shape().Dim(-1), wanted, indices, values)
}

// largest selects of rows of n elements, in passes, each of which leaves a run of keys for each slice of the one before, until
// there is one run of each row.
func (b *Backend) largest(x operand, n, wanted int, indices []int32, values []float32) error {
	k, err := b.kernel(selection, "largest_of_floats")
	if err != nil {
		return err
	}
	rows := len(indices) / wanted
	run := 1 << bits.Len(uint(wanted-1)) // the next power of two
	parts := groups(n, selectSlice)
	half := rows * parts * run // of the memory: each pass reads one and writes the other
	keys, err := b.scratchOf(selectScratch, 8*2*half)
	if err != nil {
		return err
	}
	k.Mem(x.mem).Int(x.elements(4)).Int(n).Int(run).Mem(keys)
	if err := b.enqueued("Largest", k.Run([3]int{parts, rows, 1}, [3]int{groupSize, 1, 1})); err != nil {
		return err
	}
	from := 0
	for parts > 1 {
		n, to := parts*run, half-from
		parts = groups(n, selectSlice)
		if k, err = b.kernel(selection, "largest_of_runs"); err != nil {
			return err
		}
		k.Mem(keys).Int(from).Int(n).Int(run).Int(to)
		if err := b.enqueued("Largest", k.Run([3]int{parts, rows, 1}, [3]int{groupSize, 1, 1})); err != nil {
			return err
		}
		from = to
	}
	b.pending = 0
	if len(b.selected) < rows*run {
		b.selected = make([]uint64, max(rows*run, 64))
	}
	found := b.selected[:rows*run]
	if err := b.context.Read(keys, 8*from, unsafe.Slice((*byte)(unsafe.Pointer(&found[0])), 8*len(found))); err != nil {
		return b.fail(fmt.Sprintf("read the %d largest of %d rows", wanted, rows), err)
	}
	for i := range indices {
		key := found[i/wanted*run+i%wanted]
		indices[i], values[i] = int32(^uint32(key)), ordered(uint32(key>>32))
	}
	return nil
}

// ordered returns the float of a place in the kernels' order.
func ordered(place uint32) float32 {
	if place>>31 != 0 {
		return math.Float32frombits(place &^ (1 << 31))
	}
	return math.Float32frombits(^place)
}

// Mask writes -Inf to the elements that are not allowed, without waiting.
func (b *Backend) Mask(x *tensor.Tensor, allowed []uint64) error {
	words, err := backend.CheckMask(x, allowed)
	if err != nil || len(allowed) == 0 {
		return err
	}
	b.mu.Lock()
	to := b.operand(x)
	if !to.ok {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.Mask(x, allowed) })
	}
	defer b.mu.Unlock()
	k, err := b.kernel(elementwise, "mask")
	if err != nil {
		return err
	}
	bits, err := b.scratchOf(maskScratch, 8*len(allowed))
	if err != nil {
		return err
	}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(allowed))), 8*len(allowed)) // both sides are little-endian
	if err := b.enqueued("send a mask", b.staging.write(b.context, bits, 0, bytes)); err != nil {
		return err
	}
	n := x.Shape().Dim(-1)
	k.Mem(to.mem).Int(to.elements(4)).Mem(bits).Int(n).Int(2 * words)
	return b.enqueued("Mask", k.Run([3]int{groups(n, groupSize), x.Shape().Rows(), 1}, [3]int{groupSize, 1, 1}))
}
