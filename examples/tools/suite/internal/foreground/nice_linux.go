package foreground

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// nicenessKnown says that setNice can do anything.
const nicenessKnown = true

// setNice gives every thread of this process a niceness. Linux keeps it by threads, and new threads have that of the one that started
// them, so it looks again until it has found no thread that is new.
func setNice(niceness int) error {
	done := map[int]bool{}
	for {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("set the niceness: %w", err)
		}
		changed := false
		for _, entry := range threads {
			thread, err := strconv.Atoi(entry.Name())
			if err != nil || done[thread] {
				continue
			}
			err = unix.Setpriority(unix.PRIO_PROCESS, thread, niceness)
			if err == unix.EACCES || err == unix.EPERM {
				return fmt.Errorf("set the niceness to %d: only root may go below what a process has, which is 0 as a rule: %w", niceness, err)
			}
			if err != nil && err != unix.ESRCH { // a thread that is gone needs no niceness
				return fmt.Errorf("set the niceness to %d: %w", niceness, err)
			}
			done[thread], changed = true, true
		}
		if !changed {
			return nil
		}
	}
}
