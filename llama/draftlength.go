package llama

// maxDraft is how many tokens a step computes beyond the one that was chosen, at most.
const maxDraft = 48

// draftLength decides which proposal to compute and how much of it: what promises the most tokens for the time that it takes, and nothing if
// proposals turn out wrong. It depends on its arguments only and reads no clock. A session has one, for all of its answers and drafters.
//
// What goes wrong is paid from credit, which is counted in plain steps, those without a draft: right tokens earn it, and each step earns a
// little. No draft may cost more than there is. So however the proposals turn out, n tokens take at most as long as
// n·(1+draftAllowance) + draftCredit plain steps, as far as the costs were estimated right.
//
// A step costs all conversations time that are computed with it. If w conversations share their steps with one that drafts, and the draft
// makes a step longer by the share c, they lose w·c tokens of theirs, and the draft is to bring as many. For example, with w = 4 and c = 0.1
// a draft pays that is right in more than 4 of 10 steps; alone it would in more than 1 of 10.
//
// Invariant: credit ≤ maxDraftCredit. It is below 0 if a step or a drafter took longer than estimated.
type draftLength struct {
	started bool
	credit  float64 // in plain steps
}

const (
	draftAllowance = 0.01     // what a step earns: how much longer drafts may make an answer in the long run
	draftCredit    = 0.5      // the credit at the start: enough for a draft of one token, or of several where rows cost little
	maxDraftCredit = maxDraft // so that a long copy does not pay for as long a stretch of wrong proposals
)

// draftCosts says what drafts cost.
type draftCosts struct {
	// longer returns by which share of itself a plain step becomes longer by n drafted tokens of each conversation that drafts. It is nil
	// if nothing is known, and then nothing is drafted.
	longer func(n int) float64
	shared float64 // how many conversations share their steps with each that drafts, which is one of them: 1 or more
}

// of returns how many tokens n drafted ones cost, and asking for them, which takes the share asking of a plain step for each.
func (c draftCosts) of(n int, asking float64) float64 {
	return max(c.shared*(c.longer(n)+float64(n)*asking), 0)
}

// offer is what a drafter has to offer for a step.
type offer struct {
	promise *promise
	tokens  int     // that it has proposed, or may be asked for
	class   int     // of the proposal
	asking  float64 // the share of a plain step that asking takes for each token; 0: the drafter has been asked
}

// begin notes that a step begins.
func (l *draftLength) begin() {
	if !l.started {
		*l = draftLength{started: true, credit: draftCredit}
	}
	l.credit = min(l.credit+draftAllowance, maxDraftCredit)
}

// choose returns which offer to take, and how many of its tokens to compute, maxDraft at most. That is 0 if no draft pays.
func (l *draftLength) choose(offers []offer, costs draftCosts) (best, n int) {
	if costs.longer == nil {
		return 0, 0
	}
	bestRate := 1. // in tokens for the time of a plain step
	for i := range offers {
		o := &offers[i]
		if o.tokens < 1 {
			continue
		}
		further := o.promise.right / (o.promise.right + o.promise.wrong)
		expected, probability := 0., o.promise.first[o.class]
		for k := 1; k <= min(o.tokens, maxDraft); k++ {
			expected += probability
			probability *= further
			lost := costs.of(k, o.asking)
			if rate := (costs.shared + expected) / (costs.shared + lost); lost <= max(l.credit, 0) && rate > bestRate {
				best, n, bestRate = i, k, rate
			}
		}
	}
	return best, n
}

// pay notes that some tokens were lost by a draft or by asking for one, and earned by tokens that were right.
func (l *draftLength) pay(lost float64, right int) {
	l.credit = min(l.credit+float64(right)-lost, maxDraftCredit)
}
