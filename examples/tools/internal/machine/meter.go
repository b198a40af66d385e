package machine

import (
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
)

// step does a little work, and returns how much in the unit that is measured: bytes, or multiply-accumulates.
type step func() int

// meter measures how much work some threads do together in a second.
type meter struct {
	best  *float64 // the most so far
	steps []step   // one for each thread
}

// newMeter makes a step for each thread.
func newMeter(best *float64, threads int, newStep func(thread int) step) meter {
	m := meter{best, make([]step, threads)}
	for i := range m.steps {
		m.steps[i] = newStep(i)
	}
	return m
}

// measure lets each thread repeat its step for a while.
func (m meter) measure(window time.Duration) {
	rates := make([]float64, len(m.steps))
	var wait sync.WaitGroup
	for i, s := range m.steps {
		wait.Go(func() { rates[i] = s.rate(window) })
	}
	wait.Wait()
	total := 0.0
	for _, r := range rates {
		total += r
	}
	*m.best = max(*m.best, total)
}

// rate repeats the step for a while and returns how much was done in a second.
func (s step) rate(window time.Duration) float64 {
	began, done := precise.Now(), 0.0
	for {
		done += float64(s())
		if took := precise.Since(began); took >= window {
			return done / took.Seconds()
		}
	}
}
