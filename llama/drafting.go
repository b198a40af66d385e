package llama

import (
	"reflect"
	"time"
)

// drafting is how a session uses the Drafter of an answer: it asks for proposals, decides which one to compute and how many of its tokens, and
// learns from how they turn out.
//
// Invariants: the first active sources are those of the answer's Drafter; the others are known from earlier answers. While open, the latest
// step computed the first tokens of the chosen source's proposal, 0 perhaps, and the answer has gone on with the first right of these.
type drafting struct {
	drafted, accepted int // tokens of the answer's drafts, and those of them that the answer went on with

	sources []draftSource
	active  int
	offers  []offer // [active]
	length  draftLength

	step  draftStep
	world draftWorld // the step, except in tests; nil before the first one
	costs draftCosts // of the step
	plain time.Duration
	rows  int     // of the pass without a draft: the others' and those of the step that are computed anyway
	guess float64 // how many conversations draft, this one counted: 1 or more

	open   bool
	chosen int // the index of the source
	tokens int // computed of its proposal
	right  int
}

// draftWorld is what drafting measures and asks.
type draftWorld interface {
	// passCost estimates how long a pass of some rows of answers takes; 0: that is not known yet.
	passCost(rows int) time.Duration
	// company returns how many conversations are computed together, and how many of these draft, this one counted in both.
	company() (answering int, guessing float64)
	// ask asks a source for up to most tokens, and returns how long that took. What it proposes, and the constraint allows, becomes its proposal.
	ask(s *draftSource, most int) time.Duration
}

// start prepares for an answer.
func (d *drafting) start(drafter Drafter) {
	if d.open { // nobody knows what would have followed the latest proposal
		d.pay()
	}
	d.drafted, d.accepted, d.open, d.active = 0, 0, false, 0
	for i := range d.sources {
		d.sources[i].drafter = nil // what the answer before it had
	}
	for _, next := range draftersOf(drafter) {
		kind, at := reflect.TypeOf(next), d.active
		for at < len(d.sources) && d.sources[at].kind != kind {
			at++
		}
		if at == len(d.sources) {
			d.sources = append(d.sources, draftSource{kind: kind, promise: newPromise()})
		}
		s := d.sources
		s[d.active], s[at] = s[at], s[d.active]
		s[d.active].drafter, s[d.active].read = next, false
		d.active++
	}
	for len(d.offers) < d.active {
		d.offers = append(d.offers, offer{})
	}
	if d.costs.longer == nil {
		d.costs.longer = d.longer // once, to spare an allocation a token
	}
}

// propose appends to run the tokens that the most promising drafter expects next, at most most of them, as far as the constraint allows them
// and computing them is worth it. run is the answer's next token and the tokens that are forced after it.
func (d *drafting) propose(run []Token, c *sequence, most int, constraint *constraining) []Token {
	if d.active == 0 {
		return run
	}
	d.step = draftStep{c, run, constraint}
	if d.world == nil {
		d.world = &d.step
	}
	n := d.decide(most, len(run)-1)
	if c.trace.Draft != nil {
		d.report(c.trace.Draft)
	}
	return append(run, d.sources[d.chosen].proposal[:n]...)
}

// decide begins a step in which certain rows are computed behind the first one anyway, and returns how many of the chosen source's tokens, at most
// most of them, are computed with it.
func (d *drafting) decide(most, certain int) int {
	d.measure(certain)
	d.length.begin()
	if most = min(most, maxDraft); d.plain == 0 {
		most = 0
	}
	sources, offers := d.sources[:d.active], d.offers[:d.active]
	for i := range sources {
		s := &sources[i]
		s.begin()
		if offers[i] = (offer{}); most < 1 {
			continue
		}
		asking := float64(s.time.token) / float64(d.plain)
		switch {
		case asking > dearShare:
			s.dear = true
			offers[i] = offer{&s.promise, most, 0, asking}
		case !s.time.known:
			d.ask(i, 1)
		default:
			if affordable := d.length.credit / (d.costs.shared * asking); affordable >= 1 {
				d.ask(i, int(min(float64(most), affordable)))
			}
		}
	}
	d.open, d.right = true, 0
	for {
		d.chosen, d.tokens = d.length.choose(offers, d.costs)
		if d.tokens == 0 || sources[d.chosen].asked {
			break
		}
		d.ask(d.chosen, d.tokens)
	}
	d.drafted += d.tokens
	return d.tokens
}

// ask asks a source, which then offers what it has proposed.
func (d *drafting) ask(i, most int) {
	s := &d.sources[i]
	took := d.world.ask(s, most)
	proposed := max(s.proposed, 1)
	// The first call of an answer reads the prompt. That is no part of what a token takes, unless it takes next to nothing.
	if token := took / time.Duration(proposed); s.read || float64(token) <= dearShare*float64(d.plain) {
		s.time.note(token)
	}
	s.asked, s.read = true, true
	d.length.pay(d.costs.shared*float64(s.time.token)*float64(proposed)/float64(d.plain), 0)
	d.offers[i] = offer{&s.promise, len(s.proposal), s.class(), 0}
}

// measure finds out what a step costs without a draft.
func (d *drafting) measure(certain int) {
	answering, guessing := d.world.company()
	d.rows, d.guess = answering+certain, guessing
	d.plain, d.costs.shared = d.world.passCost(d.rows), float64(answering)/guessing
}

// longer is draftCosts.longer. The others that draft are taken to draft as much: what they draft at present would be no measure, since they look
// at this conversation as it looks at them.
func (d *drafting) longer(n int) float64 {
	took := d.world.passCost(d.rows + int(float64(n)*d.guess+0.5))
	return float64(took-d.plain) / float64(d.plain)
}

// learn lets length and the promises know how the latest proposals turned out, now that next is the first token that was not accepted from
// them.
func (d *drafting) learn(next Token) {
	if !d.open {
		return
	}
	d.open = false
	if d.right > 0 {
		next = d.sources[d.chosen].proposal[0]
	}
	for i := range d.sources[:d.active] {
		s := &d.sources[i]
		class := s.class()
		s.promise.forget(class)
		switch {
		case class < 0:
		case i == d.chosen && d.tokens > 0:
			s.promise.observe(class, d.tokens, d.right)
		case len(s.proposal) > 0 && s.proposal[0] == next:
			s.promise.observe(class, 0, 1)
		default:
			s.promise.observe(class, 0, 0)
		}
	}
	d.pay()
}

// pay pays for the latest draft, as much as the step has shown it to cost.
func (d *drafting) pay() {
	if d.tokens > 0 {
		d.plain = d.world.passCost(d.rows)
		d.length.pay(d.costs.of(d.tokens, 0), d.right)
	}
}

// report calls the trace's function for each source that was asked for the step.
func (d *drafting) report(trace func(DraftInfo)) {
	for i := range d.sources[:d.active] {
		if s := &d.sources[i]; s.asked {
			info := DraftInfo{Session: d.step.c.number, Began: s.began, Took: s.took, Proposed: s.proposed}
			if i == d.chosen {
				info.Computed = d.tokens
			}
			trace(info)
		}
	}
}

// proposed reports whether the first of the tokens that were computed ahead is of the draft, and not a forced one before it.
func (d *drafting) proposed(c *sequence) bool { return d.open && len(c.ahead) <= d.tokens-d.right }

// accept notes that the answer went on with a token of the draft.
func (d *drafting) accept() {
	d.accepted++
	d.right++
}
