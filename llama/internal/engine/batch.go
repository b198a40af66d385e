package engine

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama/internal/engine/internal/rowcosts"
)

// Batch computes the jobs of a model's conversations together: each weight is read once for the rows of all who wait.
//
// Nobody schedules. A goroutine that has a job joins the queue, and leads if nobody does: it takes from the queue what one forward pass can
// hold, computes it, wakes the goroutines of finished jobs, and goes on until its own job is done; then it hands the lead to the first who
// waits (group commit, as databases write their logs). A conversation that is alone pays nothing for this. A row's result does not depend
// on the other rows of the pass, so no answer depends on the others.
//
// Rows of answers come first, since a reader waits for each; rows of prompts fill the pass up, as long as it does not take much longer than
// without them. Before a pass the leader waits a little for the answers of the last pass that are expected back: otherwise the
// conversations would fall apart into groups that each read the weights.
//
// Example: A, B and C answer, and D brings a prompt of 300 tokens. A leads.
//
//	gather    B and C come back within A's patience; D is in the queue
//	take      a row of each of A, B and C, and as many of D's rows as rowcosts.Costs allows, 40 say
//	compute   one pass of 43 rows
//	finish    wakes B, C and D. D gets its job back with Rows = 40, and brings the other 260
//
// Invariants while mu is free: a job is in queue from the call of Run until a leader takes it; leading is true while a goroutine leads or
// has been given the lead; missing is the number of jobs that the leader waits for, 0 when it does not wait.
type Batch struct {
	weights *Weights
	most    int // rows of answers in one pass
	prompts promptRows
	trace   func(PassInfo) // may be nil

	mu      sync.Mutex
	queue   []*Job         // in the order of arrival
	members []*Job         // of conversations that are in the middle of an answer
	leading bool           // somebody leads
	missing int            // members that the leader waits for
	arrived chan struct{}  // signals to a waiting leader that missing has become 0
	costs   rowcosts.Costs // how long passes take; the leader alone changes them

	// The leader's.
	taken   []*Job        // from the queue, for the present pass
	live    []*Job        // those of them that are computed
	passes  uint64        // that have begun
	waited  time.Duration // by gather, for the present pass; known only if there is a trace
	timer   *time.Timer
	pass    *pass // nil before the first pass
	outputs outputs

	memory atomic.Int64 // bytes of pass and outputs
}

// promptRows are numbers of rows of prompts in one pass.
type promptRows struct {
	usual  int // if nobody wants another number
	widest int // the most that anybody may want
	chunk  int // the most that somebody wants; guarded by Batch.mu
}

// PassInfo describes a pass to a Batch's trace after the pass; see llama.PassInfo.
type PassInfo struct {
	Number  uint64
	Began   time.Time
	Took    time.Duration
	Waited  time.Duration
	Steps   int
	Answers int
	Prompts int
	Err     error
}

// MostChunk is the most rows of prompts in one pass, unless the backend wants more: with more no processor is faster, and they take memory.
const MostChunk = 512

// DefaultChunk is how many rows of prompts a pass computes if nobody wants more; DefaultMost is how many rows of answers: with more rows no
// processor that was measured computes a row in less time.
const (
	DefaultChunk = 256
	DefaultMost  = 32
)

// PassRows returns how many rows of prompts, and how many of answers, a pass through backends computes if nobody wants more: as many as the backend
// wants that wants most. The others lose nothing by it.
func PassRows(list ...backend.Backend) (chunk, most int) {
	for _, b := range list {
		prompts, answers := backend.PassRows(b)
		chunk, most = max(chunk, cmp.Or(prompts, DefaultChunk)), max(most, cmp.Or(answers, DefaultMost))
	}
	return chunk, most
}

// Widest returns the most rows of prompts in one pass through backends.
func Widest(list ...backend.Backend) int {
	chunk, _ := PassRows(list...)
	return max(chunk, MostChunk)
}

// NewBatch makes the batch of a model. Its passes compute at most `most` rows of answers. trace is called after each pass, by the goroutine
// that leads; it may be nil.
func NewBatch(w *Weights, most int, trace func(PassInfo)) *Batch {
	b := &Batch{weights: w, most: most, trace: trace, prompts: promptRows{widest: Widest(w.devices()...), chunk: DefaultChunk}, arrived: make(chan struct{}, 1)}
	b.prompts.usual, _ = PassRows(w.devices()...)
	b.outputs = outputs{weights: w, memory: &b.memory}
	return b
}

// Most returns how many rows of answers a pass computes at most.
func (b *Batch) Most() int { return b.most }

// Bytes returns how many bytes the passes' memory takes.
func (b *Batch) Bytes() int64 { return b.memory.Load() }

// Chunk returns how many rows of a prompt a pass computes best.
func (b *Batch) Chunk() int { return b.prompts.usual }

// Want makes room for a chunk of that many tokens in one pass, Widest at most.
func (b *Batch) Want(chunk int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.prompts.chunk = max(b.prompts.chunk, min(chunk, b.prompts.widest))
}

// Cost estimates how long a pass takes in which a conversation has some rows, and the others that are in the middle of an answer have one
// each; 0 if nothing was measured yet.
func (b *Batch) Cost(rows int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.costs.Of(max(len(b.members)-1, 0) + rows)
}

// PassCost estimates how long a pass of some rows of answers takes, without rows of prompts; 0 if nothing was measured yet.
func (b *Batch) PassCost(rows int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.costs.OfAnswers(rows)
}

// guessingSteps is of about how many steps Company remembers whether they had guesses.
const guessingSteps = 8

// Company returns how many conversations are in the middle of an answer, and how many of these compute guesses: that of j counts as one, and
// each other one as that part of its latest steps that had guesses.
func (b *Batch) Company(j *Job) (answering int, guessing float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	guessing = 1
	for _, m := range b.members {
		if m != j {
			guessing += m.guessing
		}
	}
	return len(b.members), guessing
}

// Join notes that the job's conversation begins an answer, and will bring a job for each token.
func (b *Batch) Join(j *Job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	j.member, j.returned, j.away, j.guessing = true, precise.Now(), precise.Average{}, 0
	b.members = append(b.members, j)
}

// Leave notes that the answer is over.
func (b *Batch) Leave(j *Job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	j.member = false
	b.members = slices.DeleteFunc(b.members, func(m *Job) bool { return m == j })
	b.came()
}

// came notes that one of the missing need not be waited for any longer.
func (b *Batch) came() {
	if b.missing == 0 {
		return
	}
	if b.missing--; b.missing == 0 {
		b.arrived <- struct{}{} // of capacity 1, and the leader empties it before it waits again
	}
}

// Run computes a job, with whatever others wait, and returns its error. After an error the memory is as it was, with its records, and
// nothing was computed.
func (b *Batch) Run(j *Job) error { return b.RunAll(j) }

// RunAll is Run for several jobs, which may be computed in one pass. Those of models that read texts as a whole are: longest first, as many
// as a pass has room for. It returns the first job's error that is not nil.
func (b *Batch) RunAll(jobs ...*Job) error {
	if len(jobs) == 0 {
		return nil
	}
	b.mu.Lock()
	for _, j := range jobs {
		j.reset()
		if j.member {
			j.away.Add(precise.Since(j.returned))
			guesses := 0.
			if j.Guesses {
				guesses = 1
			}
			j.guessing += (guesses - j.guessing) / guessingSteps
			b.came()
		}
	}
	b.queue = append(b.queue, jobs...)
	lead := !b.leading
	b.leading = true
	b.mu.Unlock()
	var first error
	for _, j := range jobs {
		if lead || b.await(j) {
			b.lead(j)
		}
		lead = false
		if err := errors.Join(j.err, b.outputs.collect(j)); first == nil {
			first = err
		}
	}
	return first
}

// await returns true when the job is to lead, and false when it is finished.
func (b *Batch) await(j *Job) bool {
	var ended <-chan struct{}
	if j.Context != nil {
		ended = j.Context.Done()
	}
	select {
	case <-j.signal:
	case <-ended:
		b.mu.Lock()
		left := j.queued && !j.leads
		if left {
			b.remove(j)
			j.finished, j.err = true, j.Context.Err()
		}
		b.mu.Unlock()
		if left {
			return false
		}
		<-j.signal // it is being computed, or it was given the lead
	}
	return !j.finished
}

// remove takes a job out of the queue, with mu held.
func (b *Batch) remove(j *Job) {
	j.queued = false
	b.queue = slices.DeleteFunc(b.queue, func(q *Job) bool { return q == j })
}

// lead computes passes until j is done, and hands the lead over.
func (b *Batch) lead(j *Job) {
	for !j.finished {
		b.gather()
		b.take()
		b.compute()
		b.finish(j)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leading = len(b.queue) > 0
	if b.leading {
		next := b.queue[0]
		next.leads = true
		next.signal <- struct{}{}
	}
}

// A pass waits for a sequence three times as long as it usually takes to come back, and leastPatience in any case, so that one that is
// held up for once does not hold up the others; and not at all for those who usually take so long that waiting costs the others more
// time than a pass of their own takes.
const (
	patience      = 3
	leastPatience = 100 * time.Microsecond
)

// gather waits for the members that are expected.
func (b *Batch) gather() {
	b.waited = 0
	b.mu.Lock()
	rows, away := 0, 0
	for _, j := range b.queue {
		if j.Answer {
			rows += len(j.Tokens)
		}
	}
	for _, j := range b.members {
		if !j.queued {
			away++
		}
	}
	if away == 0 || rows >= b.most {
		b.mu.Unlock()
		return
	}
	now := precise.Now()
	worth := max(b.costs.Latest*time.Duration(away)/time.Duration(away+rows), leastPatience)
	var longest time.Duration
	missing := 0
	for _, j := range b.members {
		left := min(max(patience*j.away.Mean, leastPatience), worth) - now.Sub(j.returned)
		if !j.queued && j.away.Mean <= worth && left > 0 {
			longest = max(longest, left)
			missing++
		}
	}
	if missing == 0 {
		b.mu.Unlock()
		return
	}
	b.missing = missing
	b.mu.Unlock()
	if b.trace != nil {
		defer func() { b.waited = precise.Since(now) }()
	}
	if b.timer == nil {
		b.timer = time.NewTimer(longest)
	} else {
		b.timer.Reset(longest)
	}
	select {
	case <-b.arrived:
		b.timer.Stop()
		return
	case <-b.timer.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.missing == 0 { // the last one came at the same moment
		<-b.arrived
	}
	b.missing = 0
}

// take moves jobs from the queue to the pass: answers, and then as much of the prompts as the time allows.
func (b *Batch) take() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = b.taken[:0]
	if b.weights.Config.Whole {
		b.takeTexts()
		return
	}
	rows := 0
	for _, j := range b.queue {
		if j.Answer && (rows == 0 || rows+len(j.Tokens) <= b.most) {
			j.Rows = len(j.Tokens)
			rows += j.Rows
			b.taken = append(b.taken, j)
		}
	}
	room := b.prompts.chunk
	if rows > 0 || b.expected() {
		room = b.costs.Beside(b.prompts.chunk)
	}
	for _, j := range b.queue {
		if j.Answer || room == 0 {
			continue
		}
		if j.Context != nil && j.Context.Err() != nil {
			j.err = j.Context.Err()
		} else {
			j.Rows = j.fit(room, b.weights.Config.Together)
			room = max(room-j.Rows, 0)
		}
		b.taken = append(b.taken, j)
	}
	for _, j := range b.taken {
		j.queued = false
	}
	b.queue = slices.DeleteFunc(b.queue, func(j *Job) bool { return !j.queued })
	// Caches of one type side by side: the turning of keys of 4 bits then works on all of them at once. So are the rows of one adapter,
	// which are then computed at once.
	slices.SortStableFunc(b.taken, func(x, y *Job) int {
		return cmp.Or(cmp.Compare(x.dtype(), y.dtype()), cmp.Compare(x.Adapter.place(), y.Adapter.place()))
	})
}

// takeTexts is take for whole texts. A pass takes the text that came first, whatever its length, so that no text waits for ever, and then
// the longest ones that it has room for: the short ones fill the rest. It is called with mu held.
//
// Example: texts of 40, 300, 10 and 500 tokens wait, in this order, and a pass has room for 512 rows. The first pass takes those of 40, 300
// and 10, and the second one that of 500.
func (b *Batch) takeTexts() {
	room := b.prompts.widest
	take := func(j *Job) {
		j.queued = false
		if j.Context != nil && j.Context.Err() != nil {
			j.err = j.Context.Err()
		} else {
			j.Rows = len(j.Tokens)
			room -= j.Rows
		}
		b.taken = append(b.taken, j)
	}
	take(b.queue[0])
	rest := slices.Clone(b.queue[1:])
	slices.SortStableFunc(rest, func(x, y *Job) int { return cmp.Compare(len(y.Tokens), len(x.Tokens)) })
	for _, j := range rest {
		if len(j.Tokens) <= room {
			take(j)
		}
	}
	b.queue = slices.DeleteFunc(b.queue, func(j *Job) bool { return !j.queued })
	slices.SortStableFunc(b.taken, func(x, y *Job) int { return cmp.Compare(x.Adapter.place(), y.Adapter.place()) })
}

// expected reports whether a member without a job in the queue will be back before a long pass is over: it would have to wait for that
// pass. It is called with mu held.
func (b *Batch) expected() bool {
	now := precise.Now()
	return slices.ContainsFunc(b.members, func(j *Job) bool {
		return now.Sub(j.returned) < max(patience*j.away.Mean, leastPatience, b.costs.Of(b.prompts.chunk))
	})
}

// finish wakes the goroutines of finished jobs, all but the leader j.
func (b *Batch) finish(j *Job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := precise.Now()
	for _, done := range b.taken {
		done.finished, done.returned = true, now
		if done != j {
			done.signal <- struct{}{}
		}
	}
	clear(b.taken)
}

// compute computes the pass. When that fails, each of its jobs is computed alone: only those fail that fail by themselves.
func (b *Batch) compute() {
	live := b.live[:0]
	rows, prompts := 0, 0
	for _, j := range b.taken {
		if j.err == nil {
			j.err = j.reserve()
		}
		if j.err == nil {
			rows += j.Rows
			live = append(live, j)
			if !j.Answer {
				prompts += j.Rows
			}
		}
	}
	b.live = live
	if len(live) == 0 {
		return
	}
	b.passes++
	began := precise.Now()
	for _, j := range live {
		j.Pass, j.Began = b.passes, began
	}
	err := b.forward(live, rows)
	switch {
	case err == nil:
		b.mu.Lock()
		b.costs.Note(rows, prompts, precise.Since(began))
		b.mu.Unlock()
	case len(live) == 1:
		live[0].err = err
	default:
		for i, j := range live {
			if j.err = j.reserve(); j.err == nil {
				j.err = b.forward(live[i:i+1], j.Rows)
			}
		}
	}
	if b.trace != nil {
		b.trace(PassInfo{
			Number: b.passes, Began: began, Took: precise.Since(began), Waited: b.waited, Steps: len(live), Answers: rows - prompts, Prompts: prompts, Err: err,
		})
	}
	clear(live)
}

// forward computes the jobs' tokens, rows in all, in one pass: it appends their keys and values to their caches, and gives each job
// the output that it wants. When all jobs have contexts that have ended, it gives up before the next layer. After an error the
// memories and their records are as they were; what one job's own output fails at is that job's error alone.
func (b *Batch) forward(jobs []*Job, rows int) (err error) {
	defer runtime.KeepAlive(b.weights)
	defer func() {
		for _, j := range jobs {
			if err != nil || j.err != nil {
				j.takeBack()
			} else {
				j.done()
			}
		}
		if err != nil && len(jobs) == 1 {
			err = fmt.Errorf("%d tokens at position %d: %w", rows, jobs[0].Start, err)
		}
	}()
	defer parallel.Catch(&err)() // weights may be a mapped file; the clean-up above then sees the error
	p, err := b.passOf(rows)
	if err != nil {
		return err
	}
	end, err := p.run(b.weights, jobs)
	if err != nil {
		return err
	}
	return b.outputs.give(end)
}

// passOf returns the pass cut to a number of rows. It makes one, or a larger one, if that is needed.
func (b *Batch) passOf(rows int) (*pass, error) {
	if b.pass != nil && rows <= b.pass.most {
		return b.pass, b.pass.resize(rows)
	}
	b.mu.Lock()
	most := max(b.prompts.chunk+b.most, rows)
	b.mu.Unlock()
	p, err := newPass(b.weights, most, &b.memory)
	if err != nil {
		return nil, err
	}
	if b.pass != nil {
		if err := b.pass.freeAll(); err != nil {
			return nil, err
		}
	}
	b.pass = p
	return p, p.resize(rows)
}

// Free gives the memory back, when no conversation is left.
func (b *Batch) Free() error {
	var err error
	if b.pass != nil {
		err = b.pass.freeAll()
		b.pass = nil
	}
	return errors.Join(err, b.outputs.free())
}
