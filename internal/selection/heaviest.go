package selection

import "math/bits"

// Heaviest is a list of indices of weights. It is ordered by weight, the heaviest first, but only as far as it must be to know which come
// first. It is Hoare's selection (Algorithm 65, CACM 1961) with sums in place of counts.
type Heaviest struct {
	Indices []int32 // of elements of Weights, each at most once, in any order; First moves them
	Weights []float32
}

// Weight returns the weight at an index.
func (h *Heaviest) Weight(index int32) float64 { return float64(h.Weights[index]) }

// One returns 1 for every index: with it First finds a number of indices instead of a sum of weights.
func One(int32) float64 { return 1 }

// Sum returns the sum of the weights of the list.
func (h *Heaviest) Sum() (sum float64) {
	for _, i := range h.Indices {
		sum += h.Weight(i)
	}
	return sum
}

// First moves the heaviest indices to the front of the list, and returns how many it takes until Σ of(index) ≥ wanted; or
// the length of the list, if its sum is less. If First returns n, Indices[n-1] is the n-th heaviest; the indices before it
// and those behind it are in no order.
func (h *Heaviest) First(wanted float64, of func(index int32) float64) int {
	lo, hi, before := 0, len(h.Indices), 0.0
	// The loop takes about as many rounds as hi has bits. If it takes more than four times as many, the weights were made to
	// mislead the choice of pivots: from then on the pivot is the median, which takes longer to find, but halves the list.
	for rounds, most := 0, 4*bits.Len(uint(hi)); lo < hi; rounds++ {
		if rounds < most {
			h.middleOfThreeLast(lo, hi)
		} else {
			h.medianLast(lo, hi)
		}
		at := h.partition(lo, hi)
		sum := before
		for _, i := range h.Indices[lo:at] {
			sum += of(i)
		}
		if sum >= wanted {
			hi = at
			continue
		}
		before, lo = sum+of(h.Indices[at]), at+1
		if before >= wanted {
			return lo
		}
	}
	return lo
}

// before reports whether index a comes before index b.
func (h *Heaviest) before(a, b int32) bool {
	if order := compare(h.Weights[a], h.Weights[b]); order != 0 {
		return order < 0
	}
	return a < b
}

// partition takes the last index of [lo, hi) as the pivot, moves the indices that come before it to its left and the others to its right,
// and returns the pivot's new place.
func (h *Heaviest) partition(lo, hi int) int {
	t, last, at := h.Indices, hi-1, lo
	for i := lo; i < last; i++ {
		if h.before(t[i], t[last]) {
			t[i], t[at] = t[at], t[i]
			at++
		}
	}
	t[at], t[last] = t[last], t[at]
	return at
}

// middleOfThreeLast brings the first, the middle and the last index of [lo, hi) in order, and then the middle one of the three to
// the end.
func (h *Heaviest) middleOfThreeLast(lo, hi int) {
	t := h.Indices
	mid, last := lo+(hi-lo)/2, hi-1
	if h.before(t[mid], t[lo]) {
		t[mid], t[lo] = t[lo], t[mid]
	}
	if h.before(t[last], t[mid]) {
		t[last], t[mid] = t[mid], t[last]
		if h.before(t[mid], t[lo]) {
			t[mid], t[lo] = t[lo], t[mid]
		}
	}
	t[mid], t[last] = t[last], t[mid]
}

// medianLast brings the median of the indices of [lo, hi) to the end.
func (h *Heaviest) medianLast(lo, hi int) {
	t := h.Indices[lo:hi]
	keys := make([]uint64, len(t))
	for i, index := range t {
		keys[i] = indexed(descendingKey(h.Weights[index]), index)
	}
	limit, median := threshold(keys, (len(t)+1)/2), -1
	for i, k := range keys {
		if k <= limit && (median < 0 || k > keys[median]) {
			median = i
		}
	}
	last := len(t) - 1
	t[median], t[last] = t[last], t[median]
}
