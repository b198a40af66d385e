package engine

import (
	"context"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/tensor"
)

// Job is some tokens of one conversation to compute: a request, a result, and the batch's notes meanwhile. A conversation uses one Job
// again and again. Only one goroutine uses it, and not while it is in Batch.Run.
type Job struct {
	Request
	Result
	ticket
}

// Request is what a conversation asks for.
type Request struct {
	Context context.Context // the job leaves the queue when it ends, and does not begin another layer; nil: it never ends
	Memory  *Memory         // of the conversation; nil of models that read texts as a whole
	Tokens  []int32         // to compute, or as many of the first of them as there is room for. A whole text if there is no Memory
	Spans   []Span          // the rows of the conversation that are images', in order, up to the last of Tokens; other Tokens are of the vocabulary
	Types   []int32         // of the tokens of a text, for models that distinguish the texts of a pair; nil: 0
	Seen    int             // how many of the first tokens of a text are seen, by themselves and by the others; 0: all
	Start   int             // the position of the first
	Long    bool            // the angles of RoPE are those of long conversations
	Adapter *Adapter        // changes the projections; nil: no adapter
	Scale   float32         // of what Adapter changes
	Answer  bool            // the tokens are an answer's: all of them are computed, before any prompt's
	Guesses bool            // some of the latter tokens may be cut off again
	Final   *tensor.Tensor  // [len(Tokens), hidden], of a head that predicts further tokens: for each of Tokens the final state of the token before it
	Output  Output
}

// Output says what a job wants of its rows.
type Output struct {
	Last int                // the logits of how many of the last tokens
	Into *tensor.Tensor     // [Last, vocab]: their place on the device
	Top  int                // how many of the largest logits of each of these rows
	Best *selection.Choices // [Last·Top]: the largest logits and their tokens
	// Temperature, if it is not 0, asks for the Top likeliest tokens instead, with their probabilities softmax(logits/Temperature).
	Temperature float32
	// Each is called for groups of at most GroupRows rows, in order, which together are all rows: with their logits [n, vocab].
	Each func(x *tensor.Tensor) error
	Hide bool  // Each gets the final hidden states [n, hidden] instead
	Rows int   // Each gets only the first rows; 0: all
	Keep *Kept // gets the final states of the latest rows; nil: nobody wants them
}

// Result is the result of a Job.
type Result struct {
	Rows  int       // tokens that were computed
	Pass  uint64    // the number of the pass that computed them; 0: no pass did
	Began time.Time // when that pass began
	err   error     // why no tokens were computed
}

// ticket is what a Batch notes of a job.
type ticket struct {
	member   bool // of the batch's members
	queued   bool // in the batch's queue
	leads    bool // has been given the lead
	finished bool // the result is valid
	first    int  // row of the pass
	rows     int  // in the pass: the last ones of Rows tokens. From a certain layer on, tokens without wanted outputs may be left out
	signal   chan struct{}
	returned time.Time       // when the conversation last got the job back
	away     precise.Average // how long it then takes until it brings the next
	guessing float64         // the part of the latest steps that had guesses
	block    *block          // holds its logits; nil: they need no copying
	at       int             // first row there
	copied   copying         // of them
}

// block is the logits of one pass, until the conversations have copied their rows.
type block struct {
	logits *tensor.Tensor // [rows, vocab]
	taken  sync.WaitGroup // done when all rows have been copied
}

// Answering reports whether the job's conversation is in the middle of an answer: between Batch.Join and Batch.Leave.
func (j *Job) Answering() bool { return j.member }

// reset prepares the job for the queue.
func (j *Job) reset() {
	if j.signal == nil {
		j.signal = make(chan struct{}, 1)
	}
	j.Result = Result{}
	j.finished, j.leads, j.queued, j.block = false, false, true, nil
}

// reserve makes room for the job's tokens in the memory. Whatever goes wrong is the job's error alone: the leader must go on for the
// others.
func (j *Job) reserve() (err error) {
	if j.Memory == nil {
		return nil
	}
	defer parallel.Catch(&err)()
	if j.Memory.Computed() != j.Start {
		return ErrBehind
	}
	return j.Memory.reserve(j.Rows, !j.Answer, j.Guesses)
}

// done ends the job's step in its memory.
func (j *Job) done() {
	if j.Memory != nil && j.Memory.States.any() {
		j.Memory.States.end()
	}
}

// takeBack undoes the job in its memory.
func (j *Job) takeBack() {
	if j.Memory == nil {
		return
	}
	_ = j.Memory.TakeBack(j.Start) // errors of caches that were not reached do not matter
}

// draws reports whether the job wants the likeliest tokens of its last rows.
func (j *Job) draws() bool { return j.wantsLast() && j.Output.Top > 0 && j.Output.Temperature > 0 }

// start returns the position of the first of the job's rows that are in the pass.
func (j *Job) start() int { return j.Start + j.Rows - j.rows }

// wanted returns how many of the last rows somebody wants something of.
func (j *Job) wanted() int {
	if j.Output.Each != nil {
		return j.rows
	}
	n := 0
	if j.wantsLast() {
		n = j.Output.Last
	}
	if k := j.Output.Keep; k != nil {
		n = max(n, min(j.rows, k.most))
	}
	return n
}

// typeOf returns the type of a token.
func (j *Job) typeOf(row int) int32 {
	if j.Types == nil {
		return 0
	}
	return j.Types[row]
}

// dtype returns the type of what the conversation's memory holds; 0 if there is no memory.
func (j *Job) dtype() tensor.DType {
	if j.Memory == nil {
		return 0
	}
	for _, c := range j.Memory.attending() {
		return c.DType()
	}
	return 0
}

// wantsLast reports whether the job wants logits of its last tokens, and these are in the pass.
func (j *Job) wantsLast() bool { return j.err == nil && j.Output.Last > 0 && j.Rows == len(j.Tokens) }
