// Package rowcosts estimates how long passes take by their number of rows.
package rowcosts

import (
	"math"
	"math/bits"
	"time"
)

// Costs estimates how long a pass takes by its number of rows, from the passes that were computed: how many rows of prompts may join
// those of answers, and how many drafts pay, is measured on this machine and not assumed.
//
// Passes without rows of prompts are also noted apart, for drafts: of a prompt's rows only the last one needs logits, and some models leave
// layers out for the others, so that they are cheaper than rows of answers. Models of experts choose more experts for two rows than for one, and
// fewer for the rows of one conversation than for those of several: the measurements show that.
//
// The zero value has measured nothing. Latest is how long the latest pass took.
type Costs struct {
	Latest  time.Duration
	all     passCosts
	answers passCosts // of passes without rows of prompts
	room    float64   // rows of prompts that Beside allows, adjusted by how long passes took; 0: no pass was measured
}

// passCosts has an element for each number of rows up to 8, and then four for each doubling.
//
// A machine that is busy with something else now and then makes passes look longer than they are, and a number of rows that looks too dear
// would never be tried again. Estimates therefore follow shorter times quickly and longer ones slowly, and those of larger numbers of rows,
// as long as they do not come up, fall little by little: until they are tried again, which undoes the fall if it was not justified.
// Without that, a rare number of rows would look cheap for ever.
//
// A machine that stays busy, or a conversation that becomes long, makes passes of any number of rows longer. In the costs of answers, therefore, a
// change of one estimate changes the others by nearly the same factor. For example, passes of one row took 10 ms and those of two 14 ms, and now
// those of one row take 20 ms: those of two are taken to take 23.5 ms, until they are measured. If they were still taken to take 14 ms, a second
// row would look free.
type passCosts [40]rowCost

// rowCost is what the passes of a bucket cost. Invariant: 0 ≤ estimate ≤ measured; both are 0 where times is.
type rowCost struct {
	estimate time.Duration
	measured time.Duration // estimate without what it has fallen by since it was measured last
	times    int           // how often it was measured, settled at most
}

// bucketOf returns the bucket of a number of rows.
func bucketOf(rows int) int {
	if rows < 8 {
		return rows
	}
	top := bits.Len(uint(rows)) - 3 // rows>>top is 4 to 7
	return min(4*top+rows>>top, len(passCosts{})-1)
}

// rowsOf returns the fewest rows of a bucket.
func rowsOf(bucket int) int {
	if bucket < 8 {
		return bucket
	}
	return (4 + bucket%4) << (bucket/4 - 1)
}

const (
	shorterWeight = 2    // a shorter time replaces half of the estimate,
	longerWeight  = 8    // a longer one an eighth;
	settled       = 2    // an estimate of fewer measurements may be that of a busy moment:
	freshFall     = 256  // what it loses at each pass of fewer rows,
	settledFall   = 2048 // and what others lose
	togetherness  = 0.75 // the power of an estimate's change by which the others change
)

// Note records how long a pass of rows rows took. prompts of them were rows of prompts.
func (c *Costs) Note(rows, prompts int, d time.Duration) {
	c.Latest = d
	c.all.note(rows, d, false)
	if prompts == 0 {
		c.answers.note(rows, d, true)
	}
	if answers := rows - prompts; answers > 0 && prompts > 0 {
		c.adjust(answers, prompts, d)
	}
}

// note records how long a pass took. If they go together, a change of the estimate changes the others.
func (c *passCosts) note(rows int, d time.Duration, together bool) {
	at := bucketOf(rows)
	before := c[at].before(d)
	c[at].note(d)
	if together && before > 0 {
		c.scale(at, math.Pow(float64(c[at].estimate)/float64(before), togetherness))
	}
	for b := at + 1; b < len(c); b++ {
		c[b].fall(d)
	}
}

// scale multiplies all estimates but one by a factor.
func (c *passCosts) scale(but int, factor float64) {
	for b := range c {
		if b != but {
			c[b].estimate = time.Duration(factor * float64(c[b].estimate))
			c[b].measured = max(time.Duration(factor*float64(c[b].measured)), c[b].estimate)
		}
	}
}

// note notes how long a pass took.
func (c *rowCost) note(d time.Duration) {
	switch before := c.before(d); {
	case c.times == 0:
		c.measured = d
	case d < before:
		c.measured = before + (d-before)/shorterWeight
	default:
		c.measured = before + (d-before)/longerWeight
	}
	c.estimate, c.times = c.measured, min(c.times+1, settled)
}

// before returns the estimate before a pass that took d: without what it has fallen by, as far as d justifies that.
func (c *rowCost) before(d time.Duration) time.Duration { return max(c.estimate, min(c.measured, d)) }

// fall notes that a pass of fewer rows took d: more rows hardly take less.
func (c *rowCost) fall(d time.Duration) {
	share := time.Duration(settledFall)
	if c.times < settled {
		share = freshFall
	}
	c.estimate = max(c.estimate-c.estimate/share, min(c.estimate, d))
}

// unmeasuredShare says what a further row is taken to cost beyond the largest pass that was measured: this share of the mean row of
// that pass. It errs on the side of trying, and is replaced by a measurement at once.
const unmeasuredShare = 4

// Of returns how long a pass of some rows takes, 0 if nothing was measured.
func (c *Costs) Of(rows int) time.Duration { return c.all.of(rows) }

// OfAnswers returns how long a pass of some rows takes without rows of prompts; 0 if no such pass was measured.
func (c *Costs) OfAnswers(rows int) time.Duration { return c.answers.of(rows) }

// of returns how long a pass of some rows takes, in proportion between the measured passes of fewer and of more rows; 0 where
// nothing was measured.
func (c *passCosts) of(rows int) time.Duration {
	below, above := 0, 0 // buckets that were measured
	for b := range c {
		switch {
		case c[b].times == 0:
		case rowsOf(b) <= rows:
			below = b
		case above == 0:
			above = b
		}
	}
	low, high := c[below].estimate, c[above].estimate
	lowRows, highRows := rowsOf(below), rowsOf(above)
	switch {
	case below == 0 && above == 0:
		return 0
	case below == 0:
		return high * time.Duration(rows) / time.Duration(highRows)
	case above == 0:
		return low + low*time.Duration(rows-lowRows)/time.Duration(unmeasuredShare*lowRows)
	}
	return low + (high-low)*time.Duration(rows-lowRows)/time.Duration(highRows-lowRows)
}

// While somebody waits for the next token of an answer, rows of prompts are added to the pass until it takes besideShare/4 times as
// long as without them, and leastBeside at least, so that prompts go on.
const (
	besideShare = 9
	leastBeside = 4
	firstBeside = 8 // rows before any such pass was measured
)

// Beside returns how many rows of prompts, at most most, go into a pass with rows of answers.
func (c *Costs) Beside(most int) int {
	if c.room == 0 {
		c.room = firstBeside
	}
	return min(max(int(c.room), leastBeside), most)
}

// adjust corrects room by the time of the prompts' rows in the latest pass, in proportion. It grows by no more than a quarter of the
// computed rows at a time, since rows need not cost alike, and halves at most.
func (c *Costs) adjust(answers, prompts int, d time.Duration) {
	base := c.all.of(answers)
	allowed := base*besideShare/4 - base
	factor := 2.
	if spent := d - base; spent > 0 {
		factor = float64(allowed) / float64(spent)
	}
	if next := float64(prompts) * min(max(factor, 0.5), 1.25); next < c.room || float64(prompts+1) >= c.room { // a short rest of a prompt is no evidence
		c.room = max(next, leastBeside)
	}
}
