package results

import "slices"

// thin chooses at most limit of n points, in their order: the first, the last, and from each stretch of points, for each value, the points
// with the least and the largest one. So a line through them has the outline of the line through all. If limit is too small for that, the
// result has the first point, the last point and those of one stretch.
func thin(n, limit int, values func(i int) []float64) []int {
	if n == 0 {
		return nil
	}
	if n <= limit {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all
	}
	each := 2 * len(values(0)) // points that a stretch may keep
	stretches := max((limit-2)/each, 1)
	kept := []int{0, n - 1}
	for s := range stretches {
		begin, end := s*n/stretches, (s+1)*n/stretches
		if begin == end {
			continue
		}
		first := values(begin)
		least, largest := slices.Repeat([]int{begin}, len(first)), slices.Repeat([]int{begin}, len(first))
		low, high := slices.Clone(first), slices.Clone(first)
		for i := begin + 1; i < end; i++ {
			for j, x := range values(i) {
				if x < low[j] {
					low[j], least[j] = x, i
				}
				if x > high[j] {
					high[j], largest[j] = x, i
				}
			}
		}
		kept = append(append(kept, least...), largest...)
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}
