package monitor

import "io"

// A source is one figure that bounds the process's memory.
type source interface {
	name() string
	// available is eviction.Monitor's Available. buf, of bufferSize bytes, is scratch memory for it.
	available(buf []byte) (int64, error)
	io.Closer
}

// bufferSize is more than the kernel writes into any file that a source reads up to the line it looks for (memory.stat
// has some 2 KiB, /proc/meminfo 1.5 KiB).
const bufferSize = 8192
