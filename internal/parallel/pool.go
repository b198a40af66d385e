// Package parallel runs the pieces of a task on a resident pool of workers.
//
// A decode step has about five parallel phases a layer, each some tens of microseconds long: starting goroutines for each
// would cost more than it gains. The workers of a Pool therefore stay. Between tasks a worker spins for a short, bounded
// time with the processor's pause hint, and then parks, so that an idle pool costs nothing. Workers take pieces from one
// atomic counter, the ticket, in the order in which they ask. The caller works too. While a pool is busy with one caller's
// task, another caller does not wait for it, but computes its own task alone.
package parallel

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/internal/timing"
)

// A task is handed out by one word, the ticket: an epoch, the number of pieces n, and the next piece. Each worker adds 1 to it, and
// computes the piece that it had before, until that is n or more. For example, of a task of 3 pieces for two workers, after 6 other tasks,
//
//	ticket     by
//	7, 3, 0    run, which writes it, and wakes the worker if it is parked
//	7, 3, 1    the caller: it computes piece 0
//	7, 3, 2    the worker: piece 1
//	7, 3, 3    the worker, which was faster: piece 2
//	7, 3, 4    the caller: there is no piece 3, so it waits until 3 pieces are done
//	7, 3, 5    the worker: no piece either; it waits for another epoch

// Task is work that can be done in pieces, in any order and at the same time.
type Task interface {
	// Do computes one piece. worker, in [0, Pool.Size()), says which of the pool's workers computes it. A worker computes
	// one piece of a task at a time, so that worker can be an index of scratch memory.
	Do(worker, piece int)
}

// MaxPieces is the largest number of pieces of a task that the workers share; Run computes a larger one on the caller alone.
const MaxPieces = 1<<ticketBits - 2*maxWorkers

const (
	ticketBits = 20 // of the ticket: the width of the number of pieces, and of the next piece
	ticketMask = 1<<ticketBits - 1
	maxWorkers = 1 << 8 // each adds 1 to the ticket once more after the last piece, which must not carry into the number of pieces

	line = 128 // bytes: of two cache lines, which some processors fetch together

	// spins bounds the busy waiting for the next phase: some tens of microseconds, longer than the gap between two phases
	// of a decode step and far shorter than anything a person or a scheduler would notice.
	spins = 2000
	// yieldEvery is after how many spins a worker lets other goroutines of the host program onto its processor. Workers that wait for the same
	// phase do it at different spins: the runtime's queue has one lock, and who finds it taken may sleep. 16 threads of a Sapphire Rapids: pieces
	// began 10 to 20 µs after their phase when all workers yielded at every 256th spin; a mixture of experts generated 107 tokens/s with one
	// session and 178 with four, now 119 and 195, and without any yields 119 and 182.
	yieldEvery = 1024
)

// Pool is a set of workers. Its methods may be called from any number of goroutines.
type Pool struct {
	*pool // the workers refer to this part only, so that a forgotten Pool can be noticed
}

// pool is the part of a Pool that the workers know.
//
// Invariants: the holder of busy, and nobody else, starts a task, by writing the ticket last; task and failure are read and
// written only by those who compute a piece of the task, and by the caller before the ticket is written and after done has
// reached the number of pieces.
//
// Parking: before it waits, a goroutine sets waiting (the caller) or parked (a worker) to true, and looks once more for what it waits for.
// If another goroutine sets it back to false, that goroutine sends to wake, and the waiter receives; if the waiter itself does, nobody
// sends, and it does not receive. So a wake channel, of capacity 1, never blocks its sender. The look must not come before the setting. Go
// promises that of a Store too, but qemu 7.2 lets a load overtake arm64's releasing store, and then everybody waits. A Swap holds there as
// well, and costs nothing that counts: who parks is in no hurry.
type pool struct {
	size    int        // workers, the caller included
	workers []*worker  // size-1: the caller is the first
	busy    sync.Mutex // held by the caller of the task that the workers are computing

	// ticket hands out the pieces. From the highest bit down it holds an epoch, which is different for each task; the number
	// of pieces; and the next piece, in ticketBits each for the last two. Since all three are one word, a worker that comes
	// late to a task that is over gets a number past that task's pieces, and does nothing.
	_      [line]byte // every worker writes to the ticket, and to done: each has a cache line for itself
	ticket atomic.Uint64
	_      [line]byte
	done   atomic.Int64 // pieces computed
	_      [line]byte
	task   Task
	phase  int32 // the task's number in the record; timing.Untold: nobody wants to know of it. As task, it belongs to who computes a piece

	waiting atomic.Bool   // the caller is parked
	wake    chan struct{} // wakes the caller

	failed  atomic.Bool // a piece has panicked: who sets it writes failure
	failure error       // the first panic of a piece

	closed atomic.Bool

	record *timing.Record // nil: nobody wants a record
	caller *timing.Lane   // of the record, for the callers
}

// worker is what the pool knows of a worker that is not the caller.
type worker struct {
	parked atomic.Bool   // it waits for wake, or is about to
	wake   chan struct{} // of capacity 1
	yields int           // at which of yieldEvery spins it lets other goroutines run
}

// New starts a pool that computes with size workers, the caller being one of them; size below 1 means GOMAXPROCS.
// Close it when it is no longer needed; a pool that is merely forgotten stops too, at a later garbage collection.
func New(size int) *Pool { return NewRecorded(size, nil) }

// NewRecorded is New with a record of what each worker computes of each task, unless it is nil. A worker's last share of a task may come to
// it after Run has returned.
func NewRecorded(size int, record *timing.Record) *Pool {
	if size < 1 {
		size = runtime.GOMAXPROCS(0)
	}
	size = min(size, maxWorkers)
	p := &pool{size: size, wake: make(chan struct{}, 1), record: record, caller: record.Lane(0)}
	for id := 1; id < size; id++ {
		w := &worker{wake: make(chan struct{}, 1), yields: id * yieldEvery / size}
		p.workers = append(p.workers, w)
		go p.workerLoop(w, id, record.Lane(id))
	}
	outer := &Pool{p}
	runtime.AddCleanup(outer, func(p *pool) { p.close() }, p)
	return outer
}

// Size returns the number of workers, the caller included.
func (p *Pool) Size() int { return p.size }

// Close ends the workers. A task that runs is finished by its caller; later tasks run on their callers alone.
func (p *Pool) Close() { p.close() }

func (p *pool) close() {
	if p.closed.Swap(true) {
		return
	}
	for _, w := range p.workers {
		w.wakeUp()
	}
}

// Run computes the pieces 0 … n-1 of a task and returns when all are done. A panic of a piece, wherever it is computed, comes
// back as an error: a memory fault, such as a mapped file that was cut short, as a *mmap.FaultError, any other as a
// *PanicError. The workers survive it; of the other pieces some may not have been computed.
func (p *Pool) Run(task Task, n int) (err error) {
	defer runtime.KeepAlive(p)
	defer Catch(&err)()
	helpers := min(p.size, n) - 1
	if helpers > 0 { // asking the runtime takes a lock
		helpers = min(helpers, runtime.GOMAXPROCS(0)-1)
	}
	if helpers < 1 || n > MaxPieces || p.closed.Load() || !p.busy.TryLock() {
		p.runAlone(task, n)
		return nil
	}
	defer p.busy.Unlock()
	return p.run(task, n, helpers)
}

// runAlone computes a task on its caller's goroutine.
func (p *pool) runAlone(task Task, n int) {
	share := p.begin(task)
	for piece := range n {
		task.Do(0, piece)
	}
	if n > 0 {
		share.end(p.caller, n, n)
	}
}

// run shares a task of n pieces between the caller and the first workers, as many as there are helpers. busy is held.
func (p *pool) run(task Task, n, helpers int) error {
	p.task, p.phase = task, p.number(task)
	p.done.Store(0)
	p.failed.Store(false)
	p.failure = nil
	epoch := p.ticket.Load()>>(2*ticketBits) + 1
	p.ticket.Store(epoch<<(2*ticketBits) | uint64(n)<<ticketBits)
	for _, w := range p.workers[:helpers] {
		w.wakeUp()
	}
	p.compute(0, p.caller)
	p.waitDone(int64(n))
	p.task = nil
	return p.failure
}

// compute takes pieces until they are all taken. lane is for the worker's shares; nil: they are not kept.
func (p *pool) compute(worker int, lane *timing.Lane) {
	if lane != nil {
		p.computeRecorded(worker, lane)
		return
	}
	for {
		t := p.ticket.Add(1) - 1
		piece, n := int(t&ticketMask), int(t>>ticketBits&ticketMask)
		if piece >= n {
			return
		}
		p.piece(worker, piece, n)
	}
}

// piece computes one of n pieces and counts it as done, even if it panics. Who computes the last one wakes a parked caller.
func (p *pool) piece(worker, piece, n int) {
	defer func() {
		if panicked := recover(); panicked != nil && !p.failed.Swap(true) {
			p.failure = panicError(panicked)
		}
		if p.done.Add(1) == int64(n) && p.waiting.CompareAndSwap(true, false) {
			p.wake <- struct{}{}
		}
	}()
	p.task.Do(worker, piece)
}

// waitDone returns when n pieces are done. It spins first, since the last pieces usually end together, and then parks.
func (p *pool) waitDone(n int64) {
	for i := range spins {
		if p.done.Load() == n {
			return
		}
		if i%yieldEvery == yieldEvery-1 {
			runtime.Gosched()
		}
		pause()
	}
	p.waiting.Swap(true)
	if p.done.Load() == n && p.waiting.CompareAndSwap(true, false) {
		return
	}
	<-p.wake
}

// workerLoop is the life of a worker.
func (p *pool) workerLoop(w *worker, id int, lane *timing.Lane) {
	debug.SetPanicOnFault(true) // a fault in a mapped file becomes a panic that piece recovers
	seen := uint64(0)
	for !p.closed.Load() {
		seen = p.next(w, seen)
		p.compute(id, lane)
	}
}

// next returns the epoch of a task later than the one seen, once there is one; or any when the pool is closed.
func (p *pool) next(w *worker, seen uint64) uint64 {
	for {
		for i := range spins {
			if epoch := p.ticket.Load() >> (2 * ticketBits); epoch != seen || p.closed.Load() {
				return epoch
			}
			if i%yieldEvery == w.yields {
				runtime.Gosched()
			}
			pause()
		}
		w.parked.Swap(true)
		if epoch := p.ticket.Load() >> (2 * ticketBits); (epoch != seen || p.closed.Load()) && w.parked.CompareAndSwap(true, false) {
			return epoch
		}
		<-w.wake
	}
}

// wakeUp wakes a parked worker; one that is awake sees the ticket itself.
func (w *worker) wakeUp() {
	if w.parked.CompareAndSwap(true, false) {
		w.wake <- struct{}{}
	}
}
