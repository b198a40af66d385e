// Package precise reads the time for measurements. Go's time.Now steps by half a millisecond to sixteen on Windows: there a token of a
// small model would take no time at all. Elsewhere it is precise, and Now is time.Now.
//
// A time of this package and one of package time may be as far apart as those steps, and a second in some hours: subtract only times of the
// same package.
package precise

import "time"

// Since returns how much time has passed since t, which Now returned.
func Since(t time.Time) time.Duration { return Now().Sub(t) }
