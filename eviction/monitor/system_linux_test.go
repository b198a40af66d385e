package monitor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/mmap"
	"golang.org/x/sys/unix"
)

func TestPressureHere(t *testing.T) {
	m, err := NewPressure(fixedMonitor{available: 100})
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer m.(io.Closer).Close()
	n, err := m.Available()
	if n != 0 && n != 100 || err != nil {
		t.Errorf("%s: %d, %v", m.Name(), n, err)
	}
	t.Logf("%s: %d", m.Name(), n)
}

// limitedGroup is the directory of the group that TestInLimitedGroup enters, set by TestSystemInLimitedGroup.
const limitedGroup = "ANTIGRAVITY_TEST_GROUP"

// groupLimit is that group's limit.
const groupLimit = 256 * mib

// A process in a real group with a limit sees the limit, and what it uses under it. It is another process, this test
// binary again, so that the limit ends with it.
func TestSystemInLimitedGroup(t *testing.T) {
	dir := makeLimitedGroup(t)
	child := exec.Command(os.Args[0], "-test.run=^TestInLimitedGroup$", "-test.v")
	child.Env = append(os.Environ(), limitedGroup+"="+dir)
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("in %s: %v\n%s", dir, err, out)
	}
	t.Logf("%s", out)
}

// makeLimitedGroup makes a group with a limit of groupLimit among the top-most ones, or skips the test.
func makeLimitedGroup(t *testing.T) string {
	t.Helper()
	groups, err := memoryGroups("/")
	if err != nil {
		t.Skipf("no control groups: %v", err)
	}
	limitFile := map[*hierarchy]string{cgroup2: "memory.max", cgroup1: "memory.limit_in_bytes"}
	var reasons []error
	for i, g := range groups {
		if i+1 < len(groups) && groups[i+1].hierarchy == g.hierarchy {
			continue // not the top-most
		}
		dir := filepath.Join(g.dir, fmt.Sprintf("antigravity-test-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			reasons = append(reasons, err)
			continue
		}
		t.Cleanup(func() { removeGroup(t, dir) })
		f, err := os.OpenFile(filepath.Join(dir, limitFile[g.hierarchy]), os.O_WRONLY, 0) // Create is refused in a group
		if err == nil {
			_, err = fmt.Fprint(f, groupLimit)
			err = errors.Join(err, f.Close())
		}
		if err == nil {
			return dir
		}
		reasons = append(reasons, err)
	}
	t.Skipf("the machine lets this process limit no group: %v", errors.Join(reasons...))
	return ""
}

// removeGroup removes a group once the kernel has let go of its last process.
func removeGroup(t *testing.T, dir string) {
	var err error
	for range 50 {
		if err = os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("removing the group: %v", err)
}

// TestInLimitedGroup is the other process's part of TestSystemInLimitedGroup.
func TestInLimitedGroup(t *testing.T) {
	dir := os.Getenv(limitedGroup)
	if dir == "" {
		t.Skip("a part of TestSystemInLimitedGroup")
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
		t.Fatalf("entering the group: %v", err)
	}
	m := systemOf(t)
	if !strings.Contains(m.Name(), dir) {
		t.Errorf("Name %q, want %s in it", m.Name(), dir)
	}
	available := func() int64 {
		n, err := m.Available()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := available()
	if before <= groupLimit/2 || before > groupLimit {
		t.Errorf("%d MiB available, want some of the limit's %d", before/mib, groupLimit/mib)
	}
	const size = 64 * mib
	used, err := mmap.Alloc(size)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < size; i += 512 {
		used[i] = 1
	}
	after := available()
	if fell := before - after; fell < size*9/10 || fell > size*5/4 {
		t.Errorf("after touching %d MiB: %d MiB less are available", size/mib, fell/mib)
	}
	writeCached(t, used)
	cached := available()
	if fell := after - cached; fell > size/4 {
		t.Errorf("after writing a file of %d MiB: %d MiB less are available", size/mib, fell/mib)
	}
	if err := mmap.Free(used); err != nil {
		t.Fatal(err)
	}
	if rose := available() - cached; rose < size*9/10 {
		t.Errorf("after freeing %d MiB: only %d MiB more are available", size/mib, rose/mib)
	}
	t.Logf("%s: %d MiB, %d MiB with %d MiB in use", m.Name(), before/mib, after/mib, size/mib)
}

// writeCached writes a file that stays in the page cache, where nobody uses it: as good as free memory. It writes nothing if files live in
// memory only.
func writeCached(t *testing.T, content []byte) {
	dir := t.TempDir()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Type == unix.TMPFS_MAGIC {
		t.Logf("no file to be cached in %s (%v): it may be memory itself", dir, err)
		return
	}
	f, err := os.Create(filepath.Join(dir, "cached"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// What a session pays each time it asks, besides the system monitor.
func BenchmarkPressure(b *testing.B) {
	m, err := NewPressure(fixedMonitor{available: 100})
	if err != nil {
		b.Skip(err)
	}
	defer m.(io.Closer).Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Available(); err != nil {
			b.Fatal(err)
		}
	}
}
