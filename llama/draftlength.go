package llama

import (
	"math/bits"
	"time"
)

// maxDraft is how many tokens a step computes beyond the one that was chosen, at most.
const maxDraft = 48

// draftLength decides how much of a proposal to compute: the length that promises the most tokens a second, and nothing if proposals turn
// out wrong. It depends on its arguments only and reads no clock. A session has one, for all of its answers.
//
// It takes a proposal's tokens to be right as follows: the first with a probability that depends on the proposal's length, since drafters
// propose more if they are sure; each further one, if those before it are right, with the same probability. Both are learned, and old
// experience fades, so that a change is noticed after a few steps.
//
// What goes wrong is paid from credit, which is counted in plain steps, those of one row: right tokens earn it, and each step earns a
// little. No draft may cost more than there is. So however the proposals turn out, n tokens take at most as long as
// n·(1+draftAllowance) + draftCredit plain steps, as far as the costs were estimated right.
//
// Invariants: 0 ≤ credit ≤ maxDraftCredit; probabilities lie between 0 and 1.
type draftLength struct {
	started bool
	first   [proposalClasses]float64 // how probable it is that the first token is right, by the proposal's length
	right   float64                  // how often a further token was right: a fading count
	wrong   float64                  // how often it was wrong
	credit  float64                  // in plain steps
	class   int                      // of the proposal that next was given last; -1: it was empty
	extra   float64                  // what computing the draft that next decided on costs, in plain steps
}

const (
	draftAllowance  = 0.01     // what a step earns: how much longer drafts may make an answer in the long run
	draftCredit     = 0.5      // the credit at the start: enough for a draft of one token, or of several where rows cost little
	maxDraftCredit  = maxDraft // so that a long copy does not pay for as long a stretch of wrong proposals
	firstGuess      = 0.5      // what first begins with, and what it goes back to while nothing is learned
	furtherGuess    = 0.9      // what right/(right+wrong) begins with
	furtherWeight   = 4        // how many observations this is worth
	learning        = 0.25     // how much of first an observation replaces
	forgetting      = 1. / 64  // how much of the distance to firstGuess a step without a proposal of the class goes back
	fading          = 0.8      // the factor of right and wrong after an observation
	proposalClasses = 4        // proposals of up to 4, 8, 16 and more tokens
)

// next returns how many of the proposed tokens to compute in the next step: 0 to proposed, at most maxDraft. cost estimates how long a step
// of a number of rows takes, the chosen token's row included; it is positive, or 0 as long as it knows nothing, which gives 0. next is
// called once for each step, also if nothing is proposed.
func (l *draftLength) next(proposed int, cost func(rows int) time.Duration) int {
	if !l.started {
		*l = draftLength{started: true, credit: draftCredit, right: furtherGuess * furtherWeight, wrong: (1 - furtherGuess) * furtherWeight}
		for class := range l.first {
			l.first[class] = firstGuess
		}
	}
	l.credit = min(l.credit+draftAllowance, maxDraftCredit)
	l.class, l.extra = -1, 0
	if proposed > 0 {
		l.class = min(bits.Len(uint(proposed-1)/4), proposalClasses-1)
	}
	for class := range l.first {
		if class != l.class {
			l.first[class] += forgetting * (firstGuess - l.first[class])
		}
	}
	plain := cost(1)
	if proposed <= 0 || plain <= 0 {
		return 0
	}
	best, bestRate := 0, 1. // in tokens for the time of a plain step
	further := l.right / (l.right + l.wrong)
	expected, probability := 1., l.first[l.class]
	for n := 1; n <= min(proposed, maxDraft); n++ {
		expected += probability
		probability *= further
		steps := float64(cost(1+n)) / float64(plain)
		if rate := expected / steps; steps-1 <= l.credit && rate > bestRate {
			best, bestRate, l.extra = n, rate, max(steps-1, 0)
		}
	}
	return best
}

// observe learns how the proposal that next was given turned out: drafted is next's result, and the first accepted of these tokens were
// right. If drafted is 0, accepted is 1 if the token that the step chose is the proposal's first one, and 0 if not: so it is learned from
// proposals that are not computed when computing them would pay.
func (l *draftLength) observe(drafted, accepted int) {
	if l.class < 0 {
		return
	}
	hit := 0.
	if accepted > 0 {
		hit = 1
	}
	l.first[l.class] += learning * (hit - l.first[l.class])
	if drafted == 0 {
		return
	}
	l.credit = min(l.credit+float64(accepted)-l.extra, maxDraftCredit) // not below 0: next saw to it that extra ≤ credit
	if accepted > 0 {
		l.right = fading*l.right + float64(accepted-1)
		l.wrong *= fading
		if accepted < drafted {
			l.wrong++
		}
		l.wrong = max(l.wrong, 0.01) // some doubt remains where everything was right for long
	}
}
