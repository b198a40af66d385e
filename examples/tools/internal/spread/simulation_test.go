package spread

import (
	"fmt"
	"math"
	"math/rand/v2"
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

// outcome counts what was found in simulated tables: in how many tables anything was called a change that was none, and which part of
// the changes of the metric with 2 % noise was found.
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

func TestSimulation(t *testing.T) {
	for _, rounds := range []int{4, 5, 6, 7, 10, 20} {
		for _, paired := range []bool{true, false} {
			for _, drift := range []float64{0, 0.02} {
				fa, _ := outcome(60, rounds, paired, drift, 0, 0)
				f1, f10 := outcome(60, rounds, paired, drift, 1, 0.1)
				f24, f24f := outcome(10, rounds, paired, drift, 24, 0.1)
				_, f5 := outcome(60, rounds, paired, drift, 1, 0.05)
				t.Logf("%2d paired %5v drift %.2f: alarms %.3f; one slower by 10%%: alarms %.3f found %.3f; all: %.2f %.3f; one slower by 5 %%: found %.3f", rounds, paired, drift, fa, f1, f10, f24, f24f, f5)
			}
		}
	}
}
