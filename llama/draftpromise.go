package llama

import "math/bits"

// promise is what a session has learned about a drafter's proposals. It takes a proposal's tokens to be right as follows: the first with a
// probability that depends on the proposal's length, since drafters propose more if they are sure; each further one, if those before it
// are right, with the same probability. Old experience fades, so that a change is noticed after a few steps.
//
// Invariant: probabilities lie between 0 and 1.
type promise struct {
	first [proposalClasses]float64 // how probable it is that the first token is right, by the proposal's class
	right float64                  // how often a further token was right: a fading count
	wrong float64                  // how often it was wrong
}

const (
	firstGuess      = 0.5     // what first begins with, and what it goes back to while nothing is learned
	furtherGuess    = 0.9     // what right/(right+wrong) begins with
	furtherWeight   = 4       // how many observations this is worth
	learning        = 0.25    // how much of first an observation replaces
	forgetting      = 1. / 64 // how much of the distance to firstGuess a step without a proposal of the class goes back
	fading          = 0.8     // the factor of right and wrong after an observation
	proposalClasses = 4       // proposals of up to 4, 8, 16 and more tokens
)

// newPromise returns the promise of a drafter that nothing is known about.
func newPromise() promise {
	p := promise{right: furtherGuess * furtherWeight, wrong: (1 - furtherGuess) * furtherWeight}
	for class := range p.first {
		p.first[class] = firstGuess
	}
	return p
}

// classOf returns the class of a proposal of some tokens, at least one.
func classOf(tokens int) int { return min(bits.Len(uint(tokens-1)/4), proposalClasses-1) }

// forget notes a step: the experience with proposals of other classes fades. class is -1 if nothing was proposed.
func (p *promise) forget(class int) {
	for other := range p.first {
		if other != class {
			p.first[other] += forgetting * (firstGuess - p.first[other])
		}
	}
}

// observe learns how a proposal turned out: the first drafted of its tokens were computed, and the first accepted of these were right. If
// drafted is 0, accepted is 1 if the token that the step chose is the proposal's first one, and 0 if not: so it is learned from proposals
// that are not computed when computing them would pay.
func (p *promise) observe(class, drafted, accepted int) {
	hit := 0.
	if accepted > 0 {
		hit = 1
	}
	p.first[class] += learning * (hit - p.first[class])
	if drafted == 0 || accepted == 0 {
		return
	}
	p.right = fading*p.right + float64(accepted-1)
	p.wrong *= fading
	if accepted < drafted {
		p.wrong++
	}
	p.wrong = max(p.wrong, 0.01) // some doubt remains where everything was right for long
}
