package statistics

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestOf(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		want   Interval
	}{
		{"none", nil, Interval{}},
		{"one", []float64{3}, Interval{1, 3, 3, 3}},
		{"two", []float64{4, 2}, Interval{2, 3, 2, 4}},
		{"five, all of them", []float64{5, 1, 4, 2, 3}, Interval{5, 3, 1, 5}},
		{"nine, one outside on each side", []float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, Interval{9, 5, 2, 8}},
		{"not finite", []float64{math.NaN(), 1, math.Inf(1), math.Inf(-1)}, Interval{1, 1, 1, 1}},
		{"large", []float64{-math.MaxFloat64, math.MaxFloat64}, Interval{2, 0, -math.MaxFloat64, math.MaxFloat64}},
	}
	for _, test := range tests {
		if got := IntervalOf(test.values); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
	if r := IntervalOf([]float64{98, 100, 102}).Relative(); math.Abs(r-0.02) > 1e-12 {
		t.Errorf("relative %v", r)
	}
	if r := IntervalOf([]float64{0}).Relative(); !math.IsInf(r, 1) {
		t.Errorf("relative to 0: %v", r)
	}
}

// The numbers are those of published tables of the sign test: how many of n measurements lie below the interval.
func TestOutside(t *testing.T) {
	for n, want := range map[int]int{6: 0, 8: 0, 9: 1, 12: 2, 20: 5, 50: 17, 100: 39} {
		if got := outsideMedian(n); got != want {
			t.Errorf("of %d measurements %d lie outside, want %d", n, got, want)
		}
	}
	if got := outsideMedian(5000); got < 2420 || got > 2440 { // 2500 − 1.96 √1250
		t.Errorf("of 5000 measurements %d lie outside", got)
	}
}

// The critical values for 5 % on two sides are those of published tables of Wilcoxon, and of Mann and Whitney.
func TestCriticalValues(t *testing.T) {
	for n, want := range map[int]float64{5: 0, 6: 0, 7: 2, 8: 3, 10: 8, 20: 52} {
		if got := signedRankTail(n) * float64(n*(n+1)/2); math.Abs(got-want) > 1e-9 {
			t.Errorf("signed ranks of %d pairs: %v, want %v", n, got, want)
		}
	}
	for sides, want := range map[[2]int]float64{{3, 3}: 0, {4, 4}: 0, {5, 5}: 2, {5, 8}: 6, {10, 10}: 23, {20, 20}: 127} {
		if got := rankSumTail(sides[0], sides[1]) * float64(sides[0]*sides[1]); math.Abs(got-want) > 1e-9 {
			t.Errorf("U of %v: %v, want %v", sides, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	tests := []struct {
		name          string
		before, after []float64
		want          Change // its P, Certain, Exact and Few
	}{
		{"nothing", nil, nil, Change{P: 1, Few: true}},
		{"three against three", []float64{1, 2, 3}, []float64{11, 12, 13}, Change{P: 1, Few: true}},
		{"four against four", []float64{1, 2, 3, 4}, []float64{11, 12, 13, 14}, Change{P: 1, Few: true}},
		{"five against five", []float64{1, 2, 3, 4, 5}, []float64{11, 12, 13, 14, 15}, Change{P: 2. / 252, Certain: true}},
		{"five against five, mixed", []float64{1, 2, 3, 4, 12}, []float64{11, 5, 13, 14, 15}, Change{P: 6. / 252}},
		{"the same counts", []float64{3, 3}, []float64{3, 3, 3}, Change{P: 1, Exact: true}},
		{"other counts", []float64{3, 3}, []float64{4, 4}, Change{Certain: true, Exact: true}},
		{"from none", []float64{0, 0}, []float64{4, 4}, Change{Certain: true, Exact: true}},
		{"a single count", []float64{3}, []float64{4}, Change{P: 1, Few: true}},
		{"not above 0", []float64{0, 1, -1, 0, 0}, []float64{11, 12, 13, 14, 15}, Change{P: 2. / 252, Certain: true}},
	}
	for _, test := range tests {
		got := Compare(test.before, test.after)
		if math.Abs(got.P-test.want.P) > 1e-9 || got.Certain != test.want.Certain || got.Exact != test.want.Exact || got.Few != test.want.Few {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
	c := Compare([]float64{100, 101, 99, 100.5}, []float64{110, 111, 109, 110.5})
	if math.Abs(c.Ratio-1.1) > 0.005 || c.Low > c.Ratio || c.High < c.Ratio || c.Low < 1.05 || c.High > 1.15 {
		t.Errorf("a tenth more: %+v", c)
	}
}

func TestPairsIgnoreDrift(t *testing.T) {
	var before, after []float64
	for i := range 8 { // the clock halves its pace meanwhile, and after is always 4 to 6 % more
		x := 100 * math.Exp2(-float64(i)/8)
		before, after = append(before, x), append(after, x*(1.05+0.01*float64(i%3-1)))
	}
	if c := CompareAll([]Sample{{Before: before, After: after, Paired: true}})[0]; !c.Certain || c.Pairs != 8 || c.Low < 1.03 || c.High > 1.07 {
		t.Errorf("in pairs: %+v", c)
	}
	if c := Compare(before, after); c.Certain {
		t.Errorf("not in pairs: %+v", c)
	}
}

func TestLeast(t *testing.T) {
	s := Sample{Before: []float64{100, 100.1, 100.2, 100.3, 100.4}, After: []float64{101, 101.1, 101.2, 101.3, 101.4}}
	for least, want := range map[float64]bool{0: true, 0.005: true, 0.02: false} {
		s.Least = least
		if c := CompareAll([]Sample{s})[0]; c.Certain != want {
			t.Errorf("1 %% where %v is the least: certain is %v", least, c.Certain)
		}
	}
}

// check fails unless a Change is as its documentation says, for whatever measurements.
func check(t *testing.T, before, after []float64) {
	t.Helper()
	for _, paired := range []bool{false, true} {
		there := CompareAll([]Sample{{Before: before, After: after, Paired: paired}})[0]
		back := CompareAll([]Sample{{Before: after, After: before, Paired: paired}})[0]
		for _, c := range []Change{there, back} {
			if _, err := json.Marshal(c); err != nil {
				t.Fatalf("%v, %v: %v", before, after, err)
			}
			for _, i := range []Interval{c.Before, c.After} {
				if i.Low > i.Median || i.Median > i.High {
					t.Fatalf("%v, %v: %+v", before, after, i)
				}
			}
			if c.Low > c.Ratio || c.Ratio > c.High || c.Ratio < 0 || c.P < 0 || c.P > 1 {
				t.Fatalf("%v, %v: %+v", before, after, c)
			}
		}
		if there.Ratio*back.Ratio == 0 {
			continue // a ratio beyond the largest number may have a neighbour within
		}
		for _, p := range [][2]float64{{there.Ratio, back.Ratio}, {there.Low, back.High}, {there.High, back.Low}} {
			if off := p[0]*p[1] - 1; math.Abs(off) > 1e-6 && p[0] > 1e-300 && p[0] < 1e300 {
				t.Fatalf("%v, %v: %+v forth, %+v back", before, after, there, back)
			}
		}
	}
}

func FuzzCompare(f *testing.F) {
	for _, seed := range [][]byte{nil, {1}, []byte("0123456789abcdef0123456789abcdef"), make([]byte, 200)} {
		f.Add(seed, uint8(2))
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		var values []float64
		for ; len(data) >= 3 && len(values) < 40; data = data[3:] { // a mantissa, an exponent, and what no ratio has
			x := math.Ldexp(1+float64(data[0])/256, int(data[1])-128)
			if data[2] < 16 {
				x = []float64{0, -x, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324}[data[2]%8]
			}
			values = append(values, x)
		}
		n := min(int(cut), len(values))
		check(t, values[:n], values[n:])
	})
}

func TestCompareOfAnything(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	odd := []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324, 1, 1, 2}
	for range 300 {
		var sides [2][]float64
		for i := range sides {
			for range random.IntN(9) {
				x := math.Exp(random.NormFloat64())
				if random.IntN(6) == 0 {
					x = odd[random.IntN(len(odd))]
				}
				sides[i] = append(sides[i], x)
			}
		}
		check(t, sides[0], sides[1])
	}
}

func TestScaleDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var before, after, before8, after8 []float64
		for range 4 + random.IntN(8) {
			x, y := math.Exp(random.NormFloat64()), math.Exp(0.5+random.NormFloat64())
			before, after, before8, after8 = append(before, x), append(after, y), append(before8, 8*x), append(after8, 8*y)
		}
		a, b := Compare(before, after), Compare(before8, after8)
		if math.Abs(a.Ratio/b.Ratio-1) > 1e-9 || math.Abs(a.P-b.P) > 1e-9 || b.Before.Median != 8*a.Before.Median {
			t.Fatalf("%+v, eight times as large %+v", a, b)
		}
	}
}

func TestThousands(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var before, after []float64
	for range 3000 {
		before, after = append(before, math.Exp(random.NormFloat64())), append(after, math.Exp(0.2+random.NormFloat64()))
	}
	given := slices.Clone(before)
	c := Compare(before, after)
	if !c.Certain || c.Ratio < 1.1 || c.Ratio > 1.35 {
		t.Errorf("%+v", c)
	}
	if !slices.Equal(before, given) {
		t.Error("the measurements were changed")
	}
	if c := CompareAll([]Sample{{Before: before, After: after, Paired: true}})[0]; !c.Certain || c.Pairs != 3000 {
		t.Errorf("in pairs: %+v", c)
	}
}
