package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/examples/tools/internal/recording"
	"github.com/antigravity-go/antigravity/llama"
)

// profile says which operations took the time of one test, all repetitions together.
type profile struct {
	test    string
	runs    int                // repetitions
	entries []*recording.Entry // one for each operation
	elapsed time.Duration      // of all repetitions, whatever they did
}

// profiled is one operation of a profile, in the form of -json.
type profiled struct {
	Test    string  `json:"test"`
	Op      string  `json:"op"`
	Shape   string  `json:"shape"`
	DType   string  `json:"dtype"`
	Calls   int     `json:"calls"`   // in all repetitions together
	Seconds float64 `json:"seconds"` // of all calls
	Share   float64 `json:"share"`   // of the test's time
	machine.Figures
	*choice
}

// choice is which experts the calls of an operation chose: how many different ones a call, and the bytes of their weights for a row of it. A row is a token
// in a layer.
type choice struct {
	Experts float64 `json:"experts_per_call"`
	Bytes   float64 `json:"expert_bytes_per_row"`
}

// choiceOf returns the choice of an operation's calls; nil if it has no experts.
func choiceOf(e *recording.Entry) *choice {
	if e.Work.Routed == 0 {
		return nil
	}
	return &choice{float64(e.Work.Experts) / float64(e.Calls), float64(e.Work.Memory) / float64(e.Work.Routed)}
}

// experts writes what the rows of a test chose, in a model with experts in some layers.
func (p *profile) experts(w io.Writer, of *llama.Experts) error {
	for _, e := range p.entries {
		c := choiceOf(e)
		if c == nil {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s, %s %s: a pass chose %.1f of %d experts in a layer; %.1f MB of their weights a token, read at %.1f GB/s\n",
			p.test, e.Name, e.Shape("×"), c.Experts, of.Count, c.Bytes*float64(of.Layers)/1e6, float64(e.Work.Memory)/1e9/max(e.Took.Seconds(), 1e-9)); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere is the name for the rest of a test's time, in which no operation of the backend was computed.
const elsewhere = "elsewhere"

// json writes an object for each operation, and one for the rest.
func (p *profile) json(w io.Writer, limits machine.Limits) error {
	encoder := json.NewEncoder(w)
	rest := p.elapsed
	for _, e := range p.entries {
		rest -= e.Took
		if err := encoder.Encode(profiled{
			Test: p.test, Op: e.Name, Shape: e.Shape("x"), DType: e.DType.String(), Calls: e.Calls,
			Seconds: e.Took.Seconds(), Share: share(e.Took, p.elapsed), Figures: limits.Figures(e.Work, e.Took), choice: choiceOf(e),
		}); err != nil {
			return err
		}
	}
	return encoder.Encode(profiled{Test: p.test, Op: elsewhere, Seconds: rest.Seconds(), Share: share(rest, p.elapsed)})
}

// tiny is the share of a test's time below which operations have no row of their own in a table.
const tiny = 0.0005

// rows adds the profile to a table.
func (p *profile) rows(table *cli.Table, limits machine.Limits) {
	table.Row("")
	table.Row(p.test, "shape", "type", "calls", "ms", "share", "µs/call", "GB/s", "GMAC/s", "of limit", "bound by")
	var (
		rest         = p.elapsed // what no operation took
		floor, small time.Duration
		smallCalls   int
		all          machine.Work
	)
	for _, e := range p.entries {
		least, _ := limits.Floor(e.Work)
		rest, floor, all = rest-e.Took, floor+least, all.Plus(e.Work)
		if share(e.Took, p.elapsed) < tiny {
			small, smallCalls = small+e.Took, smallCalls+e.Calls
			continue
		}
		f := limits.Figures(e.Work, e.Took)
		table.Row(e.Name, e.Shape("×"), e.DType.String(), fmt.Sprint(e.Calls/p.runs), milliseconds(e.Took, p.runs), percent(share(e.Took, p.elapsed)),
			fmt.Sprintf("%.1f", float64(e.Took.Nanoseconds())/1e3/float64(e.Calls)), f.GB(), f.GMAC(), f.Limit(), string(f.BoundBy))
	}
	if smallCalls > 0 {
		table.Row("others", "", "", fmt.Sprint(smallCalls/p.runs), milliseconds(small, p.runs), percent(share(small, p.elapsed)))
	}
	table.Row(elsewhere, "", "", "", milliseconds(rest, p.runs), percent(share(rest, p.elapsed)))
	f := limits.Figures(all, p.elapsed)
	f.OfLimit = share(floor, p.elapsed)
	table.Row("all", "", "", "", milliseconds(p.elapsed, p.runs), percent(1), "", f.GB(), f.GMAC(), f.Limit())
}

func share(part, whole time.Duration) float64 { return part.Seconds() / max(whole.Seconds(), 1e-9) }

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// milliseconds writes a duration divided by a number of runs.
func milliseconds(d time.Duration, runs int) string {
	return fmt.Sprintf("%.2f", float64(d.Microseconds())/1e3/float64(runs))
}

// writeProfiles measures the machine's limits, if they apply to the backend, and writes the profiles next to them. of are the experts of the model.
func (o *options) writeProfiles(w io.Writer, profiles []*profile, of *llama.Experts) (err error) {
	var limits machine.Limits
	if o.model.Backend == "cpu" {
		if limits, err = machine.Measure(o.model.Threads, o.span<<20, machine.DefaultWindow); err != nil {
			return err
		}
	}
	if o.json {
		for _, p := range profiles {
			if err := p.json(w, limits); err != nil {
				return err
			}
		}
		if limits == (machine.Limits{}) {
			return nil
		}
		return json.NewEncoder(w).Encode(limits.JSON())
	}
	table := cli.Table{Left: 3}
	for _, p := range profiles {
		p.rows(&table, limits)
	}
	if _, err := table.WriteTo(w); err != nil {
		return err
	}
	for _, p := range profiles {
		if err := p.experts(w, of); err != nil {
			return err
		}
	}
	if limits == (machine.Limits{}) {
		return nil
	}
	_, err = fmt.Fprintf(w, "\nCalls and times are of one repetition; %q is what the backend did not compute.\n%s", elsewhere, limits.Legend())
	return err
}
