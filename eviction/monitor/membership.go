package monitor

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A membership is the process's place in one hierarchy: the path of its group there, by /proc/self/cgroup.
type membership struct {
	*hierarchy
	path string
}

// A mount is a part of a hierarchy that the process sees, by /proc/self/mountinfo.
type mount struct {
	*hierarchy
	root  string // path of the group that is mounted
	point string // its mount point
}

// A location is the directory of a group.
type location struct {
	*hierarchy
	dir string
}

// memoryGroups lists the directories of the groups that may limit the process's memory, as the process sees them: its own
// one and the ancestors up to the mount point, in each hierarchy. Not all of them need to exist.
func memoryGroups(root string) ([]location, error) {
	members, err := readLines(filepath.Join(root, "proc/self/cgroup"), parseMembership)
	if err != nil {
		return nil, err
	}
	mounts, err := readLines(filepath.Join(root, "proc/self/mountinfo"), parseMount)
	if err != nil {
		return nil, err
	}
	var groups []location
	for _, m := range members {
		if mt, ok := mountOf(m, mounts); ok {
			for _, dir := range mt.dirs(m.path) {
				groups = append(groups, location{m.hierarchy, dir})
			}
		}
	}
	return groups, nil
}

// mountOf chooses the mount that shows the process's group, or else the first mount of the hierarchy: in a container the group's path
// is often the path on the host, while only the container's part of the hierarchy is mounted.
func mountOf(m membership, mounts []mount) (mount, bool) {
	mounts = slices.DeleteFunc(slices.Clone(mounts), func(mt mount) bool { return mt.hierarchy != m.hierarchy })
	for _, mt := range mounts {
		if _, ok := below(mt.root, m.path); ok {
			return mt, true
		}
	}
	if len(mounts) == 0 {
		return mount{}, false
	}
	return mounts[0], true
}

// dirs lists the directories from a group up to the mount point; the mount point alone for a group outside of the mount.
func (m mount) dirs(group string) []string {
	rel, _ := below(m.root, group)
	var dirs []string
	for dir := path.Join(m.point, rel); ; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
		if len(dir) <= len(m.point) {
			return dirs
		}
	}
}

// below returns what follows root in name, both clean absolute paths. A name that begins with /.. is that of a group
// outside of the process's namespace, and is below nothing.
func below(root, name string) (rel string, ok bool) {
	if name == "/.." || strings.HasPrefix(name, "/../") {
		return "", false
	}
	rel, ok = strings.CutPrefix(name, strings.TrimSuffix(root, "/"))
	if !ok || rel != "" && rel[0] != '/' {
		return "", false
	}
	return path.Clean("/" + rel), true
}

// parseMembership reads a line of /proc/self/cgroup, as in "4:cpu,memory:/docker/1f2e" or "0::/user.slice"; false for
// hierarchies that do not count memory.
func parseMembership(line string) (membership, bool) {
	number, rest, _ := strings.Cut(line, ":")
	controllers, name, ok := strings.Cut(rest, ":")
	switch {
	case !ok || !strings.HasPrefix(name, "/"):
		return membership{}, false
	case number == "0" && controllers == "":
		return membership{cgroup2, name}, true
	case slices.Contains(strings.Split(controllers, ","), "memory"):
		return membership{cgroup1, name}, true
	}
	return membership{}, false
}

// parseMount reads a line of /proc/self/mountinfo (proc_pid_mountinfo(5)); false if it is no mount of control groups. The last
// field, after the type cgroup, lists the controllers of version 1:
//
//	32 31 0:29 /docker/1f2e /sys/fs/cgroup/memory rw,relatime master:9 - cgroup cgroup rw,memory
func parseMount(line string) (mount, bool) {
	before, after, _ := strings.Cut(line, " - ")
	where, what := strings.Fields(before), strings.Fields(after)
	if len(where) < 6 || len(what) < 3 {
		return mount{}, false
	}
	m := mount{root: unescape(where[3]), point: path.Clean(unescape(where[4]))}
	switch {
	case m.point[0] != '/':
		return mount{}, false
	case what[0] == "cgroup2":
		m.hierarchy = cgroup2
	case what[0] == "cgroup" && slices.Contains(strings.Split(what[2], ","), "memory"):
		m.hierarchy = cgroup1
	default:
		return mount{}, false
	}
	return m, true
}

// unescape undoes the kernel's octal escapes of space, tab, newline and backslash.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// maxListing bounds the bytes read from a file of /proc: a host of many containers has some thousand mounts of 200 bytes.
const maxListing = 16 << 20

// readLines parses the lines of a file and keeps those that the parser accepts.
func readLines[T any](name string, parse func(string) (T, bool)) ([]T, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var kept []T
	lines := bufio.NewScanner(io.LimitReader(f, maxListing))
	for lines.Scan() {
		if v, ok := parse(lines.Text()); ok {
			kept = append(kept, v)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return kept, nil
}
