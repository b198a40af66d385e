package parallel

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/timing"
)

// named is a Task with a name.
type named struct {
	name string
	do   func(worker, piece int)
}

func (n *named) Do(worker, piece int) { n.do(worker, piece) }
func (n *named) Phase() timing.Phase  { return timing.Phase{Operation: n.name} }

func always() bool { return true }

func unbounded(int) bool { return true }

// recorded returns the shares of a record, once they have all pieces of some tasks together: a worker adds its last share when it finds no
// other piece, which may be after Run has returned.
func recorded(t *testing.T, record *timing.Record, pieces int) []timing.Share {
	t.Helper()
	for {
		var shares []timing.Share
		n := 0
		for thread := range record.Threads() {
			for _, s := range record.Shares(thread) {
				shares = append(shares, s)
				n += s.Pieces
			}
		}
		if n >= pieces {
			return shares
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("%d pieces of %d are told", n, pieces)
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

// TestSharesAreTheWholeOfEachTask runs many tasks, fewer than a record has numbers for, one after the other; some have a single piece.
// Their shares must have the right name, have all pieces together, and not overlap on a worker.
func TestSharesAreTheWholeOfEachTask(t *testing.T) {
	for _, size := range []int{1, 2, 5} {
		record := timing.NewRecord(always, unbounded)
		pool := NewRecorded(size, record)
		defer pool.Close()
		want, all := map[string]int{}, 0
		for i := range 200 {
			n := 1 + i%7*3
			task := &named{strconv.Itoa(i), func(int, int) {}}
			want[task.name] = n
			all += n
			if err := pool.Run(task, n); err != nil {
				t.Fatal(err)
			}
			task.name = "another task" // as the memory of a task that is over may be used for the next one
		}
		got, ended := map[string]int{}, make([]time.Time, size)
		for _, s := range recorded(t, record, all) {
			got[s.Operation] += s.Pieces
			if s.Of != want[s.Operation] || s.Thread >= size {
				t.Errorf("size %d: %+v of a task with %d pieces", size, s, want[s.Operation])
			}
			if s.Began.Before(ended[s.Thread]) {
				t.Errorf("size %d: %+v began before worker %d had ended its share before", size, s, s.Thread)
			}
			ended[s.Thread] = s.Began.Add(s.Took)
		}
		for name, n := range want {
			if got[name] != n {
				t.Errorf("size %d: task %s: %d of %d pieces are told", size, name, got[name], n)
			}
		}
	}
}

// TestCallersBesideEachOtherAreRecorded lets several goroutines run tasks at a time.
func TestCallersBesideEachOtherAreRecorded(t *testing.T) {
	record := timing.NewRecord(always, unbounded)
	pool := NewRecorded(3, record)
	defer pool.Close()
	var callers sync.WaitGroup
	var total atomic.Int64
	for range 4 {
		callers.Go(func() {
			for range 100 {
				pool.Run(&named{"sum", func(_, piece int) { total.Add(int64(piece)) }}, 10)
			}
		})
	}
	callers.Wait()
	recorded(t, record, 4*100*10)
	if got, want := total.Load(), int64(4*100*45); got != want {
		t.Errorf("pieces sum to %d, want %d", got, want)
	}
}

// TestPanicsOfRecordedTasksAreErrors looks that a pool with a record survives a panic, as one without it does.
func TestPanicsOfRecordedTasksAreErrors(t *testing.T) {
	pool := NewRecorded(2, timing.NewRecord(always, unbounded))
	defer pool.Close()
	for _, n := range []int{1, 8} {
		if err := pool.Run(&named{"bad", func(int, int) { panic("a piece") }}, n); err == nil {
			t.Errorf("%d pieces: no error", n)
		}
	}
	if err := pool.Run(&named{"good", func(int, int) {}}, 8); err != nil {
		t.Error(err)
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	pool := NewRecorded(2, timing.NewRecord(always, func(int) bool { return false }))
	defer pool.Close()
	task := &named{"nothing", func(int, int) {}}
	if n := testing.AllocsPerRun(100, func() { pool.Run(task, 16); pool.Run(task, 1) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
