//go:build !windows

package precise

import "time"

// Now returns the time.
func Now() time.Time { return time.Now() }
