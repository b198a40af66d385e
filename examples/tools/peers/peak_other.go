//go:build !unix

package main

import "os"

// peakBytes returns 0: the system reports no peak.
func peakBytes(*os.ProcessState) int64 { return 0 }
