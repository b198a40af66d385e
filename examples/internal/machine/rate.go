package machine

import (
	"sync"
	"time"
)

// bestRate lets each of some threads repeat its step for a while, several times over, and returns the most that all of them
// together did in a second. A step returns how much it did.
func bestRate(threads int, window time.Duration, newStep func(thread int) func() int) (best float64) {
	steps := make([]func() int, threads)
	for i := range steps {
		steps[i] = newStep(i)
		steps[i]() // touches the memory that the measured ones use
	}
	for range windows {
		rates := make([]float64, threads)
		var wait sync.WaitGroup
		for i, step := range steps {
			wait.Go(func() { rates[i] = rate(window, step) })
		}
		wait.Wait()
		total := 0.0
		for _, r := range rates {
			total += r
		}
		best = max(best, total)
	}
	return best
}

// rate repeats a step for a while and returns how much was done in a second.
func rate(window time.Duration, step func() int) float64 {
	began, done := time.Now(), 0
	for {
		done += step()
		if took := time.Since(began); took >= window {
			return float64(done) / took.Seconds()
		}
	}
}
