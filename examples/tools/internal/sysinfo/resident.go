package sysinfo

import "sync"

// Resident says how much memory the program has resident. It is safe for concurrent use.
type Resident struct {
	mu     sync.Mutex
	source residentSource
}

// OpenResident begins to watch the program's memory.
func OpenResident() *Resident { return &Resident{source: openResident()} }

// Bytes returns the resident memory, as the system counts it: pages of mapped files included, once they have been touched. On macOS it is
// the most there has been. It is 0 if the system does not report it. It takes some microseconds.
func (r *Resident) Bytes() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.source.bytes()
}

// Close ends watching.
func (r *Resident) Close() error { return r.source.close() }
