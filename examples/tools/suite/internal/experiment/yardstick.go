package experiment

import (
	"runtime"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
)

// yardstickSteps make a piece of work of some 20 ms. It must not be changed: runs are comparable only if it is the same.
const yardstickSteps = 10_000_000

// yardstick returns how long steps steps take, in milliseconds: the best of three times. It is one chain of multiplications of integers,
// which no processor can shorten and which touches no memory, so that it shows the clock.
func yardstick(steps int) float64 {
	best := time.Duration(0)
	for i := range 3 {
		began, x := precise.Now(), uint64(1)
		for range steps {
			x = x*6364136223846793005 + 1442695040888963407
		}
		runtime.KeepAlive(x)
		if took := precise.Since(began); i == 0 || took < best {
			best = took
		}
	}
	return float64(best.Nanoseconds()) / 1e6
}
