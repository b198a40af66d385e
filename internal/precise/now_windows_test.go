package precise

import (
	"math"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		counts, rate int64
		want         time.Duration
	}{
		{0, 10_000_000, 0},
		{1, 10_000_000, 100},
		{12_345_678, 10_000_000, 1_234_567_800},
		{math.MaxInt64 / 1000, 10_000_000, 922_337_203_685_477_500}, // 29 years
		{7, 3, 2_333_333_333},
		{2_999_999_999, 3_000_000_000, 999_999_999}, // a counter in the processor
	} {
		if got := duration(c.counts, c.rate); got != c.want {
			t.Errorf("%d counts of %d a second take %v, want %v", c.counts, c.rate, got, c.want)
		}
	}
}
