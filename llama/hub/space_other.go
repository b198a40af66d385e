//go:build !(linux || darwin || freebsd || windows)

package hub

// freeBytes returns how many bytes this user can write to a folder's disk, and whether that is known.
func freeBytes(string) (int64, bool) { return 0, false }

// isFull reports whether an error says that there is no room on the disk. On this system it is always false.
func isFull(error) bool { return false }
