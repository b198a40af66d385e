package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
)

// result is one measured operation, in the form of -json.
type result struct {
	Op            string  `json:"op"`
	M             int     `json:"m"`
	N             int     `json:"n,omitempty"`
	K             int     `json:"k"`
	Heads         int     `json:"heads,omitempty"`
	KVHeads       int     `json:"kv_heads,omitempty"`
	DType         string  `json:"dtype"`
	Threads       int     `json:"threads"`
	CPU           string  `json:"cpu"`
	Repetitions   int     `json:"repetitions"`
	Seconds       float64 `json:"seconds"` // of a call, in the best repetition
	MedianSeconds float64 `json:"median_seconds"`
	machine.Figures
}

// report writes results: each at once as a JSON object, or all at the end as a table.
type report struct {
	w      io.Writer
	json   *json.Encoder // nil: a table
	table  cli.Table
	limits machine.Limits
	runs   int   // repetitions of each measurement
	err    error // the first of writing
}

func newReport(o *options, w io.Writer, b backend.Backend, limits machine.Limits) *report {
	r := &report{w: w, limits: limits, runs: o.repetitions, table: cli.Table{Left: 2}}
	if o.json {
		r.json = json.NewEncoder(w)
		r.err = r.json.Encode(limits.JSON())
		return r
	}
	_, r.err = fmt.Fprintf(w, "%s\n\n", b.Describe())
	r.table.Row("operation", "type", "m", "n", "k", "time", "GB/s", "GMAC/s", "of limit", "bound by")
	return r
}

// section begins the results under a title, "" for no title.
func (r *report) section(title string) {
	if title != "" {
		r.table.Row("")
		r.table.Row(title)
	}
}

// add reports what the calls of a case took, the best first.
func (r *report) add(c testCase, times []time.Duration, work machine.Work) error {
	best, median := times[0], times[len(times)/2]
	f := r.limits.Figures(work, best)
	if r.json == nil {
		r.table.Row("  "+c.name, c.dtype.String(), dimension(c.m), dimension(c.n), dimension(c.k), duration(best),
			f.GB(), f.GMAC(), f.Limit(), string(f.BoundBy))
		return r.err
	}
	if r.err != nil {
		return r.err
	}
	one := result{
		Op: c.name, M: c.m, N: c.n, K: c.k, DType: c.dtype.String(), Threads: r.limits.Threads, CPU: asm.Tier(),
		Repetitions: r.runs, Seconds: best.Seconds(), MedianSeconds: median.Seconds(), Figures: f,
	}
	if c.name == attentionName {
		one.Heads, one.KVHeads = c.heads, c.kvHeads
	}
	return r.json.Encode(one)
}

// end writes the table.
func (r *report) end() error {
	if r.json != nil || r.err != nil {
		return r.err
	}
	if _, err := r.table.WriteTo(r.w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(r.w, "\nThe time is that of a call, in the best of %d repetitions; m, n and k are explained by -h.\n%s", r.runs, r.limits.Legend())
	return err
}

// dimension writes a dimension; nothing for one that an operation does not have.
func dimension(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// duration writes a time with three digits, which a Duration's own String does not round to.
func duration(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= unit.size {
			return machine.Digits(float64(d)/float64(unit.size)) + " " + unit.name
		}
	}
	return fmt.Sprintf("%d ns", d.Nanoseconds())
}
