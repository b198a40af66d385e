// Package selection tells which of many numbers come first, without ordering the rest.
//
// One rule says what comes before what:
//
//   - a NaN comes before every number, whether the largest numbers are asked for or the smallest;
//   - 0 and −0 are equal, and so are all NaNs;
//   - equals come in the order of their indices.
//
// Largest, for a few of many, keeps those in a heap; Heaviest, for as many as reach a sum, divides them like quicksort; and
// WithoutSmallest, for any share of them, counts digits. Package selectiontest has what each is compared with.
package selection

import "math"

// compare is negative where a comes before b among the largest, positive where it comes after, and 0 where they are equal.
func compare(a, b float32) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	case a == b:
		return 0
	case a == a: // b is NaN
		return 1
	case b == b:
		return -1
	}
	return 0
}

// ascendingKey maps a number to one whose order is that of the smallest numbers: both zeros are one, and NaN is the least.
func ascendingKey(x float32) uint32 {
	switch bits := math.Float32bits(x); {
	case x != x:
		return 0
	case x == 0:
		return 1 << 31
	case bits>>31 == 1: // negative: the larger the bits are, the smaller the number is
		return ^bits
	default:
		return bits | 1<<31
	}
}

// descendingKey maps a number to one whose order is that of the largest numbers: compare's.
func descendingKey(x float32) uint32 {
	if x != x {
		return 0
	}
	return ^ascendingKey(x)
}

// indexed returns a key that orders by key, and equals of that by index.
func indexed(key uint32, index int32) uint64 { return uint64(key)<<32 | uint64(uint32(index)) }

// threshold returns a number that exactly n of the keys, which all differ, do not exceed; n is at least 1 and at most their
// number. It finds the n-th smallest key digit by digit, counting how many have each digit, and stops where the keys that agree
// with it so far are all among the n: in time linear in the number of keys, whatever they are.
func threshold(keys []uint64, n int) uint64 {
	prefix := uint64(0) // the digits that are known
	for shift := 56; ; shift -= 8 {
		var count [256]int
		for _, k := range keys {
			if k>>shift>>8 == prefix {
				count[byte(k>>shift)]++
			}
		}
		digit := 0
		for ; n > count[digit]; digit++ {
			n -= count[digit]
		}
		prefix = prefix<<8 | uint64(digit)
		if n == count[digit] {
			return (prefix+1)<<shift - 1
		}
	}
}
