package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// longestWait bounds the waits of Rename. Each is twice as long as the one before; together they take about a second.
const longestWait = time.Second

// Rename renames a file, and replaces the file that has the name. Windows refuses that while anything has one of the two files open: a
// reader, another writer that renames, a virus scanner. So Rename waits for them, at most two seconds.
func Rename(from, to string) error { return rename(from, to, time.Sleep) }

func rename(from, to string, sleep func(time.Duration)) error {
	for wait := time.Millisecond; ; wait *= 2 {
		err := os.Rename(from, to)
		if !errors.Is(err, windows.ERROR_ACCESS_DENIED) && !errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
			return err
		}
		if wait > longestWait {
			return fmt.Errorf("%w (does a program have this file open?)", err)
		}
		sleep(wait)
	}
}
