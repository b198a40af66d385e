//go:build !linux

package main

// peakRSS returns 0: there is no portable way to ask.
func peakRSS() int64 { return 0 }
