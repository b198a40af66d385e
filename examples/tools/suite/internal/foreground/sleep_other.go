//go:build !linux

package foreground

import "time"

func sleep(d time.Duration) { time.Sleep(d) }
