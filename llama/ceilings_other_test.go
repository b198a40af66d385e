//go:build !unix

package llama_test

import (
	"testing"
	"time"
)

func limitMemory(*testing.T) {}

var processStart = time.Now()

// cpuTime is the time on the clock where the processor's is not to be had.
func cpuTime() time.Duration { return time.Since(processStart) }
