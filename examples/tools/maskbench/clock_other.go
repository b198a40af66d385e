//go:build !linux

package main

import "time"

// threadTime returns that the time of a thread is not known.
func threadTime() (time.Duration, bool) { return 0, false }
