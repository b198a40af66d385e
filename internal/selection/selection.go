// Package selection finds those of many numbers that come first, without ordering the rest.
//
// One rule says what comes before what:
//
//   - a NaN comes before every number, whether the largest numbers are asked for or the smallest;
//   - 0 and −0 are equal, and so are all NaNs;
//   - equals come in the order of their indices.
//
// Largest finds a given number of elements, few of many, and keeps them in a heap. Heaviest finds as many elements as it
// takes to reach a sum, and divides the list as quicksort does. WithoutSmallest finds all but a given number, and counts
// digits as a radix sort does. Package selectiontest has the reference that tests compare each of them with.
package selection

import "math"

// compare returns a negative number if a comes before b among the largest, a positive one if a comes after b, and 0 if they are equal.
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

// ascendingKey maps a number to a key: the smaller the number, the smaller its key. Both zeros have one key, and all NaNs
// have the least.
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

// descendingKey maps a number to a key: the larger the number, the smaller its key. All NaNs have the least. The order of
// the keys is that of compare.
func descendingKey(x float32) uint32 {
	if x != x {
		return 0
	}
	return ^ascendingKey(x)
}

// indexed returns a key that orders by key and, among equal keys, by index.
func indexed(key uint32, index int32) uint64 { return uint64(key)<<32 | uint64(uint32(index)) }

// at returns the index that is part of a key of indexed.
func at(key uint64) int32 { return int32(uint32(key)) }

// threshold returns a number that exactly n of the keys do not exceed; the keys all differ, and 1 ≤ n ≤ len(keys). It finds
// the n-th smallest key byte by byte from the highest, by counting how many keys have each value of a byte, and stops as
// soon as all keys that begin with the bytes found so far are among the n smallest. It takes linear time, whatever the keys
// are.
func threshold(keys []uint64, n int) uint64 {
	prefix := uint64(0) // the bytes that are known
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
