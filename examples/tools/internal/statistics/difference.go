package statistics

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A difference is tested by exchanging measurements: if nothing changed, it is chance which stand before and which after. permute computes
// the difference for all exchanges, or for some of them by chance. The code compares logarithms, with outliers drawn in; with plain
// numbers, the means of 1, 2, 3 before and 7, 8, 9 after are 6 apart:
//
//	before 1 2 3   after 7 8 9   6      the real difference
//	before 1 2 7   after 3 8 9   3.33
//	…                            17 others, less than 6
//	before 7 8 9   after 1 2 3   6
//
// 2 of the 20 ways are as far apart as the real one. So P is at least 1 in 10: too few measurements to be certain.

// difference is what a Sample's measurements are compared by: their logarithms, so that a ratio is a difference, or they themselves if one
// is not above 0. There are as many before as after if they are paired.
type difference struct {
	before, after []float64
	paired        bool
	levelled      bool // they were in pairs, and what these shared has been taken out
	logs          bool
	kind          string // the Sample's, and whether it is one of logarithms
}

// minPairs is how many pairs are needed to compare them pair by pair: the signs of fewer agree too often by chance. Fewer are compared
// as if they were no pairs, which is right too: drifts that both share only make it look the noisier.
const minPairs = 8

// minForDrift is how many differences are needed to find the drift that all measurements of a round share.
const minForDrift = 8

func newDifference(s *Sample) *difference {
	d := &difference{before: slices.Clone(s.Before), after: slices.Clone(s.After), paired: s.Paired, kind: s.Kind}
	low := func(x float64) bool { return x <= 0 }
	d.logs = !slices.ContainsFunc(d.before, low) && !slices.ContainsFunc(d.after, low)
	if !d.logs {
		d.kind += ", not as ratios"
	}
	for _, list := range [][]float64{d.before, d.after} {
		for i, x := range list {
			if d.logs {
				list[i] = math.Log(x)
			} else {
				list[i] = x / 4 // so that differences and their sums do not overflow; only their relations count
			}
		}
	}
	return d
}

// removeCommonDrift takes out of differences in pairs what a round has in common, such as a clock that wanders: it is the median, over all
// of their kind, of how far the round's measurements are off their medians. Afterwards they need not be compared pair by pair, which leaves
// more ways to exchange them. Few differences stay in pairs.
func removeCommonDrift(list []*difference) {
	type rounds struct {
		kind string
		n    int
	}
	groups := map[rounds][]*difference{}
	for _, d := range list {
		if n := len(d.before); d.paired && d.logs && n > 1 {
			groups[rounds{d.kind, n}] = append(groups[rounds{d.kind, n}], d)
		}
	}
	for key, group := range groups {
		if len(group) < minForDrift {
			continue
		}
		off := make([][]float64, key.n)
		for _, d := range group {
			d.paired, d.levelled = false, true
			for _, side := range [][]float64{d.before, d.after} {
				usual := Median(side)
				for i, x := range side {
					off[i] = append(off[i], x-usual)
				}
			}
		}
		for i, all := range off {
			slices.Sort(all)
			common := medianOf(all)
			for _, d := range group {
				d.before[i] -= common
				d.after[i] -= common
			}
		}
	}
	for _, d := range list {
		d.paired = d.paired && len(d.before) >= minPairs
	}
}

// pairDifferences returns after − before of each pair.
func (d *difference) pairDifferences() []float64 {
	list := make([]float64, len(d.before))
	for i, b := range d.before {
		list[i] = d.after[i] - b
	}
	return list
}

// permutations returns in how many ways the measurements can be exchanged between before and after.
func (d *difference) permutations() float64 {
	if d.paired {
		return math.Exp2(float64(len(d.before)))
	}
	n, m := float64(len(d.before)), float64(len(d.after))
	permutations := 1.0
	for i := 1.0; i <= min(n, m); i++ {
		permutations *= (max(n, m) + i) / i
	}
	return permutations
}

// smallestP returns the smallest P that a difference can have: the clearest difference and its opposite are two of all permutations.
func (d *difference) smallestP() float64 {
	if len(d.before) < 2 || len(d.after) < 2 {
		return 1
	}
	return 2 / d.permutations()
}

// The number of ways to exchange that are tried; fewer for thousands of measurements.
const (
	manyWays = 2000
	someWays = 500
	work     = 4_000_000 // measurements that are exchanged altogether, about
)

// permute returns the size of the real difference and of those that arise when measurements are exchanged: in all ways, or in some by
// chance, always the same. The first is the real one. The noise of a difference is its standard error.
func (d *difference) permute() (real float64, chance []float64, noise func(float64) float64) {
	random := rand.New(rand.NewPCG(15, 24))
	all := d.permutations() <= manyWays
	n := len(d.before) + len(d.after)
	count := max(min(manyWays, work/n), someWays)
	if d.paired {
		rises := clampOutliers(d.pairDifferences(), 0)
		return permutePairs(rises, all, count, random)
	}
	pool := slices.Concat(d.before, d.after)
	sorted := slices.Sorted(slices.Values(pool))
	pool = clampOutliers(pool, medianOf(sorted))
	return permuteGroups(pool, len(d.before), all, count, random)
}

// clampOutliers draws outliers in: no value is farther from the centre than twice what half of them are. That is not changed by exchanging
// them.
func clampOutliers(values []float64, centre float64) []float64 {
	far := make([]float64, len(values))
	for i, x := range values {
		far[i] = math.Abs(x - centre)
	}
	slices.Sort(far)
	most := 2 * medianOf(far)
	for i, x := range values {
		values[i] = x - centre
		if most > 0 {
			values[i] = max(min(x-centre, most), -most)
		}
	}
	return values
}

// permutePairs exchanges the two of each pair or does not: their rise changes its sign.
func permutePairs(rises []float64, all bool, count int, random *rand.Rand) (float64, []float64, func(float64) float64) {
	n := float64(len(rises))
	squares := 0.0
	for _, x := range rises {
		squares += x * x
	}
	if all {
		count = 1 << len(rises)
	}
	chance := make([]float64, count)
	for way := range chance {
		sum, bits := 0.0, uint64(way)
		for i, x := range rises {
			if !all && way > 0 && i%64 == 0 {
				bits = random.Uint64()
			}
			if bits>>(i%64)&1 != 0 {
				x = -x
			}
			sum += x
		}
		chance[way] = math.Abs(sum) / n
	}
	return chance[0], chance, func(mean float64) float64 { return math.Sqrt(max(squares-n*mean*mean, 0) / (n * (n - 1))) }
}

// permuteGroups takes any of the values for those before; the first ones are.
func permuteGroups(pool []float64, before int, all bool, count int, random *rand.Rand) (float64, []float64, func(float64) float64) {
	n, m := float64(before), float64(len(pool)-before)
	total, squares := 0.0, 0.0
	for _, x := range pool {
		total += x
	}
	mean := total / (n + m)
	for _, x := range pool {
		squares += (x - mean) * (x - mean)
	}
	difference := func(sum float64) float64 { return math.Abs((total-sum)/m - sum/n) }
	var chance []float64
	if all {
		chance = appendSums(nil, pool, before, 0)
	} else {
		chance = make([]float64, count)
		for way := range chance {
			if way > 0 { // the first places, each given to any of those that are left
				for i := range before {
					j := i + random.IntN(len(pool)-i)
					pool[i], pool[j] = pool[j], pool[i]
				}
			}
			for _, x := range pool[:before] {
				chance[way] += x
			}
		}
	}
	for i, sum := range chance {
		chance[i] = difference(sum)
	}
	return chance[0], chance, func(apart float64) float64 {
		return math.Sqrt(max(squares-apart*apart*n*m/(n+m), 0) / (n + m - 2) * (1/n + 1/m))
	}
}

// appendSums appends the sums of all choices of some of the values, added to a sum. The first choice is the first values.
func appendSums(sums, values []float64, choose int, sum float64) []float64 {
	switch {
	case choose == 0:
		return append(sums, sum)
	case choose > len(values):
		return sums
	}
	sums = appendSums(sums, values[1:], choose-1, sum+values[0])
	return appendSums(sums, values[1:], choose, sum)
}
