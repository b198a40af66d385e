//go:build !(linux || darwin || freebsd || windows)

package hub

// freeBytes returns how many bytes this user can write where a folder is, and whether that is known.
func freeBytes(string) (int64, bool) { return 0, false }

// isFull tells whether an error says that there is no room on the disk, where that can be told.
func isFull(error) bool { return false }
