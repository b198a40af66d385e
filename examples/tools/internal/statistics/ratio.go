package statistics

import (
	"math"
	"slices"
)

// manyValues is how many measurements of a side are combined with each other; of more, manyValues are taken evenly.
const manyValues = 600

// ratio returns the estimate of Hodges and Lehmann with its interval of 95 %; of few measurements, all the combinations there are.
func (d *difference) ratio() (ratio, low, high float64) {
	if !d.logs || len(d.before) == 0 || len(d.after) == 0 {
		return 0, 0, 0
	}
	var list []float64
	var out float64 // part of the combinations that may lie below the interval, and as many above it
	if d.paired {
		rises := evenSample(d.pairDifferences())
		for i, x := range rises {
			for _, y := range rises[i:] {
				list = append(list, x+(y-x)/2)
			}
		}
		out = signedRankTail(len(d.before))
	} else {
		before, after := evenSample(d.before), evenSample(d.after)
		for _, b := range before {
			for _, a := range after {
				list = append(list, a-b)
			}
		}
		out = rankSumTail(len(d.before), len(d.after))
	}
	slices.Sort(list)
	k := min(int(out*float64(len(list))+1e-9), (len(list)-1)/2)
	ratio, low, high = math.Exp(medianOf(list)), math.Exp(list[k]), math.Exp(list[len(list)-1-k])
	if low == 0 || math.IsInf(high, 0) {
		return 0, 0, 0 // so far apart that no number can hold the ratio
	}
	return ratio, low, high
}

// evenSample returns the values, sorted, or some that lie evenly among them.
func evenSample(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) <= manyValues {
		return sorted
	}
	thin := make([]float64, manyValues)
	for i := range thin {
		thin[i] = sorted[i*(len(sorted)-1)/(manyValues-1)]
	}
	return thin
}

// signedRankTail returns which part of the means of two rises (or of one) of n may lie below an interval of 95 %: how many do is distributed
// as Wilcoxon's sum of signed ranks.
func signedRankTail(n int) float64 {
	all := float64(n) * float64(n+1) / 2
	if n > 40 {
		return max(all/2-1.96*math.Sqrt(all*float64(2*n+1)/12), 0) / all
	}
	counts := make([]float64, int(all)+1) // of the sets of ranks with each sum
	counts[0] = 1
	for rank := 1; rank <= n; rank++ {
		for sum := len(counts) - 1; sum >= rank; sum-- {
			counts[sum] += counts[sum-rank]
		}
	}
	return tailCount(counts, math.Exp2(float64(n))) / all
}

// rankSumTail returns which part of the differences of n values from m may lie below an interval of 95 %: how many do is distributed as
// the U of Mann and Whitney.
func rankSumTail(n, m int) float64 {
	all := float64(n) * float64(m)
	if n+m > 50 {
		return max(all/2-1.96*math.Sqrt(all*float64(n+m+1)/12), 0) / all
	}
	// Of the ways to lay n values among m, the number with each U: the coefficients of the Gaussian binomial, which are whole numbers
	// below 2⁵³ here.
	counts := make([]float64, n*m+1)
	counts[0] = 1
	permutations := 1.0
	for i := 1; i <= n; i++ {
		for u := len(counts) - 1; u >= m+i; u-- {
			counts[u] -= counts[u-m-i]
		}
		for u := i; u < len(counts); u++ {
			counts[u] += counts[u-i]
		}
		permutations *= float64(m+i) / float64(i)
	}
	return tailCount(counts, permutations) / all
}

// tailCount returns how many combinations may lie outside on one side: the largest k for which no more than k lie there in at most 2.5 % of
// all ways; 0 if there is no such k.
func tailCount(counts []float64, permutations float64) float64 {
	below := 0.0
	for k, count := range counts {
		below += count
		if below > 0.025*permutations {
			return float64(max(k-1, 0))
		}
	}
	return 0
}
