package monitor

// A hierarchy is a version of control groups: the names of the files and lines that describe the memory of a group.
type hierarchy struct {
	version   string
	limits    []string // files that hold one limit each
	inherited string   // line of memory.stat with the least limit of the group and all its ancestors; "" if there is no such line
	usage     string   // file of the memory that is charged to the group and its descendants, page cache included
	inactive  string   // line of memory.stat with the page cache that the kernel drops first
}

var (
	cgroup2 = &hierarchy{
		version:  "cgroup v2",
		limits:   []string{"memory.max", "memory.high"},
		usage:    "memory.current",
		inactive: "inactive_file ",
	}
	cgroup1 = &hierarchy{
		version:   "cgroup v1",
		inherited: "hierarchical_memory_limit ", // counts limits of ancestors that a container does not see
		usage:     "memory.usage_in_bytes",
		inactive:  "total_inactive_file ",
	}
)
