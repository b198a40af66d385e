package llama

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOrder compares what comes first with what sorting says.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	for _, n := range []int{1, 2, 3, 50, 1000} {
		weights := make([]float32, n)
		for i := range weights {
			weights[i] = float32(random.IntN(1 + n/2)) // with ties
		}
		sorted := make([]int32, n)
		for i := range sorted {
			sorted[i] = int32(i)
		}
		slices.SortFunc(sorted, func(a, b int32) int {
			if weights[a] != weights[b] {
				return int(weights[b] - weights[a])
			}
			return int(a - b)
		})
		total := 0
		for _, w := range weights {
			total += int(w)
		}
		for _, wanted := range []int{0, 1, total / 3, total / 2, total, total + 1} {
			o := order{tokens: random32(random, n), weights: weights}
			got, want, sum := o.first(float64(wanted), o.weight), 0, 0
			for want < n && sum < wanted {
				sum += int(weights[sorted[want]])
				want++
			}
			if got != want {
				t.Errorf("%d of %d reach %d of %d, want %d", got, n, wanted, total, want)
				continue
			}
			front := slices.Clone(o.tokens[:got])
			slices.Sort(front)
			first := slices.Clone(sorted[:want])
			slices.Sort(first)
			if !slices.Equal(front, first) || got > 0 && o.tokens[got-1] != sorted[want-1] {
				t.Errorf("%d of %d: not the first ones are in front, or the last of them is not the last", got, n)
			}
		}
	}
}

// random32 returns 0 … n-1 in random order.
func random32(random *rand.Rand, n int) (list []int32) {
	for _, i := range random.Perm(n) {
		list = append(list, int32(i))
	}
	return list
}
