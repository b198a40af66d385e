package llama

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// batch computes the steps of a model's sequences together: each weight is read once for the rows of all who wait.
//
// Nobody schedules. A goroutine that has a job joins the queue, and leads if nobody does: it takes from the queue what one forward
// pass can hold, computes it, wakes those whose jobs are done, and goes on until its own job is done; then it hands the lead to
// the first who waits (group commit, as databases write their logs). A sequence that is alone pays nothing for this. What a row
// gives does not depend on the rows beside it, so no answer depends on who else was there.
//
// Rows of answers come first, since a reader waits for each; rows of prompts fill the pass up, as long as it does not take much
// longer than without them. Before a pass the leader waits a little for those whose answers were in the last pass and who are
// expected back: otherwise the sequences would fall apart into groups that each read the weights.
//
// Invariants while mu is free: a job is in queue from the call of run until a leader takes it; leading is true while a goroutine
// leads or has been told to; missing is the number of jobs that the leader waits for, 0 when it does not wait. The fields below
// mu's group are the leader's.
type batch struct {
	model *Model
	most  int // rows of answers in one pass: LoadOptions.MaxBatch

	mu      sync.Mutex
	queue   []*job        // in the order of arrival
	members []*job        // of sequences that are in the middle of an answer
	leading bool          // somebody leads
	missing int           // members that the leader waits for
	arrived chan struct{} // tells a waiting leader that missing has become 0
	chunk   int           // the most rows of prompts in one pass
	costs   rowCosts      // how long passes take; the leader alone changes them

	// The leader's.
	ws     *workspace // nil before the first pass
	timer  *time.Timer
	pass   []*job        // the jobs of the present pass
	passes uint64        // that have begun
	waited time.Duration // by gather, for the present pass; known only if there is a Trace.Pass
	live   []*job        // those of them that are computed
	blocks [2]block      // of the latest two passes, in turn
	turn   int           // which of blocks is next
	best   choices       // the largest logits of a pass
	memory atomic.Int64  // bytes of the workspace and the blocks
}

// mostChunk is the most rows of prompts in one pass: more are not faster anywhere, and take memory.
const mostChunk = 512

// defaultMaxBatch is LoadOptions.MaxBatch where it is 0: with more rows no processor that was measured computes a row in less time.
const defaultMaxBatch = 32

// job is some tokens of one sequence to compute. It belongs to the sequence, whose lock is held from run to the job's end, and is
// used again for its next step.
type job struct {
	// What is asked for.
	ctx     context.Context  // the job leaves the queue when it ends, and does not begin another layer; nil: it never ends
	caches  []*kvcache.Cache // one a layer
	tokens  []Token          // to compute, or as many of the first of them as there is room for
	start   int              // the position of the first
	long    bool             // the angles of RoPE are those of long conversations
	adapter *adapterWeights  // changes what is computed; nil: nothing does
	scale   float32          // of what adapter changes
	answer  bool             // the tokens are an answer's: all of them are computed, before any prompt's
	out     output

	// What comes back.
	rows int   // tokens that were computed
	err  error // why none were

	// The batch's.
	member   bool // of batch.members
	queued   bool // in batch.queue
	leads    bool // has been told to lead
	finished bool // rows and err are valid
	first    int  // row of the pass
	signal   chan struct{}
	returned time.Time // when the sequence last got a job back
	away     average   // how long it then takes until it brings the next
	pass     uint64    // the number of the pass that computed it; 0: none did
	began    time.Time // when that pass began
	block    *block    // where its logits are; nil: they need no copying
	at       int       // first row there
}

// output says what a job wants of its rows.
type output struct {
	last int                          // the logits of how many of the last tokens
	into *tensor.Tensor               // [last, vocab]: where they go, on the device
	top  int                          // how many of the largest logits of each of these rows
	best *choices                     // [last·top]: the largest logits and their tokens
	each func(x *tensor.Tensor) error // is called for groups of rows, in order, which together are all: with their logits [rows, vocab]
	hide bool                         // each gets the final hidden states [rows, hidden] instead
}

// block is the logits of one pass, until the sequences have copied their rows.
type block struct {
	logits *tensor.Tensor // [rows, vocab]
	taken  sync.WaitGroup // done when all rows have been copied
}

func newBatch(m *Model, most int) *batch {
	if most == 0 {
		most = defaultMaxBatch
	}
	return &batch{model: m, most: most, chunk: defaultChunk, arrived: make(chan struct{}, 1)}
}

// want makes room for a chunk of that many tokens in one pass, mostChunk at most.
func (b *batch) want(chunk int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.chunk = max(b.chunk, min(chunk, mostChunk))
}

// cost estimates how long a pass takes in which a sequence has some rows, and the others that are in the middle of an answer have
// one each; 0 where nothing was measured yet.
func (b *batch) cost(rows int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.costs.of(max(len(b.members)-1, 0) + rows)
}

// join tells that the job's sequence begins an answer, and will bring a job for each token.
func (b *batch) join(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	j.member, j.returned, j.away = true, precise.Now(), average{}
	b.members = append(b.members, j)
}

// leave tells that the answer is over.
func (b *batch) leave(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	j.member = false
	b.members = slices.DeleteFunc(b.members, func(m *job) bool { return m == j })
	b.came()
}

// came notes that one of the missing need not be waited for any longer.
func (b *batch) came() {
	if b.missing == 0 {
		return
	}
	if b.missing--; b.missing == 0 {
		b.arrived <- struct{}{} // of capacity 1, and the leader empties it before it waits again
	}
}

// run computes a job, with whatever others wait, and returns its error.
func (b *batch) run(j *job) error {
	if j.signal == nil {
		j.signal = make(chan struct{}, 1)
	}
	b.mu.Lock()
	j.finished, j.leads, j.queued, j.rows, j.err, j.block, j.pass = false, false, true, 0, nil, nil, 0
	b.queue = append(b.queue, j)
	lead := !b.leading
	b.leading = true
	if j.member {
		j.away.add(precise.Since(j.returned))
		b.came()
	}
	b.mu.Unlock()
	if lead || b.await(j) {
		b.lead(j)
	}
	return errors.Join(j.err, b.collect(j))
}

// await returns true when the job is to lead, and false when it is finished.
func (b *batch) await(j *job) bool {
	var ended <-chan struct{}
	if j.ctx != nil {
		ended = j.ctx.Done()
	}
	select {
	case <-j.signal:
	case <-ended:
		b.mu.Lock()
		left := j.queued && !j.leads
		if left {
			b.remove(j)
			j.finished, j.err = true, j.ctx.Err()
		}
		b.mu.Unlock()
		if left {
			return false
		}
		<-j.signal // it is being computed, or was told to lead
	}
	return !j.finished
}

// remove takes a job out of the queue, with mu held.
func (b *batch) remove(j *job) {
	j.queued = false
	b.queue = slices.DeleteFunc(b.queue, func(q *job) bool { return q == j })
}

// lead computes passes until j is done, and hands the lead over.
func (b *batch) lead(j *job) {
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
func (b *batch) gather() {
	b.waited = 0
	b.mu.Lock()
	rows, away := 0, 0
	for _, j := range b.queue {
		if j.answer {
			rows += len(j.tokens)
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
	worth := max(b.costs.latest*time.Duration(away)/time.Duration(away+rows), leastPatience)
	var longest time.Duration
	missing := 0
	for _, j := range b.members {
		left := min(max(patience*j.away.mean, leastPatience), worth) - now.Sub(j.returned)
		if !j.queued && j.away.mean <= worth && left > 0 {
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
	if b.model.trace.Pass != nil {
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
func (b *batch) take() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass = b.pass[:0]
	rows := 0
	for _, j := range b.queue {
		if j.answer && (rows == 0 || rows+len(j.tokens) <= b.most) {
			j.rows = len(j.tokens)
			rows += j.rows
			b.pass = append(b.pass, j)
		}
	}
	room := b.chunk
	if rows > 0 || b.expected() {
		room = b.costs.beside(b.chunk)
	}
	for _, j := range b.queue {
		if j.answer || room == 0 {
			continue
		}
		if j.ctx != nil && j.ctx.Err() != nil {
			j.err = j.ctx.Err()
		} else {
			j.rows = min(len(j.tokens), room)
			room -= j.rows
		}
		b.pass = append(b.pass, j)
	}
	for _, j := range b.pass {
		j.queued = false
	}
	b.queue = slices.DeleteFunc(b.queue, func(j *job) bool { return !j.queued })
	// Caches of one type side by side: what turns keys of 4 bits then works on all of them at once.
	// So are the rows of one adapter, which are then computed at once.
	slices.SortStableFunc(b.pass, func(x, y *job) int {
		return cmp.Or(cmp.Compare(x.caches[0].DType(), y.caches[0].DType()), cmp.Compare(x.adapter.order(), y.adapter.order()))
	})
}

// expected tells whether a member, whose job is not in the queue, will be back before a long pass is over: it would have to wait for
// that. It is called with mu held.
func (b *batch) expected() bool {
	now := precise.Now()
	return slices.ContainsFunc(b.members, func(j *job) bool {
		return now.Sub(j.returned) < max(patience*j.away.mean, leastPatience, b.costs.of(b.chunk))
	})
}

// finish wakes those whose jobs are done, all but the leader j.
func (b *batch) finish(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := precise.Now()
	for _, done := range b.pass {
		done.finished, done.returned = true, now
		if done != j {
			done.signal <- struct{}{}
		}
	}
	clear(b.pass)
}

// compute computes the pass. When that fails, each of its jobs is computed alone: only those fail that fail by themselves.
func (b *batch) compute() {
	live := b.live[:0]
	rows, prompts := 0, 0
	for _, j := range b.pass {
		if j.err == nil {
			j.err = j.reserve()
		}
		if j.err == nil {
			rows += j.rows
			live = append(live, j)
			if !j.answer {
				prompts += j.rows
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
		j.pass, j.began = b.passes, began
	}
	err := b.forward(live, rows)
	switch {
	case err == nil:
		b.mu.Lock()
		b.costs.note(rows, prompts, precise.Since(began))
		b.mu.Unlock()
	case len(live) == 1:
		live[0].err = err
	default:
		for i, j := range live {
			j.err = b.forward(live[i:i+1], j.rows)
		}
	}
	if told := b.model.trace.Pass; told != nil {
		told(PassInfo{
			Number: b.passes, Began: began, Took: precise.Since(began), Waited: b.waited, Steps: len(live), Answers: rows - prompts, Prompts: prompts, Err: err,
		})
	}
	clear(live)
}

// reserve makes room for the job's tokens in the caches. Whatever goes wrong is the job's error alone: the leader must go on for the
// others.
func (j *job) reserve() (err error) {
	defer parallel.Catch(&err)()
	for i, c := range j.caches {
		if err := c.Reserve(j.rows); err != nil {
			return layerError(i, err)
		}
	}
	return nil
}

// collect copies the job's logits from the pass's block, on the goroutine of the sequence, so that the sequences do it side by
// side while the next pass may begin.
func (b *batch) collect(j *job) error {
	if j.block == nil {
		return nil
	}
	defer j.block.taken.Done()
	n := j.out.into.Shape().NumElements()
	return b.model.device.CopySlice(j.block.logits, j.out.into, j.at*(n/j.out.last), 0, n)
}

// free releases the memory, when no sequence is left.
func (b *batch) free() error {
	var errs []error
	if b.ws != nil {
		errs = append(errs, b.ws.free())
	}
	for i := range b.blocks {
		if t := b.blocks[i].logits; t != nil {
			errs = append(errs, t.Free())
		}
	}
	b.ws = nil
	for i := range b.blocks {
		b.blocks[i].logits = nil
	}
	b.memory.Store(0)
	return errors.Join(errs...)
}
