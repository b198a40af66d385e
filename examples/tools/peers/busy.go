package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
)

// errBusy says that the machine has other work.
var errBusy = errors.New("the machine is busy: its figures would say little")

// errUnknownLoad says that the system does not report what the processors do.
var errUnknownLoad = errors.New("nobody knows whether the machine is idle")

// clock is how long a machine's processors have worked and been idle, in ticks of a hundredth of a second.
type clock struct {
	busy, all float64
	known     bool // the system reports it
}

// tick is what Linux counts the processors' time in.
const tick = 10 * time.Millisecond

// readClock reads the time of all processors; that which other virtual machines took counts as work.
func readClock() clock {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return clock{}
	}
	return parseClock(string(data))
}

// parseClock reads the first line of /proc/stat: cpu, and the ticks in user code, nice, the system, idle, waiting, interrupts (2) and stolen.
func parseClock(stat string) (c clock) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return clock{}
	}
	for i, field := range fields[1:9] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return clock{}
		}
		c.all += ticks
		if i != 3 && i != 4 {
			c.busy += ticks
		}
	}
	c.known = true
	return c
}

// othersUntil returns the part of the processors' time that was taken until another clock by others than a process that took own; 0 if it is not known.
func (c clock) othersUntil(end clock, own time.Duration) float64 {
	if !c.known || !end.known || end.all <= c.all {
		return 0
	}
	return (end.busy - c.busy - float64(own)/float64(tick)) / (end.all - c.all)
}

// awaitIdle waits until the machine's processors are idle, all but a part of them, over a second.
func awaitIdle(ctx context.Context, part float64, patience time.Duration) error {
	if part >= 1 {
		return nil
	}
	for began := precise.Now(); ; {
		before := readClock()
		if !before.known {
			return fmt.Errorf("%s does not report the time of its processors, so that %w; -busy 1 does not ask", runtime.GOOS, errUnknownLoad)
		}
		timer := time.NewTimer(time.Second)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		share := before.othersUntil(readClock(), 0)
		if share <= part {
			return nil
		}
		if precise.Since(began) > patience {
			return fmt.Errorf("other programs took %.0f %% of the processors' time for %v: %w", 100*share, patience, errBusy)
		}
	}
}
