package selection_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/internal/selection/selectiontest"
)

// checkFirst compares what First moves to the front, by counts, with the definition.
func checkFirst(t *testing.T, weights []float32, indices []int32, wanted int) {
	t.Helper()
	h, n := selection.Heaviest{Indices: indices, Weights: weights}, min(wanted, len(indices))
	order := selectiontest.Largest(weights)
	if got := h.First(float64(wanted), selection.One); got != n {
		t.Errorf("%d of %d are the first %d", got, len(weights), wanted)
		return
	}
	if n > 0 && h.Indices[n-1] != order[n-1] {
		t.Errorf("number %d of %d is index %d, want %d", n, len(weights), h.Indices[n-1], order[n-1])
	}
	front, want := slices.Clone(h.Indices[:n]), slices.Clone(order[:n])
	slices.Sort(front)
	slices.Sort(want)
	if !slices.Equal(front, want) {
		t.Errorf("the first %d of %d are %v, want %v", n, len(weights), front, want)
	}
}

// inOrder returns 0 … n-1, shuffled if random is not nil.
func inOrder(n int, random *rand.Rand) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	if random != nil {
		random.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list
}

func TestHeaviest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	for _, list := range selectiontest.Lists() {
		t.Run(list.Name, func(t *testing.T) {
			n := len(list.Numbers)
			for _, wanted := range []int{0, 1, 2, n / 3, n / 2, n - 1, n, n + 1} {
				checkFirst(t, list.Numbers, inOrder(n, nil), wanted)
				checkFirst(t, list.Numbers, inOrder(n, random), wanted)
			}
		})
	}
}

// TestHeaviestBySum stops at a sum of weights.
func TestHeaviestBySum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	for _, n := range []int{1, 2, 3, 50, 1000} {
		weights, total := make([]float32, n), 0
		for i := range weights {
			weights[i] = float32(random.IntN(1 + n/2)) // with ties; the sums are exact
			total += int(weights[i])
		}
		order := selectiontest.Largest(weights)
		for _, wanted := range []int{0, 1, total / 3, total / 2, total, total + 1} {
			h := selection.Heaviest{Indices: inOrder(n, random), Weights: weights}
			if sum := h.Sum(); sum != float64(total) {
				t.Errorf("the sum of %d weights is %g, want %d", n, sum, total)
			}
			got, want, sum := h.First(float64(wanted), h.Weight), 0, 0
			for want < n && sum < wanted {
				sum += int(weights[order[want]])
				want++
			}
			if got != want || got > 0 && h.Indices[got-1] != order[want-1] {
				t.Errorf("%d of %d reach %d of %d, want %d", got, n, wanted, total, want)
			}
		}
	}
}

// misleading returns weights for which the middle one of three is nearly the worst pivot, again and again: McIlroy's adversary (A
// Killer Adversary for Quicksort, 1999), which fixes a weight only when it must, so that what remains is heavy, plays against a
// division of the same form.
func misleading(n int) []float32 {
	const undecided = -1
	rank, list, decided, candidate := make([]int, n), inOrder(n, nil), 0, int32(0)
	for i := range rank {
		rank[i] = undecided
	}
	value := func(i int32) int {
		if rank[i] == undecided {
			return math.MaxInt
		}
		return rank[i]
	}
	before := func(a, b int32) bool { // the later decided, the heavier; undecided ones are the heaviest
		if rank[a] == undecided && rank[b] == undecided {
			fixed := a
			if a != candidate {
				fixed = b
			}
			rank[fixed] = decided
			decided++
		}
		if rank[a] == undecided {
			candidate = a
		} else if rank[b] == undecided {
			candidate = b
		}
		return value(a) > value(b)
	}
	for hi := n; hi > 1; {
		mid, last := hi/2, hi-1
		if before(list[mid], list[0]) {
			list[mid], list[0] = list[0], list[mid]
		}
		if before(list[last], list[mid]) {
			list[last], list[mid] = list[mid], list[last]
			if before(list[mid], list[0]) {
				list[mid], list[0] = list[0], list[mid]
			}
		}
		list[mid], list[last] = list[last], list[mid]
		at := 0
		for i := range last {
			if before(list[i], list[last]) {
				list[i], list[at] = list[at], list[i]
				at++
			}
		}
		list[at], list[last] = list[last], list[at]
		hi = at
	}
	weights := make([]float32, n)
	for i := range weights {
		weights[i] = float32(min(value(int32(i)), n))
	}
	return weights
}

// TestHeaviestIsNotMisled counts the work for weights that mislead the choice of pivots: it must not grow with the square of their
// number.
func TestHeaviestIsNotMisled(t *testing.T) {
	const n = 1 << 13
	weights := misleading(n)
	h, calls := selection.Heaviest{Indices: inOrder(n, nil), Weights: weights}, 0
	got := h.First(1, func(int32) float64 { calls++; return 1 })
	if got != 1 || h.Indices[0] != selectiontest.Largest(weights)[0] {
		t.Errorf("the heaviest of %d is said to be %v", n, h.Indices[:got])
	}
	if most := 100 * n; calls > most {
		t.Errorf("%d indices were counted to find the heaviest of %d, want at most %d", calls, n, most)
	}
}
