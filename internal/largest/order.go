package largest

import "slices"

// Order returns where all elements stand, the largest first, by the definition that Find has: slowly, in new memory. It is what
// faster ways are compared with.
func Order(x []float32) []int32 {
	order := make([]int32, len(x))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(i, j int32) int {
		a, b := x[i], x[j]
		switch {
		case a > b, a != a && b == b:
			return -1
		case a < b, b != b && a == a:
			return 1
		}
		return 0
	})
	return order
}
