//go:build linux || darwin || freebsd

package hub

import (
	"errors"

	"golang.org/x/sys/unix"
)

// freeBytes returns how many bytes this user can write to a folder's disk, and whether that is known.
func freeBytes(folder string) (int64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}

// isFull reports whether an error says that there is no room, on the disk or for this user.
func isFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
