package backendtest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// timeout is how long Run waits for one operation: far longer than any takes.
const timeout = 5 * time.Minute

// Run holds a backend to the contract: every operation of Checks but the large shapes, as a subtest each, its memory, and its use
// by several goroutines. A backend that is BitExact is held to the reference's bits. What the backend calls unsupported is logged.
// Run does not close the backend.
func Run(t *testing.T, b backend.Backend) {
	t.Helper()
	RunChecks(t, b, Checks(true))
}

// RunChecks is Run with some checks only. Those of one operation must be together.
func RunChecks(t *testing.T, b backend.Backend, checks []Check) {
	t.Helper()
	if b.Name() == "" || b.Describe() == "" {
		t.Errorf("the backend calls itself %q, and describes itself as %q: neither may be empty", b.Name(), b.Describe())
	}
	t.Run("Memory", func(t *testing.T) { memory(t, b) })
	s := &Suite{Backend: b, Exact: backend.BitExact(b), Seed: 1, Timeout: timeout}
	for len(checks) > 0 && !s.Stuck() {
		operation := checks[0].Operation
		n := slices.IndexFunc(checks, func(c Check) bool { return c.Operation != operation })
		if n < 0 {
			n = len(checks)
		}
		some := checks[:n]
		t.Run(operation, func(t *testing.T) { s.test(t, some) })
		checks = checks[n:]
	}
	if s.Stuck() {
		t.Fatal("the checks after the one that hangs were left out")
	}
	t.Run("Concurrently", func(t *testing.T) { concurrently(t, b) })
}

// test does checks and reports those that fail.
func (s *Suite) test(t *testing.T, checks []Check) {
	for _, c := range checks {
		r, err := s.Do(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case r.Verdict.Bad():
			t.Errorf("%v: %s: %s", c, r.Verdict, r.Detail)
		case r.Verdict == Unsupported:
			t.Logf("%v: %s", c, r.Detail)
		}
		if s.Stuck() {
			return
		}
	}
}

// memory checks that new memory is zero, that it is counted, and that it can be freed twice.
func memory(t *testing.T, b backend.Backend) {
	for _, d := range tensor.DTypes() {
		before := b.Memory().Used()
		x, err := tensor.New(b, d, tensor.ShapeOf(3, 5*d.BlockLen()))
		if err != nil {
			t.Fatal(err)
		}
		if used := b.Memory().Used() - before; used < int64(x.Size()) {
			t.Errorf("%v of %d bytes counts as %d", x, x.Size(), used)
		}
		bytes := make([]byte, x.Size())
		for i := range bytes {
			bytes[i] = poison
		}
		if err := b.ReadBuffer(x, bytes); err != nil {
			t.Error(err)
		}
		if slices.ContainsFunc(bytes, func(v byte) bool { return v != 0 }) {
			t.Errorf("new %v is not all zeros", x)
		}
		for range 2 {
			if err := x.Free(); err != nil {
				t.Errorf("free %v: %v", x, err)
			}
		}
		if used := b.Memory().Used(); used > before {
			t.Errorf("%d bytes of %v are in use after Free", used-before, x)
		}
	}
	if x, err := b.Memory().Alloc(-1, tensor.F32); err == nil {
		x.Free()
		t.Error("allocated a negative size")
	}
}

// concurrently adds up on several goroutines, which read a common operand while the host looks at it.
func concurrently(t *testing.T, b backend.Backend) {
	const workers, times, n = 4, 20, 1000
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	host, err := tensor.FromFloats(ones, n)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Free()
	common, err := b.CopyFrom(host)
	if err != nil {
		t.Fatal(err)
	}
	defer common.Free()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			sum, err := tensor.New(b, tensor.F32, tensor.ShapeOf(n))
			if err != nil {
				t.Error(err)
				return
			}
			defer sum.Free()
			got := make([]float32, n)
			for range times {
				if err := b.Run(&backend.AddAssign{A: sum, B: common}); err != nil {
					t.Error(err)
					return
				}
				if err := backend.ReadFloats(b, common, got); err != nil || got[n-1] != 1 {
					t.Errorf("the common operand holds %g, want 1 (%v)", got[n-1], err)
				}
			}
			if err := backend.ReadFloats(b, sum, got); err != nil || got[n/2] != times {
				t.Errorf("the sum is %g, want %d (%v)", got[n/2], times, err)
			}
		})
	}
	all.Wait()
}
