package llama

import (
	"time"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
)

// Trace is a set of functions that a model calls when it has done something, with when it began and how long it took: for programs that
// show or record how the time of a token is spent. Any of them may be nil. LoadOptions.Trace sets it.
//
// Functions about a session are called on the Trace of the model that opened it, also after a Move; functions about a forward pass, on the
// Trace of the model that computes it. A session does one thing after the other, so that its times do not overlap; the one exception is an
// eviction on a device that fails, within which the session moves back.
//
// The functions are called on the goroutines that do the work, several at a time if several sessions run, and the work waits for them: they
// must be quick and safe for concurrent use, and must not call methods of the model or of a session. A model without a Trace looks at no
// clock for it.
//
// What the threads of a backend compute meanwhile is kept by backend.Options.Record.
type Trace struct {
	// Pass is called when a forward pass is over. Passes of a model come one after the other.
	Pass func(PassInfo)
	// Step is called when tokens of a session have been computed, or that failed: a part of a prompt, or the token that an answer goes on
	// with and those that may come behind it.
	Step func(StepInfo)
	// Choose is called when the next token of an answer has been decided, or that the answer ends.
	Choose func(ChooseInfo)
	// Draft is called when a Drafter has been asked for what may come next.
	Draft func(DraftInfo)
	// Evict is called when a session has given up slots of its cache.
	Evict func(EvictInfo)
	// Move is called when a session has moved to another model, or gone back since a device failed.
	Move func(MoveInfo)
}

// PassInfo describes a forward pass.
type PassInfo struct {
	Number  uint64 // 1, 2, … in the order in which the model computes them
	Began   time.Time
	Took    time.Duration
	Waited  time.Duration // from the moment at which the pass could have begun until Began: for rows of sessions that were about to come
	Steps   int           // of how many sessions the pass computes rows
	Answers int           // rows of answers
	Prompts int           // rows of prompts
	Err     error         // nil: the pass succeeded. After a failure for several sessions, each one's rows were computed alone, within Took
}

// StepInfo describes a step of a session.
type StepInfo struct {
	Session uint64 // which of the model's sessions: 1, 2, … in the order in which they were opened
	Began   time.Time
	Took    time.Duration // with Waited
	Waited  time.Duration // after Began, until the pass began that computes the step
	Pass    uint64        // that pass's number; 0: no pass began
	Start   int           // position of the step's first token
	Rows    int           // tokens that were computed
	Answer  bool          // the tokens are an answer's; otherwise they are a prompt's
	Slots   int           // of the cache in use afterwards: of the layer that has most
	Bytes   int64         // of keys and values in use afterwards
	Err     error
}

// ChooseInfo describes the choice of a token.
type ChooseInfo struct {
	Session    uint64 // as StepInfo's
	Began      time.Time
	Took       time.Duration // with Constraint
	Constraint time.Duration // from Began until Params.Constraint had returned the allowed tokens; 0 without one
	Position   int           // of the token
	Token      Token
	Forced     bool // the constraint left no alternative
	Ahead      bool // the token was computed already, as one that may come next
	End        bool // there is no token: the answer ends
}

// DraftInfo describes a Drafter's proposal.
type DraftInfo struct {
	Session  uint64 // as StepInfo's
	Began    time.Time
	Took     time.Duration
	Proposed int // tokens that the Drafter proposed
	Computed int // the first of them that are computed with the next step
}

// EvictInfo describes an eviction. Its time, eviction.Result's Duration, covers choosing slots and moving the others.
type EvictInfo struct {
	Session uint64 // as StepInfo's
	Token   int    // tokens of the conversation by then
	Began   time.Time
	eviction.Result
	LeftSlots int   // of the cache in use afterwards: of the layer that has most
	LeftBytes int64 // of keys and values in use afterwards
}

// MoveInfo describes a session's move to another model.
type MoveInfo struct {
	Session uint64 // as StepInfo's
	Began   time.Time
	Migration
	Because error // the failure of the device that the session came back from; nil: it was moved by Session.Move
}

// passes returns the function to which a batch reports its passes; nil if there is no Trace.Pass.
func (t *Trace) passes() func(engine.PassInfo) {
	if t.Pass == nil {
		return nil
	}
	return func(p engine.PassInfo) { t.Pass(PassInfo(p)) }
}

// step reports a sequence's job, which began then.
func (t *Trace) step(c *sequence, began time.Time, err error) {
	j := &c.job
	info := StepInfo{
		Session: c.number, Began: began, Took: precise.Since(began), Pass: j.Pass, Start: j.Start, Rows: j.Rows, Answer: j.Answer,
		Slots: c.used, Bytes: c.usage.Bytes, Err: err,
	}
	if info.Waited = info.Took; j.Pass != 0 {
		info.Waited = j.Began.Sub(began)
	}
	t.Step(info)
}

// move reports a sequence's move that is just over, and why it was necessary.
func (t *Trace) move(c *sequence, m Migration, because error) {
	if t.Move != nil {
		t.Move(MoveInfo{c.number, precise.Now().Add(-m.Duration), m, because})
	}
}
