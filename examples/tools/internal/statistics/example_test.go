package statistics_test

import (
	"fmt"

	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// Ten runs before a change and ten after it, in tokens a second: the first pair of samples differs by noise, the second by a tenth.
func ExampleCompareAll() {
	before := []float64{120.1, 119.4, 121.0, 118.8, 120.6, 119.9, 120.3, 121.2, 119.0, 120.0}
	noise := []float64{119.7, 120.8, 119.2, 120.5, 118.9, 120.2, 121.1, 119.6, 120.4, 119.8}
	slower := []float64{108.3, 107.1, 109.0, 107.7, 108.8, 107.9, 108.1, 109.3, 107.4, 108.5}
	for _, c := range statistics.CompareAll([]statistics.Sample{{Before: before, After: noise}, {Before: before, After: slower}}) {
		fmt.Printf("%.1f → %.1f, ratio %.3f between %.3f and %.3f, certain: %t\n", c.Before.Median, c.After.Median, c.Ratio, c.Low, c.High, c.Certain)
	}
	// Output:
	// 120.0 → 120.0, ratio 0.999 between 0.993 and 1.007, certain: false
	// 120.0 → 108.2, ratio 0.902 between 0.895 and 0.908, certain: true
}
