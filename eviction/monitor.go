package eviction

// A Monitor reports how much memory the process can still use; package eviction/monitor has some. Its methods are safe for use by several
// goroutines. A monitor that holds files open is an io.Closer too.
type Monitor interface {
	// Name names the sources that are measured, for reports: "cgroup v2 /sys/fs/cgroup/app.slice, /proc/meminfo".
	Name() string
	// Available returns the bytes that may still be used before something bad happens: the process is killed or
	// throttled, or the system starts to swap. It is never negative, 0 asks for memory now, and Unknown says that nothing
	// is known to bound it. A call allocates nothing and takes microseconds, so that a session may ask many
	// times a second.
	Available() (int64, error)
}
