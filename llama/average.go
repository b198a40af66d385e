package llama

import "time"

// average is a running mean of a duration that changes slowly. The first averageWindow values count equally; after them each
// new value has the weight 1/averageWindow, and those before it fade.
type average struct {
	mean  time.Duration
	count int // of values so far, at most averageWindow
}

// averageWindow is about how many of the latest values the mean is of.
const averageWindow = 8

// add adds a value to the mean.
func (a *average) add(d time.Duration) {
	if a.count < averageWindow {
		a.count++
	}
	a.mean += (d - a.mean) / time.Duration(a.count)
}
