package compare

import (
	"math"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// measured makes repetitions 1, 2, … that began at some seconds.
func measured(seconds ...int) (list []Measurement) {
	for i, s := range seconds {
		list = append(list, Measurement{i + 1, time.Unix(int64(s), 0), float64(100*s + i)})
	}
	return list
}

func TestSamplesAreInPairsWhereTheyWereMeasuredInTurn(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []Measurement
		paired        bool
		n             int // values before
	}{
		{"in turn", measured(1, 3, 5), measured(2, 4, 6), true, 3},
		{"in changing order", measured(1, 4, 5), measured(2, 3, 6), true, 3},
		{"one after the other", measured(1, 2, 3), measured(4, 5, 6), false, 3},
		{"one is missing", measured(1, 3, 5), measured(2, 4), true, 2},
		{"many are missing", measured(1, 3, 5, 7, 9, 11), measured(2, 4), false, 6},
		{"one against one", measured(1), measured(2), false, 1},
		{"none", nil, measured(2), false, 0},
	} {
		s := Sample(runs.Metrics[0], c.before, c.after)
		if s.Paired != c.paired || len(s.Before) != c.n || c.paired && len(s.After) != c.n || s.Kind != runs.Metrics[0].Name {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

func TestClock(t *testing.T) {
	for _, c := range []struct {
		before, after []float64
		want          float64
	}{
		{[]float64{10, 10, 11}, []float64{12, 12}, 1.2},
		{[]float64{10, 0, math.NaN(), -1}, []float64{5}, 0.5},
		{nil, []float64{5}, 1},
		{[]float64{math.SmallestNonzeroFloat64}, []float64{math.MaxFloat64}, 1},
	} {
		if got := ClockRatio(c.before, c.after); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v, %v: %v, want %v", c.before, c.after, got, c.want)
		}
	}
}

func TestLeast(t *testing.T) {
	for name, want := range map[string]float64{"generating": 0.122, "first": 0.122, "load": 0.122, "accuracy": 0, "evictions": 0, "resident": 0.02} {
		m, _ := runs.MetricNamed(name)
		for _, clock := range []float64{1.1, 1 / 1.1} { // quicker or slower alike
			if got := LeastChange(m, Threshold, clock); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s on a clock of %v: %v, want %v", name, clock, got, want)
			}
		}
	}
}
