package statistics

import "math"

// Quantile returns the least value of a sorted list that a part of the list, from 0 to 1, does not exceed; of an empty list, zero.
func Quantile[T any](sorted []T, part float64) (value T) {
	n := len(sorted)
	if n == 0 {
		return value
	}
	return sorted[min(max(int(math.Ceil(part*float64(n)))-1, 0), n-1)]
}
