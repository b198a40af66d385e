package parallel

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/mmap"
)

// task is a Task made of a function.
type task func(worker, piece int)

func (f task) Do(worker, piece int) { f(worker, piece) }

func TestRunComputesEveryPieceOnce(t *testing.T) {
	for _, size := range []int{1, 2, 3, 8} {
		pool := New(size)
		defer pool.Close()
		for _, n := range []int{0, 1, 2, 7, 100, 1000} {
			counts := make([]atomic.Int32, n)
			if err := pool.Run(task(func(_, piece int) { counts[piece].Add(1) }), n); err != nil {
				t.Fatal(err)
			}
			for i := range counts {
				if got := counts[i].Load(); got != 1 {
					t.Fatalf("size %d: piece %d of %d was computed %d times", size, i, n, got)
				}
			}
		}
	}
}

func TestWorkersDoNotShareScratch(t *testing.T) {
	pool := New(4)
	defer pool.Close()
	inUse := make([]atomic.Bool, pool.Size())
	for range 200 {
		pool.Run(task(func(worker, _ int) {
			if inUse[worker].Swap(true) {
				t.Errorf("worker %d computes two pieces at once", worker)
			}
			runtime.Gosched()
			inUse[worker].Store(false)
		}), 16)
	}
}

func TestConcurrentCallersAreAllServed(t *testing.T) {
	pool := New(3)
	defer pool.Close()
	var callers sync.WaitGroup
	var total atomic.Int64
	for range 8 {
		callers.Go(func() {
			for range 200 {
				pool.Run(task(func(_, piece int) { total.Add(int64(piece)) }), 10)
			}
		})
	}
	callers.Wait()
	if got, want := total.Load(), int64(8*200*45); got != want {
		t.Fatalf("pieces sum to %d, want %d", got, want)
	}
}

func TestRunAfterWorkersParked(t *testing.T) {
	pool := New(4)
	defer pool.Close()
	for range 3 {
		time.Sleep(20 * time.Millisecond)
		var n atomic.Int32
		pool.Run(task(func(_, _ int) { n.Add(1) }), 50)
		if n.Load() != 50 {
			t.Fatalf("%d of 50 pieces", n.Load())
		}
	}
}

func TestFewerProcessorsThanWorkers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	pool := New(8)
	defer pool.Close()
	var n atomic.Int32
	for range 1000 {
		pool.Run(task(func(_, _ int) { n.Add(1) }), 8)
	}
	if n.Load() != 8000 {
		t.Fatalf("%d of 8000 pieces", n.Load())
	}
}

func TestClosedPoolComputesOnTheCaller(t *testing.T) {
	pool := New(3)
	pool.Close()
	pool.Close()
	n := 0
	pool.Run(task(func(_, _ int) { n++ }), 5)
	if n != 5 {
		t.Fatalf("%d of 5 pieces", n)
	}
}

// TestPanicBecomesError lets every piece panic in turn, on pools of several sizes, busy and closed ones: the call returns an error that
// names the place, and the pool goes on.
func TestPanicBecomesError(t *testing.T) {
	closed := New(3)
	closed.Close()
	for _, pool := range []*Pool{New(1), New(2), New(3), New(8), closed} {
		defer pool.Close()
		for bad := range 20 {
			err := pool.Run(task(func(_, piece int) {
				if piece == bad {
					var none []int
					none[piece]++
				}
			}), 20)
			var panicked *PanicError
			if !errors.As(err, &panicked) || !strings.Contains(err.Error(), "index out of range") {
				t.Fatalf("piece %d of a pool of %d panicked: %v", bad, pool.Size(), err)
			}
			if !strings.Contains(panicked.place(), "TestPanicBecomesError") {
				t.Fatalf("the place of the panic is %q in\n%s", panicked.place(), panicked.Stack)
			}
			var n atomic.Int32
			if err := pool.Run(task(func(_, _ int) { n.Add(1) }), 20); err != nil || n.Load() != 20 {
				t.Fatalf("after a panic %d of 20 pieces, %v", n.Load(), err)
			}
		}
	}
}

func TestCatch(t *testing.T) {
	call := func(v any) (err error) {
		defer Catch(&err)()
		if v != nil {
			panic(v)
		}
		return os.ErrExist
	}
	if err := call(nil); err != os.ErrExist {
		t.Errorf("without a panic: %v", err)
	}
	if err := call("trouble"); err == nil || !strings.Contains(err.Error(), "internal error: trouble (in ") {
		t.Errorf("got %v", err)
	}
}

func TestFaultBecomesError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := mmap.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data := file.Bytes()
	if err := os.Truncate(path, 1<<12); err != nil {
		t.Skip(err) // a system that does not let mapped files shrink
	}
	pool := New(3)
	defer pool.Close()
	var sum atomic.Int64
	err = pool.Run(task(func(_, piece int) { sum.Add(int64(data[piece<<16])) }), 16)
	var fault *mmap.FaultError
	if !errors.As(err, &fault) {
		t.Fatalf("reading past the end of a truncated file: %v", err)
	}
}

func TestRunDoesNotAllocate(t *testing.T) {
	pool := New(2)
	defer pool.Close()
	var work Task = task(func(_, _ int) {})
	if n := testing.AllocsPerRun(100, func() { pool.Run(work, 4) }); n != 0 {
		t.Errorf("%v allocations per task", n)
	}
}

func BenchmarkRun(b *testing.B) {
	pool := New(0)
	defer pool.Close()
	var work Task = task(func(_, _ int) {})
	for b.Loop() {
		pool.Run(work, pool.Size())
	}
}
