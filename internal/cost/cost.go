// Package cost measures for tests how much work costs, in processor time: other programs that run at the same time do not count. Its unit
// is a loop of arithmetic that takes about 100 ms on a server of today, so that a slow machine is no failure either.
package cost

import (
	"math"
	"sync"
)

// Units returns the cost of work, in units; 0 if the system does not say how long processors worked. All that the process does meanwhile
// counts, too: the test must not run in parallel with others of its package.
func Units(work func()) float64 {
	began := Seconds()
	work()
	return InUnits(Seconds() - began)
}

// InUnits returns seconds of processor time in units.
func InUnits(seconds float64) float64 {
	if seconds == 0 {
		return 0
	}
	return seconds / unit()
}

// unit returns the seconds that a unit takes on this processor, the least of three trials.
var unit = sync.OnceValue(func() float64 {
	least := math.Inf(1)
	for range 3 {
		began := Seconds()
		if spin(uint64(began*1e6)+1) == 0 {
			panic("a xorshift generator never comes to 0")
		}
		least = min(least, Seconds()-began)
	}
	return least
})

// steps is how long the loop of a unit is.
const steps = 1 << 26

// spin does the arithmetic of a unit.
func spin(x uint64) uint64 {
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
