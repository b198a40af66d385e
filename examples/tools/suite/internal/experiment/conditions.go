package experiment

import (
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

const (
	conditionEvery = time.Second / 2 // between two samples, in a run that is not long
	maxConditions  = 1000            // samples
)

// watch asks for the machine's condition now and then, on a goroutine of its own, until stop is called, which returns the answers. When
// there are too many, every other one is dropped, and only half as many are taken from then on.
func watch(began time.Time, ask func() runs.Condition) (stop func() []runs.Condition) {
	done, result := make(chan struct{}), make(chan []runs.Condition)
	go func() {
		var list []runs.Condition
		every := conditionEvery
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			if c := ask(); c != (runs.Condition{}) { // the machine reports something
				c.At = time.Since(began).Round(time.Millisecond).Seconds()
				list = append(list, c)
			}
			if len(list) == maxConditions {
				for i := range maxConditions / 2 {
					list[i] = list[2*i]
				}
				list, every = list[:maxConditions/2], 2*every
				ticker.Reset(every)
			}
			select {
			case <-ticker.C:
			case <-done:
				result <- list
				return
			}
		}
	}()
	return func() []runs.Condition {
		close(done)
		return <-result
	}
}
