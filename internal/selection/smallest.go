package selection

// WithoutSmallest appends to kept the indices, in ascending order, of all elements of x but the n smallest; 0 ≤ n ≤ len(x).
func WithoutSmallest(kept []int, x []float32, n int) []int {
	limit, all := uint64(0), n == 0
	keys := make([]uint64, len(x))
	for i, v := range x {
		keys[i] = indexed(ascendingKey(v), int32(i))
	}
	if !all {
		limit = threshold(keys, n)
	}
	for i, k := range keys {
		if all || k > limit {
			kept = append(kept, i)
		}
	}
	return kept
}
