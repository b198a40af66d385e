package selection

import (
	"math"
	"math/bits"
)

// Mask writes -Inf to the elements of x that are not allowed: element i is allowed if bit i%64 of allowed[i/64] is 1. allowed has
// ⌈len(x)/64⌉ words; the bits from len(x) on may be anything.
func Mask(x []float32, allowed []uint64) {
	never := float32(math.Inf(-1))
	for len(x) > 0 {
		part := x[:min(64, len(x))]
		x = x[len(part):]
		forbidden := ^allowed[0] << (64 - len(part)) >> (64 - len(part))
		allowed = allowed[1:]
		if forbidden == math.MaxUint64 {
			for i := range part {
				part[i] = never
			}
			continue
		}
		for ; forbidden != 0; forbidden &= forbidden - 1 {
			part[bits.TrailingZeros64(forbidden)] = never
		}
	}
}
