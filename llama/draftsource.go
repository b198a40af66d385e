package llama

import (
	"reflect"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
)

// draftSource is one of the drafters of a session's answers, with the experience with it. Drafters of one type are taken for the same:
// the experience with one in an answer counts for another one in the next.
//
// Invariant: asked says that it has been asked for the step under way, and then proposal is what it has proposed and the constraint allows; otherwise
// proposal is empty.
type draftSource struct {
	drafter Drafter // nil: the present answer does not have it
	kind    reflect.Type
	promise promise
	time    askingTime
	read    bool // it has been asked in this answer: the first call reads the prompt
	dear    bool // in the step under way

	asked    bool
	proposal []Token
	proposed int // tokens, those that the constraint does not allow counted
	began    time.Time
	took     time.Duration
}

// dearShare: a drafter is dear when a token of its proposals takes it more than this share of what a plain step takes. A smaller
// model is, looking a token up is not. A dear one is asked when it promises more than the others, and for as many tokens as would be computed.
const dearShare = 1. / 64

// begin prepares for a step.
func (s *draftSource) begin() {
	if !s.asked {
		s.time.fall()
	}
	s.asked, s.dear, s.proposal = false, false, s.proposal[:0]
}

// class returns the class of the proposal; -1 if there is no proposal to learn from. A dear one proposes what it is asked for, which says nothing, and
// what it does not propose has its price too.
func (s *draftSource) class() int {
	switch {
	case s.dear && s.asked:
		return 0
	case len(s.proposal) > 0:
		return classOf(len(s.proposal))
	}
	return -1
}

// askingTime is how long a drafter takes for a token of its proposals. As those of passes, estimates follow shorter times quickly and longer ones
// slowly, since a machine that is busy now and then makes times look longer than they are; and they fall little by little while the
// drafter is not asked, so that it is tried again.
type askingTime struct {
	token    time.Duration // 0 ≤ token ≤ measured
	measured time.Duration // token without what it has fallen by since the latest call
	known    bool
}

const (
	shorterTime = 2   // a shorter time replaces half of the estimate,
	longerTime  = 8   // a longer one an eighth;
	askingFall  = 256 // it loses this part of itself at each step without a call
)

// note notes a call.
func (a *askingTime) note(token time.Duration) {
	switch before := max(a.token, min(a.measured, token)); {
	case !a.known:
		a.measured, a.known = token, true
	case token < before:
		a.measured = before + (token-before)/shorterTime
	default:
		a.measured = before + (token-before)/longerTime
	}
	a.token = a.measured
}

// fall notes a step without a call.
func (a *askingTime) fall() { a.token -= a.token / askingFall }

// draftStep is the step of an answer that drafts are asked for: run is the answer's next token and the tokens that are forced after it.
type draftStep struct {
	c          *sequence
	run        []Token
	constraint *constraining
}

func (d *draftStep) passCost(rows int) time.Duration { return d.c.model.batch.PassCost(rows) }

func (d *draftStep) company() (answering int, guessing float64) {
	answering, guessing = d.c.model.batch.Company(&d.c.job)
	return max(answering, 1), guessing
}

func (d *draftStep) ask(s *draftSource, most int) time.Duration {
	c := d.c
	context := append(c.tokens, d.run...) // in the memory that the next token of the conversation takes anyway
	c.tokens = context[:len(c.tokens)]
	s.proposal = slices.Grow(s.proposal, maxDraft)
	dst := s.proposal[:0:most]
	s.began = precise.Now()
	if inside, ok := s.drafter.(insider); ok {
		dst = inside.draftInside(c, dst, context)
	} else {
		dst = s.drafter.Draft(dst, context)
	}
	s.took = precise.Since(s.began)
	dst = dst[:min(len(dst), most)]
	s.proposed = len(dst)
	if end := slices.IndexFunc(dst, func(t Token) bool {
		return t < 0 || int(t) >= c.model.config.VocabSize || c.model.IsEnd(t)
	}); end >= 0 {
		dst = dst[:end]
	}
	s.proposal = append(s.proposal, d.constraint.cut(dst)...)
	return s.took
}
