package parallel

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// named is a Task that says what it is, of which some pieces are waited for.
type named struct {
	name string
	do   func(worker, piece int)
}

func (n *named) Do(worker, piece int) { n.do(worker, piece) }
func (n *named) Phase() Phase         { return Phase{Operation: n.name} }

// told keeps the shares that a pool tells of.
type told struct {
	mu     sync.Mutex
	shares []Share
}

func (o *told) tell(s Share) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shares = append(o.shares, s)
}

// await returns the shares, once they have all pieces of some tasks together: a worker tells of its last share when it finds no other
// piece, which may be after Run has returned.
func (o *told) await(t *testing.T, pieces int) []Share {
	t.Helper()
	for {
		o.mu.Lock()
		n := 0
		for _, s := range o.shares {
			n += s.Pieces
		}
		o.mu.Unlock()
		if n >= pieces {
			return o.shares
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("%d pieces of %d are told", n, pieces)
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

// TestSharesAreTheWholeOfEachTask runs many tasks one after the other, some of a single piece, whose shares must be told with the right
// name, have all pieces together, and not overlap on a worker.
func TestSharesAreTheWholeOfEachTask(t *testing.T) {
	for _, size := range []int{1, 2, 5} {
		var o told
		pool := NewObserved(size, o.tell)
		defer pool.Close()
		want, all := map[string]int{}, 0
		for i := range 300 {
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
		for _, s := range o.await(t, all) {
			got[s.Operation] += s.Pieces
			if s.Of != want[s.Operation] || s.Worker >= size {
				t.Errorf("size %d: %+v of a task with %d pieces", size, s, want[s.Operation])
			}
			if s.Began.Before(ended[s.Worker]) {
				t.Errorf("size %d: %+v began before worker %d had ended its share before", size, s, s.Worker)
			}
			ended[s.Worker] = s.Began.Add(s.Took)
		}
		for name, n := range want {
			if got[name] != n {
				t.Errorf("size %d: task %s: %d of %d pieces are told", size, name, got[name], n)
			}
		}
	}
}

// TestCallersBesideEachOtherAreTold lets several goroutines run tasks at a time.
func TestCallersBesideEachOtherAreTold(t *testing.T) {
	var o told
	pool := NewObserved(3, o.tell)
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
	o.await(t, 4*100*10)
	if got, want := total.Load(), int64(4*100*45); got != want {
		t.Errorf("pieces sum to %d, want %d", got, want)
	}
}

// TestObservedPanicsAreErrors looks that an observed pool survives a panic, as one that is not observed does.
func TestObservedPanicsAreErrors(t *testing.T) {
	var o told
	pool := NewObserved(2, o.tell)
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

func TestObservingAllocatesNothing(t *testing.T) {
	var pieces atomic.Int64
	pool := NewObserved(2, func(s Share) { pieces.Add(int64(s.Pieces)) })
	defer pool.Close()
	task := &named{"nothing", func(int, int) {}}
	if n := testing.AllocsPerRun(100, func() { pool.Run(task, 16); pool.Run(task, 1) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
