package statistics

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// The simulated table: cells of a matrix, and metrics with noise.
const (
	cells   = 24
	metrics = 7
)

// noise is how simulated measurements scatter. Each is lognormal with a standard deviation of its metric: 1, 2 or 3 %; one in 25 is an
// outlier, which is up to 50 % slower.
type noise struct {
	random *rand.Rand
	drift  float64 // standard deviation of the clock's step from round to round; it pulls back, so that the clock stays within some percent
	clock  float64
}

// round goes on to the next round.
func (n *noise) round() { n.clock = 0.8*n.clock + n.drift*n.random.NormFloat64() }

// measure returns a measurement of what takes 1.
func (n *noise) measure(metric int) float64 {
	x := n.clock + float64(1+metric%3)/100*n.random.NormFloat64()
	if n.random.IntN(25) == 0 {
		x += 0.5 * n.random.Float64()
	}
	return math.Exp(x)
}

// table simulates rounds over the matrix, before and after a change. Paired: each round measures both, one after the other; else all
// rounds before come first. In the first slower cells all metrics take more by a part.
func table(n *noise, rounds int, paired bool, slower int, part float64) []Sample {
	samples := make([]Sample, cells*metrics)
	for i := range samples {
		samples[i] = Sample{Paired: paired, Kind: fmt.Sprint(i % metrics), Least: 0.02}
	}
	side := func(after bool) {
		for i := range samples {
			s, x := &samples[i], n.measure(i%metrics)
			switch {
			case !after:
				s.Before = append(s.Before, x)
			case i/metrics < slower:
				s.After = append(s.After, x*(1+part))
			default:
				s.After = append(s.After, x)
			}
		}
	}
	if paired {
		for range rounds {
			n.round()
			side(false)
			side(true)
		}
		return samples
	}
	for _, after := range []bool{false, true} {
		for range rounds {
			n.round()
			side(after)
		}
	}
	return samples
}

// outcome counts the findings in simulated tables: in how many tables anything unchanged was called a change, and which part of the changes
// of the metric with 2 % noise was found.
func outcome(tables, rounds int, paired bool, drift float64, slower int, part float64) (alarms, found float64) {
	n := &noise{random: rand.New(rand.NewPCG(uint64(rounds), uint64(slower))), drift: drift}
	changed, seen := 0, 0
	for range tables {
		n.clock = 0
		alarm := false
		for i, c := range CompareAll(table(n, rounds, paired, slower, part)) {
			switch {
			case i/metrics >= slower:
				alarm = alarm || c.Certain
			case i%metrics == 1:
				changed++
				if c.Certain && c.Ratio > 1 {
					seen++
				}
			}
		}
		if alarm {
			alarms++
		}
	}
	return alarms / float64(tables), float64(seen) / float64(max(changed, 1))
}

// TestSimulation counts how often the comparison is right, as the package's documentation says; ANTIGRAVITY_TABLES sets how many tables are
// made of each kind, for the documentation 100 or more; without it only few, of ten rounds.
func TestSimulation(t *testing.T) {
	tables, err := strconv.Atoi(cmp.Or(os.Getenv("ANTIGRAVITY_TABLES"), "4"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rounds int
		paired bool
		drift  float64
		found  [2]float64 // at the least, of a slow-down by a tenth in one cell, and in all
	}{
		{5, true, 0.02, [2]float64{}}, {7, true, 0.02, [2]float64{}}, {10, true, 0.02, [2]float64{0.9, 0.6}},
		{5, false, 0, [2]float64{}}, {7, false, 0, [2]float64{}}, {10, false, 0, [2]float64{0.9, 0.6}},
	} {
		if c.rounds != 10 && os.Getenv("ANTIGRAVITY_TABLES") == "" {
			continue
		}
		alarms, _ := outcome(tables, c.rounds, c.paired, c.drift, 0, 0)
		_, one := outcome(tables, c.rounds, c.paired, c.drift, 1, 0.1)
		_, all := outcome(max(tables/8, 1), c.rounds, c.paired, c.drift, cells, 0.1)
		t.Logf("%2d rounds, in turn %5v, drift %.2f: false alarms %.3f; a tenth found in one cell %.3f, in all cells %.3f", c.rounds, c.paired, c.drift, alarms, one, all)
		if limit := certainty + 3*math.Sqrt(certainty*(1-certainty)/float64(tables)); alarms > limit {
			t.Errorf("%d rounds: false alarms in %.3f of the tables", c.rounds, alarms)
		}
		if one < c.found[0] || all < c.found[1] {
			t.Errorf("%d rounds: found %.3f in one cell, %.3f in all", c.rounds, one, all)
		}
	}
}
