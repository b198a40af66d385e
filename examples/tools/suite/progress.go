package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/rounds"
)

// On a terminal one line is written over again, each second and with each event. Elsewhere each run has a line of its own, when it ends.
// For example, run 7 of at least 40 is shown on a terminal, and elsewhere, as
//
//	7/40+ q8_0, repetition 2 · 3.1 s of about 9.0 s · 2 min to 4 min left
//	7/40+  q8_0, repetition 2: generating 31.4 tokens/s, in 8.8 s; spread 1.2 %; 2 min to 4 min left
//
// The label has only the axes that some runs differ by, here the type of the weights.

// progress shows a person how far the suite is: on a terminal in one line that is always the newest, elsewhere in a line for each run.
type progress struct {
	w        io.Writer
	terminal bool
	varying  []runs.Axis // what the runs differ by

	mu     sync.Mutex
	now    current
	closed bool
	done   chan struct{} // closed to end the clock that writes the line anew
	ended  sync.WaitGroup
}

// current is the run that is being measured.
type current struct {
	label    string
	part     string // of the run, as its process reports
	began    time.Time
	expected float64 // seconds
	spread   string
	outlook  rounds.Outlook
}

// newProgress begins to report on w.
func newProgress(w io.Writer, configs []runs.Config) *progress {
	p := &progress{w: w, terminal: cli.IsTerminal(w), varying: varying(configs), done: make(chan struct{})}
	if p.terminal {
		p.ended.Go(p.tick)
	}
	return p
}

// varying returns the axes that some Configs differ by.
func varying(configs []runs.Config) []runs.Axis {
	return slices.DeleteFunc(slices.Clone(runs.Axes), func(a runs.Axis) bool {
		return !slices.ContainsFunc(configs, func(c runs.Config) bool { return a.Of(&c) != a.Of(&configs[0]) })
	})
}

// label names a run by what it differs in from the others.
func (p *progress) label(c *runs.Config) string {
	var words []string
	for _, a := range p.varying {
		value := a.Of(c)
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			if value == "0" && a.Name != "handicap" {
				continue // there is no window, or there are no protected tokens, or the number of threads is left to the program
			}
			value = a.Title + " " + value
		}
		if value == "" && a.Name == "weights" {
			value = "stored"
		}
		if value != "" {
			words = append(words, value)
		}
	}
	if len(words) == 0 {
		return c.Model
	}
	return strings.Join(words, " ")
}

// begin says that a run begins.
func (p *progress) begin(c *runs.Config, repetition int, r *rounds.Rounds) {
	p.mu.Lock()
	defer p.mu.Unlock()
	expected, _ := r.Expect(c)
	p.now = current{
		label: fmt.Sprintf("%s, repetition %d", p.label(c), repetition), began: time.Now(), expected: expected, outlook: r.Outlook(),
	}
	if s, ok := r.Spread(c); ok {
		p.now.spread = fmt.Sprintf("spread so far %.1f %%", 100*s)
	}
	p.show()
}

// part says how far the run is.
func (p *progress) part(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.part = text
	p.show()
}

// end says what came of the run.
func (p *progress) end(run *runs.Run, seconds float64, r *rounds.Rounds) {
	o := r.Outlook()
	what := "failed: " + run.Error
	if run.Error == "" {
		what = "done"
		if generating, ok := runs.Metrics[0].Of(run); ok {
			what = fmt.Sprintf("generating %.1f tokens/s", generating)
		}
	}
	if run.Error != "" || !p.terminal {
		text := fmt.Sprintf("%s  %s, repetition %d: %s, in %s", counted(o), p.label(&run.Config), run.Repetition, what, duration(seconds))
		if s, ok := r.Spread(&run.Config); ok && run.Error == "" {
			text += fmt.Sprintf("; spread %.1f %%", 100*s)
		}
		if left := remaining(o, 0); left != "" && o.Least > 0 {
			text += "; " + left
		}
		p.mu.Lock()
		p.now = current{} // until the next run begins, which may be after a rest
		p.mu.Unlock()
		p.say("%s", text)
	}
}

// say writes a line that stays.
func (p *progress) say(format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(p.w, cli.Printable(fmt.Sprintf(format, a...))) // it may quote a child, or a file
	p.show()
}

// close ends the line that is always the newest.
func (p *progress) close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.clear()
	p.closed = true
	p.mu.Unlock()
	close(p.done)
	p.ended.Wait()
}

// tick writes the line anew each second, since time passes.
func (p *progress) tick() {
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-clock.C:
			p.mu.Lock()
			p.show()
			p.mu.Unlock()
		}
	}
}

func (p *progress) clear() {
	if p.terminal && !p.closed {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// show writes the newest line on a terminal.
func (p *progress) show() {
	if !p.terminal || p.closed || p.now.label == "" {
		return
	}
	line := strings.ReplaceAll(cli.Printable(p.now.line(time.Now())), "\n", " ")
	if columns := cli.Columns(p.w); columns > 1 && utf8.RuneCountInString(line) >= columns {
		line = string([]rune(line)[:columns-2]) + "…"
	}
	fmt.Fprint(p.w, "\r\x1b[K"+line)
}

// line returns what the terminal shows at a moment.
func (c *current) line(now time.Time) string {
	o := c.outlook
	o.Done++ // this run is counted as the one that it will be
	o.Least, o.Most = o.Least-1, o.Most-1
	elapsed := now.Sub(c.began).Seconds()
	fields := []string{counted(o) + " " + c.label}
	if c.part != "" {
		fields = append(fields, c.part)
	}
	took := duration(elapsed)
	if c.expected > 0 {
		took += " of about " + duration(c.expected)
	}
	fields = append(fields, took)
	if left := remaining(c.outlook, min(elapsed, c.expected)); left != "" {
		fields = append(fields, left)
	}
	if c.spread != "" {
		fields = append(fields, c.spread)
	}
	return strings.Join(fields, " · ")
}

// counted says how many runs are done, of how many. A + says that the spread may ask for more.
func counted(o rounds.Outlook) string {
	text := fmt.Sprintf("%d/%d", o.Done, o.Done+o.Least)
	if o.Most > o.Least {
		text += "+"
	}
	return text
}

// remaining says how long the rest takes. passed is how many seconds of it have passed. It returns "" while that cannot be known.
func remaining(o rounds.Outlook, passed float64) string {
	if !o.Known {
		return ""
	}
	soonest, latest := duration(max(o.Soonest-passed, 0)), duration(max(o.Latest-passed, 0))
	if soonest == latest {
		return "about " + soonest + " left"
	}
	return fmt.Sprintf("%s to %s left", soonest, latest)
}

// duration says how long some seconds are, as exactly as a person wants to know.
func duration(seconds float64) string {
	switch {
	case seconds < 9.95:
		return fmt.Sprintf("%.1f s", seconds)
	case seconds < 99.5:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 99.5*60:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.1f h", seconds/3600)
}

// plural says how many there are of something: one word for one, and one for another number, which unless given adds an s.
func plural(n int, words ...string) string {
	if n == 1 {
		return "1 " + words[0]
	}
	if len(words) == 1 {
		words = append(words, words[0]+"s")
	}
	return fmt.Sprint(n, " ", words[1])
}
