// The race detector needs more memory than the limit that is tested here leaves.

//go:build !race

package llama_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/eviction/monitor"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// limitedGroup and limitedMode give the other process of TestMemoryLimit its control group and its task there.
const (
	limitedGroup = "ANTIGRAVITY_TEST_LIMIT"
	limitedMode  = "ANTIGRAVITY_TEST_MODE"
)

// Under a limit that an unbounded cache passes: with eviction under pressure a conversation survives, without a policy it ends
// with an error, and unwatched it is killed, which shows that the limit is real.
func TestMemoryLimit(t *testing.T) {
	effort.Turn(t, 8)
	for _, c := range []struct {
		mode   string
		killed bool
	}{{"evict", false}, {"none", false}, {"unwatched", true}} {
		t.Run(c.mode, func(t *testing.T) {
			dir := makeGroup(t)
			child := exec.Command(os.Args[0], "-test.run=^TestInMemoryLimit$", "-test.v")
			child.Env = append(os.Environ(), limitedGroup+"="+dir, limitedMode+"="+c.mode)
			out, err := child.CombinedOutput()
			status, _ := child.ProcessState.Sys().(syscall.WaitStatus)
			killed := status.Signaled() && status.Signal() == syscall.SIGKILL
			switch {
			case killed != c.killed && c.killed:
				t.Skipf("the machine does not enforce the limit: %v\n%s", err, out)
			case killed != c.killed || err != nil && !killed:
				t.Fatalf("%v\n%s", err, out)
			}
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "slots") {
					t.Log(strings.TrimSpace(line))
				}
			}
		})
	}
}

// makeGroup makes a control group for memory, of version 2 or 1, or skips the test.
func makeGroup(t *testing.T) string {
	t.Helper()
	var reasons []error
	for _, g := range []struct{ root, limit string }{{"/sys/fs/cgroup", "memory.max"}, {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}} {
		dir := filepath.Join(g.root, fmt.Sprintf("antigravity-llama-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			reasons = append(reasons, err)
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, g.limit)); err != nil {
			os.Remove(dir)
			reasons = append(reasons, err)
			continue
		}
		t.Cleanup(func() {
			for range 50 { // until the kernel has let go of the process
				if os.Remove(dir) == nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
		return dir
	}
	t.Skipf("the machine lets this process limit no group: %v", errors.Join(reasons...))
	return ""
}

// groupFile reads or writes whichever of the files exists in the group.
func groupFile(t *testing.T, dir, value string, names ...string) string {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if value != "" {
			if err := os.WriteFile(path, []byte(value), 0); err != nil {
				t.Fatal(err)
			}
			return value
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(content))
	}
	t.Fatalf("%s has none of %v", dir, names)
	return ""
}

// TestInMemoryLimit is the other process's part of TestMemoryLimit.
func TestInMemoryLimit(t *testing.T) {
	dir, mode := os.Getenv(limitedGroup), os.Getenv(limitedMode)
	if dir == "" {
		t.Skip("a part of TestMemoryLimit")
	}
	groupFile(t, dir, "0", "cgroup.procs")
	m := pebbleModel(t)
	options := &llama.SessionOptions{KV: tensor.F32, Chunk: 16, Capacity: 2040} // 16 MB when full
	if mode == "evict" {
		options.Eviction = policyOf(t, "keydiff", 2000) // which the cache never reaches
		options.EvictAfterPrompt = true
	}
	if mode != "unwatched" {
		system, err := monitor.NewSystem()
		if err != nil {
			t.Fatal(err)
		}
		options.Monitor, options.MemoryThreshold = system, 5<<20
	}
	s := newSession(t, m, options)
	next := []llama.Token{7}
	for range 50 {
		if err := s.Prefill(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	debug.FreeOSMemory()
	var used int64
	fmt.Sscan(groupFile(t, dir, "", "memory.current", "memory.usage_in_bytes"), &used)
	groupFile(t, dir, fmt.Sprint(used+10<<20), "memory.max", "memory.limit_in_bytes")
	for range 1950 {
		if err := s.Prefill(t.Context(), next); err != nil {
			if mode == "none" && errors.Is(err, llama.ErrContextFull) && errors.Is(err, eviction.ErrPressure) {
				t.Logf("%d slots, then: %v", s.CacheLen(), err)
				return
			}
			t.Fatal(err)
		}
	}
	t.Logf("%d slots after %d tokens, %+v", s.CacheLen(), s.Position(), s.CacheUsage())
	if mode == "none" || s.CacheUsage().Evictions == 0 {
		t.Errorf("memory was never short")
	}
}
