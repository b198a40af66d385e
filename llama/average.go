package llama

import "time"

// average follows a duration that changes slowly.
type average struct {
	mean  time.Duration
	count int
}

// averageOf is about how many values count.
const averageOf = 8

// add counts another value.
func (a *average) add(d time.Duration) {
	if a.count < averageOf {
		a.count++
	}
	a.mean += (d - a.mean) / time.Duration(a.count)
}
