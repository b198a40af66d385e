//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
	"github.com/antigravity-go/antigravity/tensor"
)

// selectSlice is how many elements a group of the kernels of select.cl takes; more than half of that are not selected on the
// device.
const selectSlice = 2048

var selection = compiler.Of("common keys select", fmt.Sprintf("-DGROUP=%d -DSLICE=%d", groupSize, selectSlice))

// selections finds the largest elements of rows, and hides others.
type selections struct {
	*queue
	selects  bool     // Largest runs on the device
	selected []uint64 // keys that a selection has read
}

// top finds the largest elements of rows on the device and reads only these, all at once. If the device is a processor, its memory is
// the host's and its groups are slow to synchronise: then the host searches the rows in place.
func (s *selections) top(op *backend.Largest) error {
	wanted := op.Wanted()
	if wanted == 0 {
		return nil
	}
	if !s.selects || wanted > selectSlice/2 || !s.bothReady() {
		return s.opOnHost(op)
	}
	return s.compute(op, []*tensor.Tensor{op.X}, func(o operandSet) error {
		return s.largest(o[0], op.X.Shape().Dim(-1), wanted, op.Indices, op.Values)
	})
}

// bothReady reports whether the kernels of largest are ready.
func (s *selections) bothReady() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, second := s.ready(selection, "largest_of_floats"), s.ready(selection, "largest_of_runs")
	return first && second
}

// largest selects of rows of n elements, in passes. Each leaves a run of keys for each slice of the one before, until there is one run of
// each row.
func (s *selections) largest(x operand, n, wanted int, indices []int32, values []float32) error {
	k, err := s.kernel(selection, "largest_of_floats")
	if err != nil {
		return err
	}
	rows := len(indices) / wanted
	run := 1 << bits.Len(uint(wanted-1)) // the next power of two
	parts := groups(n, selectSlice)
	half := rows * parts * run // of the memory: each pass reads one and writes the other
	keys, err := s.scratchOf(selectScratch, 8*2*half)
	if err != nil {
		return err
	}
	if err := s.run("Largest", floats(k, x).Int(n).Int(run).Mem(keys), groupSize, parts, rows, 1); err != nil {
		return err
	}
	from := 0
	for parts > 1 {
		n, to := parts*run, half-from
		parts = groups(n, selectSlice)
		if k, err = s.kernel(selection, "largest_of_runs"); err != nil {
			return err
		}
		if err := s.run("Largest", k.Mem(keys).Int(from).Int(n).Int(run).Int(to), groupSize, parts, rows, 1); err != nil {
			return err
		}
		from = to
	}
	s.pending = 0
	if len(s.selected) < rows*run {
		s.selected = make([]uint64, max(rows*run, 64))
	}
	found := s.selected[:rows*run]
	if err := s.context.Peek(keys, 8*from, unsafe.Slice((*byte)(unsafe.Pointer(&found[0])), 8*len(found))); err != nil {
		return s.fail(fmt.Sprintf("read the %d largest of %d rows", wanted, rows), err)
	}
	doubtful := false // NaN: so it is, too, if groups have not met
	for i := range indices {
		key := found[i/wanted*run+i%wanted]
		indices[i], values[i] = int32(^uint32(key)), ordered(uint32(key>>32))
		doubtful = doubtful || values[i] != values[i]
	}
	if doubtful {
		return s.fail("find the largest", s.context.Waited())
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

// mask writes -Inf to the elements that are not allowed, without waiting.
func (s *selections) mask(op *backend.Mask) error {
	x, allowed := op.X, op.Allowed
	if len(allowed) == 0 {
		return nil
	}
	return s.compute(op, []*tensor.Tensor{x}, func(o operandSet) error {
		k, err := s.kernel(elementwise, "mask")
		if err != nil {
			return err
		}
		bits, err := s.scratchOf(maskScratch, 8*len(allowed))
		if err != nil {
			return err
		}
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(allowed))), 8*len(allowed)) // both sides are little-endian
		if err := s.send("send a mask", bits, 0, bytes); err != nil {
			return err
		}
		n := x.Shape().Dim(-1)
		return s.run("Mask", floats(k, o[0]).Mem(bits).Int(n).Int(2*op.Words()), groupSize, groups(n, groupSize), x.Shape().Rows(), 1)
	})
}
