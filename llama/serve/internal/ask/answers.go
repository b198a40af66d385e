package ask

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/receipt"
	"github.com/antigravity-go/antigravity/llama/serve/internal/budget"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
	"github.com/antigravity-go/antigravity/llama/serve/internal/queue"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// A request's answers are computed on goroutines of their own and handed over as events. For example, a request for two answers of a word
// each gives
//
//	Ask        joins the queue with two choices: two places
//	compute    twice: waits for its place, asks the pool for the pieces, puts an event for each
//	Next       events as they come: {Choice 1, "Yes"}, {Choice 0, "No"}, {Choice 0, stop}, {Choice 1, stop}
//
// Answers do not wait to be read: a slow reader holds neither a place nor the model.

// Model is a model that a request has taken. Close gives it back.
type Model struct {
	*models.Lease
	service *Service
	request *Request

	shown    map[*llama.Image]string // the places of the images that the model is to see
	attached []*llama.Attachment     // what it has seen of them; they are held until the request is over
}

// SystemFingerprint returns the fingerprint of the model's weights, as OpenAI names and writes it.
func (m *Model) SystemFingerprint() string { return "fp_" + m.Fingerprint }

// Choice is an answer that a request asks for.
type Choice struct {
	Prompt   []llama.Token
	Message  bool // the answer is a message, and does not continue the prompt's text
	Params   llama.Params
	Progress Progress // which events there are of the prompt

	// PromptLogprobs asks for the log-probabilities of the prompt's tokens and of this many likeliest ones in the place of each, which come in
	// one event before the answer. The prompt is computed as a whole then, whatever is cached. 0: they are not asked for.
	PromptLogprobs int
	PromptOnly     bool // there is to be no answer after them

	// Receipt asks for the answer's receipt, which comes with its last piece.
	Receipt  bool
	recorder *receipt.Recorder
}

// Progress says which events there are of a prompt that is being computed.
type Progress uint8

// The events of a prompt.
const (
	NoProgress Progress = iota
	AtBegin             // one event, when the computing begins
	EachStep            // one more after each step
)

// Repeat returns n choices that differ in their seeds: the i-th, from 0, is the one that the seed plus i gives alone.
func (c Choice) Repeat(n int) []Choice {
	choices := slices.Repeat([]Choice{c}, n)
	for i := range choices {
		choices[i].Params.Seed += uint64(i)
	}
	return choices
}

// Ask judges the choices, joins the queue and begins to compute. names says how the interface calls the fields of llama.Params:
// {"Params.TopK": "top_k"}. An error in a choice is returned before anything waits. The caller closes the Answers.
//
// As soon as the answers are computed the model is given back, whoever still reads them: it is not to be used after Ask, but for its
// Tokenizer.
func (m *Model) Ask(ctx context.Context, choices []Choice, names FieldNames) (*Answers, error) {
	for i := range choices {
		p := &choices[i].Params
		if most := m.service.MaxTokens; most > 0 && (p.MaxTokens == 0 || p.MaxTokens > most) {
			p.MaxTokens = most
		}
		if p.Draft == nil {
			p.Draft = m.Draft
		}
		p.Scope, p.Adapter, p.AdapterScale = m.request.Scope, m.Adapter, m.AdapterScale
		if err := m.Pool.Check(choices[i].Prompt, *p); err != nil {
			return nil, Explain(ctx, err, names)
		}
		if err := m.record(&choices[i]); err != nil {
			return nil, Explain(ctx, err, names)
		}
	}
	if most := m.service.MaxAnswers; len(choices) > most {
		return nil, wire.Invalid("n", "the request asks for %d answers, and may ask for %d", len(choices), most)
	}
	places, err := m.Queue.Join(m.request.Client, len(choices))
	if err != nil {
		return nil, Explain(ctx, err, names)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a := &Answers{model: m, names: names, cancel: cancel, open: len(choices), more: make(chan struct{}, 1)}
	var computing atomic.Int64
	computing.Store(int64(len(choices)))
	for i, place := range places {
		a.running.Go(func() {
			a.compute(ctx, i, place, &choices[i])
			if computing.Add(-1) == 0 {
				m.Close() // a client that reads slowly must not keep the model from being given back
			}
		})
	}
	return a, nil
}

// Event is a part of one of the answers: a piece of it or, as its last, the error that ended it.
type Event struct {
	Choice   int
	Piece    llama.Piece
	Err      *wire.Error           // the error; Piece is then the last of the answer
	Progress *llama.PromptProgress // of the prompt; then the piece is empty. nil: the event is of the answer
	Prompt   []llama.Logprobs      // of the prompt's tokens, if a Choice asks for them; then the piece is empty
	Receipt  *receipt.Receipt      // with an answer's last piece, if the Choice asks for it

	held int64 // bytes that the request's share of memory has for it
}

// Answers are the answers of a request while they are computed. They are computed as fast as they can be, however slowly they are read: what
// has not been read yet lies in memory. The request's share of memory has it, and if there is no more, the answers end with an error.
//
// Invariants: events are in the order in which they came; open is how many answers have not come to their last event; more holds an
// element whenever events is not empty or open is 0.
type Answers struct {
	model   *Model
	names   FieldNames
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	kept    bool // events that were read stay in memory until the request is over

	mu     sync.Mutex
	events []Event
	open   int
	more   chan struct{}
	full   *wire.Error // why the answers end early: memory came to its end; nil: it did not
}

// compute computes one answer.
func (a *Answers) compute(ctx context.Context, choice int, place *queue.Place, c *Choice) {
	defer place.Leave()
	over := false // the last event has been put
	defer func() {
		if p := recover(); p != nil && !over { // it ends this answer, and not the process
			a.put(Event{Choice: choice, Err: wire.ErrorOf(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))})
		}
	}()
	began := precise.Now()
	if err := place.Wait(ctx); err != nil {
		a.put(Event{Choice: choice, Err: Explain(ctx, err, a.names)})
		return
	}
	a.notify(func(s Span) { s.Begin(choice, precise.Since(began)) })
	logged := a.model.newAnswerLog(choice, c.Prompt)
	defer logged.end()
	if c.Progress != NoProgress {
		c.Params.Progress = func(p llama.PromptProgress) {
			if c.Progress == EachStep || p.Done == p.Reused {
				a.put(Event{Choice: choice, Progress: &p})
			}
		}
	}
	for piece, err := range a.pieces(ctx, choice, c) {
		if n := len(piece.Tokens); n > 0 {
			a.notify(func(s Span) { s.Tokens(choice, n) })
		}
		logged.add(piece)
		e := Event{Choice: choice, Piece: piece}
		if err == nil {
			e.Receipt, err = a.model.receiptOf(ctx, c, piece)
		}
		if err != nil {
			e.Err = Explain(ctx, err, a.names)
		}
		if e.last() {
			place.Leave() // whoever waits need not wait until this is read
			a.notify(func(s Span) { s.End(choice, piece.Stop, piece.Stats) })
		}
		over = e.last()
		a.put(e)
	}
}

func (a *Answers) pieces(ctx context.Context, choice int, c *Choice) iter.Seq2[llama.Piece, error] {
	if c.PromptLogprobs > 0 {
		return a.scored(ctx, choice, c)
	}
	if c.Message {
		return a.model.Pool.Answer(ctx, c.Prompt, c.Params)
	}
	return a.model.Pool.Generate(ctx, c.Prompt, c.Params)
}

// scored returns the pieces of an answer to a prompt that needs log-probabilities itself: the first event has them. Conversations of the
// pool keep no log-probabilities, so the answer has a session of its own.
func (a *Answers) scored(ctx context.Context, choice int, c *Choice) iter.Seq2[llama.Piece, error] {
	return func(yield func(llama.Piece, error) bool) {
		s, err := a.model.NewSession()
		if err != nil {
			yield(llama.Piece{}, err)
			return
		}
		defer s.Close()
		began := precise.Now()
		logs, err := s.Logprobs(ctx, c.Prompt, c.PromptLogprobs)
		if err != nil {
			yield(llama.Piece{}, err)
			return
		}
		prompt := llama.Stats{PromptTokens: len(c.Prompt), PrefillTime: precise.Since(began)}
		a.put(Event{Choice: choice, Prompt: logs})
		if c.PromptOnly {
			yield(llama.Piece{Stop: llama.MaxTokens, Stats: prompt}, nil)
			return
		}
		for piece, err := range s.Generate(ctx, nil, c.Params) {
			if piece.Stop != 0 || err != nil {
				piece.Stats.PromptTokens, piece.Stats.PrefillTime = prompt.PromptTokens, prompt.PrefillTime
			}
			if !yield(piece, err) {
				return
			}
		}
	}
}

// last reports whether the event is its answer's last.
func (e *Event) last() bool { return e.Err != nil || e.Piece.Stop != 0 }

// notify calls what with the request's span, one goroutine at a time.
func (a *Answers) notify(what func(Span)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	what(a.model.request.Span)
}

// put hands an event over. Once there is no memory for the request's answers, only their last events come, and without contents.
func (a *Answers) put(e Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.full == nil {
		e.held = e.size()
		if err := a.memory().GrowAnswer(e.held); err != nil {
			a.drop(err)
		}
	}
	if a.full != nil {
		if !e.last() {
			return
		}
		e = Event{Choice: e.Choice, Err: a.full, Piece: llama.Piece{Stats: e.Piece.Stats}}
	}
	a.events = append(a.events, e)
	if e.last() {
		a.open--
	}
	select {
	case a.more <- struct{}{}:
	default:
	}
}

// drop ends the answers, since memory came to its end, and gives up at once the events that wait: if many requests came to the
// bound together and kept what they have, all of them would end. It is called with mu held.
func (a *Answers) drop(err error) {
	if a.full != nil {
		return
	}
	a.full = unread(err)
	a.cancel(a.full)
	a.events = slices.DeleteFunc(a.events, func(e Event) bool { return !e.last() })
	a.memory().DropAnswers()
	for i := range a.events {
		a.events[i] = Event{Choice: a.events[i].Choice, Err: a.full}
	}
}

// memory returns the request's share of memory.
func (a *Answers) memory() *budget.Share {
	if a.model.request == nil { // in tests
		return nil
	}
	return a.model.request.Memory
}

// poll returns the next event, if it has come. more is false when there are no more.
func (a *Answers) poll() (e Event, ok, more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.events) == 0 {
		return Event{}, false, a.open > 0
	}
	e = a.events[0]
	a.events[0] = Event{} // what it held is garbage once it is sent
	a.events = a.events[1:]
	return e, true, true
}

// Next waits for the next event; ok is false when there are no more.
func (a *Answers) Next() (e Event, ok bool) {
	for {
		e, ok, more := a.poll()
		if ok || !more {
			return e, ok
		}
		<-a.more
	}
}

// Collect reads all events; take is called for each that is not an error, and may keep its contents and write them as JSON. The first error
// ends it.
func (a *Answers) Collect(take func(Event) error) error {
	a.Keep()
	for {
		e, ok := a.Next()
		switch {
		case e.Err != nil:
			return e.Err
		case !ok:
			return nil
		}
		if err := a.took(&e); err != nil {
			return err
		}
		if err := take(e); err != nil {
			return err
		}
	}
}

// Keep says that what the events bring stays in memory until the request is over, as it does in a whole answer. It is called before the first
// event is read.
func (a *Answers) Keep() { a.kept = true }

// took accounts for an event that is taken: its memory is given back or, if it is kept, becomes that of an answer.
func (a *Answers) took(e *Event) error {
	grow := -e.held
	if a.kept {
		grow += e.wholeSize()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.full != nil { // all has been given back
		return a.full
	}
	if err := a.memory().GrowAnswer(grow); err != nil {
		a.drop(err)
		return a.full
	}
	return nil
}

// stream is what events are written to.
type stream interface {
	Flush() error         // sends what lies in memory
	Quiet() time.Duration // for how long nothing has been written
}

// Stream calls take for each event, errors included; take writes to a stream, which is sent before Stream waits. If nothing is written for as long
// as the service says, ping is called to write a sign of life. The first error of take or ping ends it.
func (a *Answers) Stream(to stream, ping func() error, take func(Event) error) error {
	every := a.model.service.PingInterval
	timer := time.NewTimer(max(every, 0))
	defer timer.Stop()
	var late <-chan time.Time // nil: never
	if every > 0 {
		late = timer.C
	}
	for {
		if every > 0 && to.Quiet() >= every {
			if err := errors.Join(ping(), to.Flush()); err != nil {
				return err
			}
		}
		e, ok, more := a.poll()
		if ok {
			if err := a.took(&e); err != nil && e.Err == nil {
				e = Event{Choice: e.Choice, Err: a.full}
			}
			if err := take(e); err != nil {
				return err
			}
			continue
		}
		if err := to.Flush(); err != nil || !more {
			return err
		}
		timer.Reset(max(every-to.Quiet(), 0))
		select {
		case <-a.more:
		case <-late:
		}
	}
}

// errLeft is the cause for which answers end that are not read any more.
var errLeft = errors.New("the answers are not read any more")

// Close ends the answers that are still computed, and waits for that: at most one chunk of a prompt or one token.
func (a *Answers) Close() {
	a.cancel(errLeft)
	a.running.Wait()
}
