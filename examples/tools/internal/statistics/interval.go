// Package statistics computes how certain a number is that was measured a few times, and whether two such numbers differ.
//
// Times on a shared machine are not normally distributed: they have a floor, a long tail and slow drifts. Nothing here assumes a
// distribution. Values that are not finite are left out everywhere, and no result holds one.
//
// # When a difference is more than noise
//
// If a change made no difference, it is chance which of the measurements stand before it and which after it. So CompareAll exchanges them
// in all ways, or in some thousands if there are more ways than that, and looks how often a difference as large as the real one arises. If
// measurements before and after come in pairs that were taken one right after the other, only the two of a pair are exchanged: what drifts
// from pair to pair, such as the clock of a processor that warms up, is then no noise at all.
//
// Who looks at two hundred comparisons finds ten that only one in twenty would show by chance. CompareAll therefore asks of all comparisons
// together: a difference is certain if, with nothing changed, one as large against its noise would arise anywhere in fewer than one of a
// hundred such tables. A test by ranks (of Wilcoxon, or of Mann and Whitney) cannot do this: ten pairs that all rise have p = 2/1024 at the
// best, and two hundred comparisons ask for less than that. Therefore differences count by their size against the noise, as in Westfall and
// Young, "Resampling-Based Multiple Testing" (1993); the noise of a comparison is steadied by that of its kind, as in Tusher, Tibshirani
// and Chu, "Significance analysis of microarrays" (PNAS 98, 2001), since a handful of measurements may agree by luck; and outliers are drawn
// in, as Huber does.
//
// At least five measurements on each side are needed, or eight pairs: four against four fall apart completely in one of 35 cases by chance.
// Five against five do so in one of 126, which leaves little room in a table of many hundred comparisons: there six are needed.
//
// # How often that goes wrong and right
//
// TestSimulation makes tables of 24 cells with 7 metrics each, 168 comparisons. Their noise is lognormal with a standard deviation of 1, 2
// or 3 %, with outliers of up to 50 %. "In turn" are pairs while the clock wanders by some percent from round to round; "apart" is all
// before and then all after, on a clock that stays. A false alarm is a table in which anything unchanged is called a change; a slow-down of
// a tenth is looked for in the metric with 2 % noise, in one cell of a table or in all 24, and "found" is the part of these cells.
//
//	repetitions          outliers    false alarms  found, one cell of 24  found, all 24 cells
//	 5 in turn           1 of 25            0.5 %                   83 %                 55 %
//	 5 apart             1 of 25            0   %                   78 %                 50 %
//	 7 in turn           1 of 25            0.5 %                   79 %                 55 %
//	 7 apart             1 of 25            0.5 %                   80 %                 60 %
//	10 in turn           1 of 25            1   %                   96 %                 74 %
//	10 apart             1 of 25            0.5 %                   96 %                 71 %
//	 5 in turn           1 of 50            0.5 %                   88 %                 65 %
//	 5 apart             1 of 50            0.5 %                   88 %                 66 %
//	10 in turn           1 of 50            1   %                   99 %                 88 %
//
// False alarms are of 200 tables, known to about ± 1 %; slow-downs in one cell are of 100 tables, in all cells of 12. Were one of twenty
// tables allowed to have a false alarm, five repetitions in turn would find 87 and 75 % of the slow-downs, ten 98 and 95 %. What slowed all
// cells down is also seen in their mean, which suite compare compares too.
//
// Measurements apart while the clock wanders are another matter: with steps of 2 % from round to round, 5 to 12 % of 60 tables had false
// alarms (5 to 10 repetitions), since nothing in the measurements separates the clock from the program. Whoever compares such measurements
// must know the clock from elsewhere, and ask for more by Sample.Least.
package statistics

import (
	"math"
	"slices"
)

// Interval is the median of some measurements, and between which values the true median lies with a confidence of 95 %; of fewer than six
// measurements, between which values they all lie. Low ≤ Median ≤ High.
type Interval struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// IntervalOf returns the interval of some measurements, which it does not change. Without any it is the zero Interval.
func IntervalOf(values []float64) Interval {
	sorted := finite(values)
	n := len(sorted)
	if n == 0 {
		return Interval{}
	}
	slices.Sort(sorted)
	out := outsideMedian(n)
	return Interval{N: n, Median: medianOf(sorted), Low: sorted[out], High: sorted[n-1-out]}
}

// outsideMedian returns how many of n measurements may lie below an interval, and as many above it, that holds the true median with a
// confidence of 95 %. Each measurement lies below the median with a probability of a half, so their number is binomial.
func outsideMedian(n int) int {
	whole, _ := math.Lgamma(float64(n + 1))
	below := 0.0 // probability that no more than out measurements lie below the median
	for out := range n / 2 {
		chosen, _ := math.Lgamma(float64(out + 1))
		left, _ := math.Lgamma(float64(n - out + 1))
		below += math.Exp(whole - chosen - left - float64(n)*math.Ln2)
		if below > 0.025 {
			return max(out-1, 0)
		}
	}
	return max(n/2-1, 0)
}

// Median returns the median of some values, at least one, in any order. It does not change them.
func Median(values []float64) float64 { return medianOf(slices.Sorted(slices.Values(values))) }

// medianOf returns the median of sorted values.
func medianOf(sorted []float64) float64 {
	n := len(sorted)
	a, b := sorted[(n-1)/2], sorted[n/2]
	return a + (b/2 - a/2) // in this order nothing overflows, and the result lies between them
}

// finite returns a copy of the values that are numbers.
func finite(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// Relative returns half the interval's width as a part of the median: 0.02 for ± 2 %. Without a median it is infinite.
func (i Interval) Relative() float64 {
	if i.Median == 0 {
		return math.Inf(1)
	}
	return (i.High/2 - i.Low/2) / math.Abs(i.Median)
}
