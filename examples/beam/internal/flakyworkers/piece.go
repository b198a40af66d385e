package flakyworkers

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
)

// piece is a part of a bundle that is tried until an attempt succeeds. It is a bundle to the child that tries it.
//
// All of it is guarded by the worker's lock. attempt is the one under way or the one that has succeeded, otherwise nil. Prism knows input
// to be what the piece does: a split is passed on to prism only while the attempt that was split is under way, and input is then what the
// split left, so whichever attempt succeeds answers for exactly what prism counts on.
//
// The piece p, on which child A fails and which child B completes, goes through:
//
//	dispatch          startAttempt: the attempt "p/1" goes to A, with the piece's input
//	attemptFailed     failedOn is [A], the piece waits again
//	dispatch          chooseChild prefers B; the attempt "p/2" goes to B
//	completeAttempt   B has answered, ended its streams and owes no split: B's output counts
type piece struct {
	id          string
	bundle      *bundle
	input       []*fnpb.Elements
	indivisible bool     // it can be split no more: its last element is a part of one
	wrote       bool     // an attempt has changed the runner's state, so no other must follow it
	tries       int      // attempts so far
	failedOn    []string // IDs of the children on which they failed
	causes      []string // why, each reason once
	attempt     *attempt
}

// attempt is a piece that was given to a child. What the child puts out is held back until the attempt is known to be the one that
// counts: the child has answered that it succeeded, has ended all streams of output, and owes no answer to a split.
type attempt struct {
	id       string // the instruction's ID for the child; no two attempts share one
	piece    *piece
	child    *child
	fault    Fault
	output   []*fnpb.Elements // under prism's ID of the bundle
	streams  int              // streams of output that the child has not yet ended
	splits   int              // splits that the child has not yet answered
	response *fnpb.ProcessBundleResponse
}

// dispatch gives waiting pieces to children that have room for them.
func (w *worker) dispatch() {
	w.startChildren()
	waiting := w.waiting
	w.waiting = nil
	for _, p := range waiting {
		c, possible := w.chooseChild(p)
		switch {
		case p.bundle.over:
		case c != nil:
			w.startAttempt(p, c)
		case possible:
			w.waiting = append(w.waiting, p)
		default:
			p.noteFailure("no worker is left")
			if w.notStarted != nil {
				p.noteFailure(fmt.Sprintf("none could be started: %v", w.notStarted))
			}
			w.giveUp(p)
		}
	}
}

// chooseChild returns the living child with the fewest attempts. Children on which the piece has failed are chosen only if it has failed on
// all. If the best child has no room, chosen is nil. If no child lives, possible is false, too.
func (w *worker) chooseChild(p *piece) (chosen *child, possible bool) {
	failed := func(c *child) bool { return slices.Contains(p.failedOn, c.id) }
	for _, c := range w.children {
		switch {
		case c.dead:
		case chosen == nil, failed(chosen) && !failed(c), failed(chosen) == failed(c) && len(c.attempts) < len(chosen.attempts):
			chosen = c
		}
	}
	if chosen != nil && len(chosen.attempts) >= w.options.Slots {
		return nil, true
	}
	return chosen, chosen != nil
}

// startAttempt gives the piece to the child.
func (w *worker) startAttempt(p *piece, c *child) {
	p.tries++
	w.counts.attempts.Add(1)
	b := p.bundle
	a := &attempt{id: fmt.Sprintf("%s/%d", p.id, p.tries), piece: p, child: c, streams: b.descriptor.streams}
	if w.options.Faults != nil {
		a.fault = w.options.Faults()
	}
	p.attempt, c.attempts[a.id] = a, a
	c.control.put(&fnpb.InstructionRequest{
		InstructionId: a.id, Request: &fnpb.InstructionRequest_ProcessBundle{ProcessBundle: b.request},
	})
	for _, elements := range p.input {
		c.data.put(withInstruction(elements, a.id))
	}
	if a.fault.Kill {
		time.AfterFunc(a.fault.After, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if c.attempts[a.id] == a {
				w.killPlanned(a)
			}
		})
	}
}

// withInstruction returns the elements for another instruction. It shares their bytes.
func withInstruction(elements *fnpb.Elements, instruction string) *fnpb.Elements {
	copied := &fnpb.Elements{}
	for _, d := range elements.GetData() {
		copied.Data = append(copied.Data, &fnpb.Elements_Data{
			InstructionId: instruction, TransformId: d.GetTransformId(), Data: d.GetData(), IsLast: d.GetIsLast(),
		})
	}
	for _, t := range elements.GetTimers() {
		copied.Timers = append(copied.Timers, &fnpb.Elements_Timers{
			InstructionId: instruction, TransformId: t.GetTransformId(), TimerFamilyId: t.GetTimerFamilyId(),
			Timers: t.GetTimers(), IsLast: t.GetIsLast(),
		})
	}
	return copied
}

// completeAttempt counts an attempt as the piece's success, if there is all that it takes and no fault is planted in it.
func (w *worker) completeAttempt(a *attempt) {
	if a.response == nil || a.streams > 0 || a.splits > 0 || a.child.dead {
		return
	}
	if a.fault.Kill && w.killPlanned(a) {
		return
	}
	if a.fault.Fail && !a.exempt(w.options.Attempts) {
		w.counts.failures.Add(1)
		w.attemptFailed(a, "a failure that was planned")
		return
	}
	delete(a.child.attempts, a.id)
	a.piece.bundle.unfinished--
	w.finishBundle(a.piece.bundle)
	w.dispatch()
}

// attemptFailed gives the attempt's piece to another child, if that is still possible.
func (w *worker) attemptFailed(a *attempt, why string) {
	p := a.piece
	delete(a.child.attempts, a.id)
	p.attempt = nil
	p.failedOn = append(p.failedOn, a.child.id)
	p.noteFailure(why)
	switch {
	case p.wrote:
		p.noteFailure("it had changed the runner's state, which the worker cannot undo")
		w.giveUp(p)
	case p.tries >= w.options.Attempts:
		w.giveUp(p)
	default:
		w.waiting = append(w.waiting, p)
	}
	w.dispatch()
}

// noteFailure notes why an attempt failed.
func (p *piece) noteFailure(why string) {
	if !slices.Contains(p.causes, why) {
		p.causes = append(p.causes, why)
	}
}

// giveUp lets the piece's bundle fail.
func (w *worker) giveUp(p *piece) {
	w.failBundle(p.bundle, fmt.Sprintf("%s failed after %d attempts: %s", p.id, p.tries, strings.Join(p.causes, "; ")))
}

// exempt reports whether no fault may be planted in the attempt, since the piece could not survive one.
func (a *attempt) exempt(most int) bool { return a.piece.wrote || a.piece.tries >= most }

// killPlanned kills an attempt's child for the fault planted in it, unless that would hit an exempt attempt. It returns
// whether the child is dead.
func (w *worker) killPlanned(a *attempt) bool {
	if a.child.dead {
		return true
	}
	for _, other := range a.child.attempts {
		if other.exempt(w.options.Attempts) {
			return false
		}
	}
	w.counts.kills.Add(1)
	a.child.kill()
	return true
}

// divisible says whether the piece can be split, as far as the worker is concerned: the ends of all elements can be found.
func (p *piece) divisible() bool {
	if p.attempt == nil || p.indivisible || p.bundle.descriptor.input == nil {
		return false
	}
	for _, elements := range p.input {
		if len(elements.GetTimers()) > 0 {
			return false // the order of elements and timers is not known
		}
	}
	data, _ := dataOf(p.input)
	_, err := p.bundle.descriptor.input.first(data, math.MaxInt64)
	return err == nil
}

// split shortens the piece's input to what a split has left of it: the elements before the first that prism takes back. If an element was
// split itself, its remaining part comes after those before it.
func (p *piece) split(s *fnpb.ProcessBundleSplitResponse) error {
	data, transform := dataOf(p.input)
	left, err := p.bundle.descriptor.input.first(data, s.GetChannelSplits()[0].GetLastPrimaryElement()+1)
	if err != nil {
		return err
	}
	for _, root := range s.GetPrimaryRoots() {
		left = append(left, root.GetElement()...)
		p.indivisible = true
	}
	p.input = inputOf(transform, left)
	return nil
}
