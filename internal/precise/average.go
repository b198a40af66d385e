package precise

import "time"

// Average is a running mean of a duration that changes slowly. The first averageWindow values count equally; after them each
// new value has the weight 1/averageWindow, and those before it fade. The zero value is the mean of no values.
type Average struct {
	Mean  time.Duration
	Count int // of values so far, at most averageWindow
}

// averageWindow is about how many of the latest values the mean is of.
const averageWindow = 8

// Add adds a value to the mean.
func (a *Average) Add(d time.Duration) {
	if a.Count < averageWindow {
		a.Count++
	}
	a.Mean += (d - a.Mean) / time.Duration(a.Count)
}
