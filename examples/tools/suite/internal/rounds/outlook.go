package rounds

import (
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// Outlook is what there is still to do. How many repetitions a cell will take cannot be known before its runs are there: so numbers
// and times have a least and a most.
type Outlook struct {
	Done         int     // runs that are there
	Least, Most  int     // runs that are missing
	Soonest      float64 // seconds that the least will take
	Latest       float64 // seconds that the most will take
	Known        bool    // there are runs to estimate the seconds from
	CellsGivenUp int     // cells that failed too often
}

// Outlook looks ahead. A run will take what the median of its cell's runs took and, before there are any, the mean over the other cells.
func (r *Rounds) Outlook() Outlook {
	var o Outlook
	for _, c := range r.cells {
		done := len(c.runs)
		o.Done += done
		if c.failures >= attempts {
			o.CellsGivenUp++
			continue
		}
		least, most := max(r.rule.Least-done, 0), r.rule.Most-done
		if least == 0 { // now the spread decides
			if most > 0 && r.isUncertain(c, r.rule.Most+1) {
				least = 1
			} else {
				most = 0
			}
		}
		seconds, known := r.Expect(&c.config)
		o.Least, o.Most, o.Known = o.Least+least, o.Most+most, o.Known || known
		o.Soonest += float64(least) * seconds
		o.Latest += float64(most) * seconds
	}
	return o
}

// Expect returns the seconds that a run of a Config will take. It is not known before there is any run.
func (r *Rounds) Expect(config *runs.Config) (seconds float64, known bool) {
	if c := r.of[*config]; c != nil && len(c.seconds) > 0 {
		return statistics.Median(c.seconds), true
	}
	sum, n := 0.0, 0
	for _, c := range r.cells {
		if len(c.seconds) > 0 {
			sum += statistics.Median(c.seconds)
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return sum / float64(n), true
}
