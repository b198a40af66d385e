package monitor

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
)

// layout writes the files of testdata/name.txt into a folder and returns it. After some lines of prose, a line
// "-- path --" begins each file.
func layout(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	_, files, _ := strings.Cut(string(text), "\n-- ")
	for file := range strings.SplitSeq(files, "\n-- ") {
		path, content, ok := strings.Cut(file, " --\n")
		if !ok {
			t.Fatalf("%s: a file without a name: %.40q", name, file)
		}
		write(t, root, path, content+"\n")
	}
	return root
}

// write writes a file under root.
func write(t testing.TB, root, name, content string) {
	t.Helper()
	name = filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// openLayout returns the system monitor of a layout.
func openLayout(t testing.TB, name string) (m eviction.Monitor, root string) {
	t.Helper()
	root = layout(t, name)
	m, err := newSystem(openProc(root))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.(io.Closer).Close() })
	return m, root
}

const mib = 1 << 20

func TestSystemLayouts(t *testing.T) {
	const group = "/sys/fs/cgroup"
	for _, c := range []struct {
		layout    string
		available int64
		name      string
	}{
		{"docker-v2", 512*mib - 150*mib, "cgroup v2 " + group + ", /proc/meminfo"},
		{"systemd-nested", 2048*mib - 1568*mib, "cgroup v2 " + group + "/ai.slice/ai-chat.slice, cgroup v2 " + group + "/ai.slice, /proc/meminfo"},
		{"kubernetes-v1", 1024*mib - 256*mib, "cgroup v1 " + group + "/memory, /proc/meminfo"},
		{"hybrid", 800*mib - 700*mib, "cgroup v1 " + group + "/memory/lab/job7, cgroup v1 " + group + "/memory/lab, /proc/meminfo"},
		{"unlimited", 9437184 << 10, "/proc/meminfo"},
		{"android", 1572864 << 10, "/proc/meminfo"},
		{"host-path", 192 * mib, "cgroup v2 /mnt/control groups, /proc/meminfo"},
		{"over-limit", 0, "cgroup v2 " + group + "/a/b, cgroup v2 " + group + "/a, /proc/meminfo"},
		{"malformed", 9437184 << 10, "/proc/meminfo"},
	} {
		t.Run(c.layout, func(t *testing.T) {
			m, _ := openLayout(t, c.layout)
			if got, err := m.Available(); got != c.available || err != nil {
				t.Errorf("%d MiB, %v; want %d MiB", got/mib, err, c.available/mib)
			}
			if m.Name() != c.name {
				t.Errorf("Name %q, want %q", m.Name(), c.name)
			}
		})
	}
}

func TestSystemHasNone(t *testing.T) {
	for name, c := range map[string]struct{ root, says string }{
		"nothing":    {t.TempDir(), "meminfo"},
		"old kernel": {layout(t, "old-kernel"), "MemAvailable"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newSystem(openProc(c.root))
			if !errors.Is(err, ErrUnsupported) || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want an error that speaks of %s", err, c.says)
			}
		})
	}
}

// A limit that is set or lifted while the monitor is open counts at the next call, and so does the use of memory.
func TestSystemFollows(t *testing.T) {
	const scope = "sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope/"
	m, root := openLayout(t, "unlimited")
	for _, c := range []struct {
		file, content string
		want          int64
	}{
		{scope + "memory.max", "1073741824\n", 1024*mib - 880*mib},
		{scope + "memory.current", "524288000\n", 1024*mib - 480*mib},
		{scope + "memory.high", "629145600\n", 600*mib - 480*mib},
		{scope + "memory.stat", "anon 1\ninactive_file 0\n", 600*mib - 500*mib},
		{"proc/meminfo", "MemAvailable: 5120 kB\n", 5 * mib},
	} {
		write(t, root, c.file, c.content)
		if got, err := m.Available(); got != c.want || err != nil {
			t.Errorf("after %s: %d MiB, %v; want %d MiB", c.file, got/mib, err, c.want/mib)
		}
	}
	write(t, root, scope+"memory.stat", "")
	if got, err := m.Available(); err == nil || !strings.Contains(err.Error(), "memory.stat") {
		t.Errorf("memory.stat without a line: %d, %v; want an error that names it", got, err)
	}
}

func TestSystemClose(t *testing.T) {
	m, _ := openLayout(t, "docker-v2")
	if err := m.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Available(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Available after Close: %v, want os.ErrClosed", err)
	}
}

func TestSystemAllocatesNothing(t *testing.T) {
	m, _ := openLayout(t, "systemd-nested")
	if n := testing.AllocsPerRun(100, func() { m.Available() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
