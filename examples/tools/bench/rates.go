package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

// test is a measurement of a rate.
type test interface {
	// describe returns what identifies the test among the results.
	describe() result
	// measureOnce runs the test in new sessions. m watches the time that is measured.
	measureOnce(ctx context.Context, b *bench, m meter) (sample, error)
	// constrained reports whether answers have a constraint.
	constrained() bool
}

// sample is what one run of a test gave.
type sample struct {
	rate    float64 // tokens a second
	perStep float64 // tokens of an answer that one of its steps brought; 0: the test generates nothing
	forced  float64 // part of the tokens that had no alternative

	drafted, accepted float64 // tokens of drafts
	ofPlain           float64 // the rate in proportion to that without drafts, measured just before; 0: there are no drafts
}

// result is one measured test, in the form of -json.
type result struct {
	Test            string  `json:"test"`
	Sessions        int     `json:"sessions,omitempty"` // that generated at once
	Draft           int     `json:"draft,omitempty"`    // tokens that an oracle proposes at a time
	Accept          float64 `json:"accept,omitempty"`   // the probability with which each is right
	Drafter         string  `json:"drafter,omitempty"`  // lookup or own: another Drafter than the oracle
	TokensPerSecond float64 `json:"tokens_per_second"`  // of all sessions together
	StdDev          float64 `json:"stddev"`
	TokensPerStep   float64 `json:"tokens_per_step,omitempty"` // of one answer
	Accepted        float64 `json:"accepted,omitempty"`        // part of the computed proposals that was right
	OfNone          float64 `json:"of_none,omitempty"`         // the rate in proportion to that without drafts
	Forced          float64 `json:"forced,omitempty"`          // part of the tokens that had no alternative
	// Rows and RowsPerSecond are of one session that computes up to as many rows in a step as there were sessions, with the logits of
	// each: how many it computed in a step, and its rate.
	Rows          float64 `json:"rows,omitempty"`
	RowsPerSecond float64 `json:"rows_per_second,omitempty"`
	setting
}

// title names the test.
func (r *result) title() string {
	title := r.Test
	if r.Sessions > 1 {
		title += fmt.Sprintf(", %d sessions", r.Sessions)
	}
	if r.drafts().any() {
		title += fmt.Sprintf(", drafts %s", r.drafts().describe())
	}
	return title
}

// drafts returns what proposed tokens.
func (r *result) drafts() drafts { return drafts{r.Draft, r.Accept, r.Drafter} }

// tests returns the tests that the command line asks for.
func (o *options) tests() (list []test) {
	for _, n := range o.prompts {
		list = append(list, prompt{n})
	}
	for _, p := range o.images {
		list = append(list, p)
	}
	if o.generate == 0 {
		return list
	}
	sessions := o.sessions
	if len(sessions) == 0 {
		sessions = []int{1}
	}
	for _, n := range sessions {
		list = append(list, generation{tokens: o.generate, sessions: n})
		for _, d := range o.drafts {
			list = append(list, generation{tokens: o.generate, sessions: n, drafts: d})
		}
		if o.schema != "" {
			list = append(list, generation{tokens: o.generate, sessions: n, mode: fitting}, generation{tokens: o.generate, sessions: n, mode: unforced})
		}
	}
	return list
}

// rates runs the tests and writes their results, and the profiles after them: measuring the machine's limits takes memory, which
// is not the model's.
func (b *bench) rates(ctx context.Context) error {
	var profiles []*profile
	table := newTable(b.columns())
	for _, t := range b.tests() {
		r := t.describe()
		samples, err := b.measure(ctx, t, meter{b.recorder, b.trace, r.title()})
		if err == nil && r.Sessions > 1 && !r.drafts().any() && !t.constrained() {
			r.Rows, r.RowsPerSecond, err = b.rows(ctx, r.Sessions)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.title(), err)
		}
		if b.profile {
			entries, elapsed := b.recorder.Take()
			profiles = append(profiles, &profile{r.title(), b.repetitions, entries, elapsed})
		}
		r.TokensPerSecond, r.StdDev = meanAndDeviation(samples, func(s sample) float64 { return s.rate })
		r.TokensPerStep, _ = meanAndDeviation(samples, func(s sample) float64 { return s.perStep })
		r.OfNone, _ = meanAndDeviation(samples, func(s sample) float64 { return s.ofPlain })
		drafted, _ := meanAndDeviation(samples, func(s sample) float64 { return s.drafted })
		if accepted, _ := meanAndDeviation(samples, func(s sample) float64 { return s.accepted }); drafted > 0 {
			r.Accepted = accepted / drafted
		}
		r.Forced, _ = meanAndDeviation(samples, func(s sample) float64 { return s.forced })
		r.setting = b.setting.now()
		if !b.json {
			table.add(&r)
		} else if err := cli.PrintJSON(b.stdout, r); err != nil {
			return err
		}
	}
	if !b.json {
		if _, err := table.WriteTo(b.stdout); err != nil {
			return err
		}
		if err := b.footer(); err != nil {
			return err
		}
	}
	if !b.profile {
		return nil
	}
	config := b.model.Config()
	return b.writeProfiles(b.stdout, profiles, &config.Experts)
}

// measure runs a test several times.
func (b *bench) measure(ctx context.Context, t test, m meter) (list []sample, err error) {
	for range b.repetitions {
		s, err := t.measureOnce(ctx, b, m)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// rows measures one session with up to n rows in a step, all but the first of them proposals that are right: how many rows it
// computes in a step, and how many a second.
func (b *bench) rows(ctx context.Context, n int) (perStep, rate float64, err error) {
	tokens := (b.generate + n - 1) / n * n // whole steps
	samples, err := b.measure(ctx, generation{tokens: tokens, sessions: 1, drafts: drafts{oracle: n - 1, accept: 1}}, meter{})
	if err != nil {
		return 0, 0, fmt.Errorf("%d rows of one session: %w", n, err)
	}
	perStep, _ = meanAndDeviation(samples, func(s sample) float64 { return s.perStep })
	rate, _ = meanAndDeviation(samples, func(s sample) float64 { return s.rate })
	return perStep, rate, nil
}

// meanAndDeviation returns the mean and the standard deviation of one number of each sample.
func meanAndDeviation(samples []sample, of func(sample) float64) (mean, deviation float64) {
	for _, s := range samples {
		mean += of(s) / float64(len(samples))
	}
	if len(samples) < 2 {
		return mean, 0
	}
	for _, s := range samples {
		deviation += (of(s) - mean) * (of(s) - mean) / float64(len(samples)-1)
	}
	return mean, math.Sqrt(deviation)
}

// enoughRows: sessions are compared with the rows of one session if these are at least this part of as many.
const enoughRows = 0.75

// columns returns those of the table of rates.
func (b *bench) columns() []column[*result] {
	company, drafting := len(b.sessions) > 0, len(b.drafts) > 0
	// count writes a number, and nothing for 0.
	count := func(n int) string { return strings.TrimPrefix(strconv.Itoa(n), "0") }
	// ofRows is what part of the rows' rate the sessions reach; 0 if that was not measured, or with too few rows.
	ofRows := func(r *result) float64 {
		if r.Rows == 0 || r.Rows < enoughRows*float64(r.Sessions) {
			return 0
		}
		return r.TokensPerSecond / r.RowsPerSecond
	}
	return []column[*result]{
		{true, "test", func(r *result) string { return r.Test }},
		{true, "depth", func(r *result) string { return strconv.Itoa(r.Depth) }},
		{true, "threads", func(r *result) string { return strconv.Itoa(r.Threads) }},
		{true, "kv", func(r *result) string { return r.KV }},
		{company && !b.forks, "sessions", func(r *result) string { return count(r.Sessions) }},
		{b.forks, "forks", func(r *result) string { return count(r.Sessions) }},
		{drafting, "draft", func(r *result) string { return r.drafts().describe() }},
		{true, "tokens/s", func(r *result) string { return fixed(r.TokensPerSecond) }},
		{true, "±", func(r *result) string { return fixed(r.StdDev) }},
		{b.schema != "", "forced", func(r *result) string { return present(r.Forced) }},
		{drafting, "tokens/step", func(r *result) string { return present(r.TokensPerStep) }},
		{drafting, "accepted", func(r *result) string { return present(r.Accepted) }},
		{drafting, "of none", func(r *result) string { return present(r.OfNone) }},
		{company, "rows/step", func(r *result) string { return present(r.Rows) }},
		{company, "rows/s", func(r *result) string { return present(r.RowsPerSecond) }},
		{company, "of rows", func(r *result) string { return present(ofRows(r)) }},
	}
}
