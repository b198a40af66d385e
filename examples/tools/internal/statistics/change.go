package statistics

import (
	"cmp"
	"math"
	"slices"
)

// certainty bounds the probability that, if nothing changed, anything in a table is called a change. With 0.05 changes would be seen a
// little sooner, but whoever compares every day would search for the reason of nothing once a month.
const certainty = 0.01

// Sample is a comparison: measurements of one thing before and after a change.
type Sample struct {
	Before, After []float64
	// Paired says that Before[i] and After[i], which are equally many, were measured one soon after the other, and in the same round the
	// i-th pairs of all samples of the same Kind that have as many.
	Paired bool
	Kind   string  // the samples of a table with one Kind have similar noise: they measure the same in several cells
	Least  float64 // changes that are not larger than this part are not worth telling: 0.02 for 2 %
}

// Change compares measurements before and after a change. All its numbers are finite.
type Change struct {
	Before Interval `json:"before"`
	After  Interval `json:"after"`
	Pairs  int      `json:"pairs,omitempty"` // compared pair by pair; 0: all before against all after

	// Ratio is after ÷ before: the median of the ratios of all combinations, by Hodges and Lehmann, which is near to the ratio of the
	// medians. It lies between Low and High with a confidence of 95 %, or as near to it as fewer than four measurements on each side allow.
	// All three are 0 if there is no ratio: a side is empty, or a value is not above 0.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`

	// P is how likely a difference as large as this is anywhere in the table if nothing changed. It is 1 for too few measurements, and 0
	// for an exact change.
	P       float64 `json:"p"`
	Certain bool    `json:"certain"`         // beyond noise, and large enough to be worth telling
	Exact   bool    `json:"exact,omitempty"` // each side's measurements are all the same, two at the least: there is no noise
	Few     bool    `json:"few,omitempty"`   // even the clearest difference could arise by chance, of so few measurements
}

// Compare compares measurements before and after a change, on their own: see CompareAll for a table of comparisons.
func Compare(before, after []float64) Change {
	return CompareAll([]Sample{{Before: before, After: after}})[0]
}

// CompareAll compares each of the samples. The probabilities are those of the whole table: the more is compared, the larger must a
// difference be to be certain.
func CompareAll(samples []Sample) []Change {
	changes := make([]Change, len(samples))
	samples = slices.Clone(samples)
	differences := make([]*difference, len(samples))
	for i := range samples {
		samples[i].dropNonFinite()
		differences[i] = newDifference(&samples[i])
	}
	removeCommonDrift(differences)
	var tests []*test // one for each sample that can be tested
	for i, d := range differences {
		c, s := &changes[i], samples[i]
		*c = Change{Before: IntervalOf(s.Before), After: IntervalOf(s.After), P: 1}
		if d.paired || d.levelled {
			c.Pairs = len(s.Before)
		}
		c.Ratio, c.Low, c.High = d.ratio()
		switch {
		case constant(s.Before) && constant(s.After):
			c.Exact = true
			if s.Before[0] != s.After[0] {
				c.P = 0
			}
		case d.smallestP() > certainty:
			c.Few = true
		default:
			tests = append(tests, newTest(c, d))
		}
	}
	studentize(tests)
	setProbabilities(tests)
	for i := range changes {
		c := &changes[i]
		c.Certain = c.P <= certainty && c.exceeds(samples[i].Least) && (c.Exact || c.Ratio == 0 || c.Low > 1 || c.High < 1)
	}
	return changes
}

// dropNonFinite takes a copy of the measurements without those that are not finite, and with them their partners.
func (s *Sample) dropNonFinite() {
	if s.Paired = s.Paired && len(s.Before) == len(s.After); !s.Paired {
		s.Before, s.After = finite(s.Before), finite(s.After)
		return
	}
	var before, after []float64
	for i, b := range s.Before {
		if a := s.After[i]; len(finite([]float64{a, b})) == 2 {
			before, after = append(before, b), append(after, a)
		}
	}
	s.Before, s.After = before, after
}

// constant reports whether there are two values or more, all the same.
func constant(values []float64) bool {
	return len(values) > 1 && slices.Min(values) == slices.Max(values)
}

// Increased reports whether there is more after than before.
func (c *Change) Increased() bool {
	if c.Ratio > 0 {
		return c.Ratio > 1
	}
	return c.After.Median > c.Before.Median
}

// exceeds reports whether the change is larger than a part. Without a ratio the medians' difference counts as a part of the larger one.
func (c *Change) exceeds(part float64) bool {
	if c.Ratio > 0 {
		return math.Abs(math.Log(c.Ratio)) > math.Log1p(max(part, 0))
	}
	a, b := c.Before.Median, c.After.Median
	return math.Abs(b/2-a/2) > part/2*max(math.Abs(a), math.Abs(b))
}

// test is a comparison: its difference is held against those that arise when measurements are exchanged.
type test struct {
	change *Change
	kind   string
	chance []float64 // the differences that arise, ascending; then against the noise
	real   float64   // the real difference; then against the noise
	noise  func(difference float64) float64
}

func newTest(c *Change, d *difference) *test {
	t := &test{change: c, kind: d.kind}
	t.real, t.chance, t.noise = d.permute()
	slices.Sort(t.chance)
	return t
}

// studentize divides each test's differences by their noise, to which the median noise of the tests of its kind is added.
func studentize(tests []*test) {
	noises := map[string][]float64{}
	for _, t := range tests {
		noises[t.kind] = append(noises[t.kind], t.noise(t.real))
	}
	for _, list := range noises {
		slices.Sort(list)
	}
	for _, t := range tests {
		usual := medianOf(noises[t.kind])
		against := func(difference float64) float64 {
			if difference == 0 {
				return 0
			}
			return difference / (t.noise(difference) + usual) // which may be infinite: all measurements differ by exactly the same
		}
		t.real = against(t.real)
		for i, difference := range t.chance {
			t.chance[i] = against(difference) // rises with the difference: the list stays sorted
		}
	}
}

// setProbabilities gives each test's change its P: the clearest first, and each among those that are not clearer than it.
func setProbabilities(tests []*test) {
	slices.SortStableFunc(tests, func(a, b *test) int { return cmp.Compare(b.real, a.real) })
	least := 0.0
	for i, t := range tests {
		none := 1.0 // probability that no test shows so large a difference by chance
		for _, other := range tests[i:] {
			none *= 1 - other.shareAtLeast(t.real)
		}
		least = max(least, 1-none)
		t.change.P = min(least, 1)
	}
}

// shareAtLeast returns which part of the differences that arise by chance is at least as large as a real one.
func (t *test) shareAtLeast(real float64) float64 {
	if real == 0 {
		return 1
	}
	at, _ := slices.BinarySearch(t.chance, real*(1-1e-9)) // sums in another order differ in their last digits
	return float64(len(t.chance)-at) / float64(len(t.chance))
}
