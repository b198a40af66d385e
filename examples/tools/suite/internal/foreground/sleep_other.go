//go:build !linux

package foreground

import "time"

func sleep(d time.Duration) { time.Sleep(d) }

func ownTime() (t time.Duration, ok bool) { return 0, false }
