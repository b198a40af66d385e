package llama

// order is a list of tokens that is put in order as far as it takes to tell which come first: by weight, the heaviest first, and
// then by number. It is Hoare's selection (Algorithm 65, CACM 1961) with sums in place of counts.
type order struct {
	tokens  []int32
	weights []float32 // of all tokens, by number
}

// before tells whether token a comes before token b.
func (o *order) before(a, b int32) bool {
	if x, y := o.weights[a], o.weights[b]; x != y {
		return x > y
	}
	return a < b
}

func (o *order) weight(t int32) float64 { return float64(o.weights[t]) }

// one weighs tokens alike.
func one(int32) float64 { return 1 }

// sum returns the weights' sum.
func (o *order) sum() (sum float64) {
	for _, t := range o.tokens {
		sum += o.weight(t)
	}
	return sum
}

// first returns how many tokens it takes, from the first in order, for a sum of something about them to reach what is wanted:
// all when it does not. It leaves these in front, the last of them as the last.
func (o *order) first(wanted float64, of func(t int32) float64) int {
	lo, hi, before := 0, len(o.tokens), 0.0
	for lo < hi {
		at := o.partition(lo, hi)
		sum := before
		for _, t := range o.tokens[lo:at] {
			sum += of(t)
		}
		if sum >= wanted {
			hi = at
			continue
		}
		before, lo = sum+of(o.tokens[at]), at+1
		if before >= wanted {
			return lo
		}
	}
	return lo
}

// partition brings the tokens of [lo, hi) that come before one of them before it, and the others behind it, and returns where
// that one is.
func (o *order) partition(lo, hi int) int {
	t := o.tokens
	mid, last := lo+(hi-lo)/2, hi-1
	// The middle one of three is the pivot, and goes to the end meanwhile.
	if o.before(t[mid], t[lo]) {
		t[mid], t[lo] = t[lo], t[mid]
	}
	if o.before(t[last], t[mid]) {
		t[last], t[mid] = t[mid], t[last]
		if o.before(t[mid], t[lo]) {
			t[mid], t[lo] = t[lo], t[mid]
		}
	}
	t[mid], t[last] = t[last], t[mid]
	at := lo
	for i := lo; i < last; i++ {
		if o.before(t[i], t[last]) {
			t[i], t[at] = t[at], t[i]
			at++
		}
	}
	t[at], t[last] = t[last], t[at]
	return at
}
