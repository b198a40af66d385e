package flakyworkers

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Fault is what a worker does on purpose to one attempt at a bundle. The zero value does nothing.
//
// A fault is planted only if the job can survive it. Spared are the last attempt that a bundle has, an attempt that changed the runner's
// state for the bundle (which cannot be undone), and children that have such an attempt under way.
type Fault struct {
	// Fail declares the attempt failed when the child has answered that it succeeded.
	Fail bool
	// Kill ends the child (SIGKILL for a process) after the time After, or when it answers, whichever comes first.
	Kill  bool
	After time.Duration
}

// RandomFaults returns faults in the stated shares of attempts, drawn from a seed. Children are killed up to within after they got the
// bundle. It may be called by several goroutines.
func RandomFaults(seed uint64, failShare, killShare float64, within time.Duration) func() Fault {
	random := rand.New(rand.NewPCG(seed, 17))
	var mu sync.Mutex
	return func() Fault {
		mu.Lock()
		defer mu.Unlock()
		draw, after := random.Float64(), time.Duration(random.Int64N(int64(within)+1))
		switch {
		case draw < failShare:
			return Fault{Fail: true}
		case draw < failShare+killShare:
			return Fault{Kill: true, After: after}
		}
		return Fault{}
	}
}
