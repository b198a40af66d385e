package results

import "slices"

// compare stands in for spread.Compare until it is there.
func compare(before, after []float64) (ratio, low, high float64, certain bool) {
	a, b := slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(after))
	if a[0] <= 0 || b[0] <= 0 {
		return 1, 1, 1, false
	}
	ratio, low, high = b[len(b)/2]/a[len(a)/2], b[0]/a[len(a)-1], b[len(b)-1]/a[0]
	return ratio, low, high, len(a) >= 4 && len(b) >= 4 && (low > 1 || high < 1)
}
