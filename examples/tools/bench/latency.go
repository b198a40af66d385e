package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
	"github.com/antigravity-go/antigravity/internal/precise"
	"golang.org/x/sync/errgroup"
)

// latency is how long an answer's tokens and a prompt take, alone and at the same time, in the form of -json.
type latency struct {
	Test                string  `json:"test"`
	Alone               gaps    `json:"alone"`  // between two tokens of an answer
	Beside              gaps    `json:"beside"` // the same while the prompt is read
	PromptSeconds       float64 `json:"prompt_seconds"`
	PromptSecondsBeside float64 `json:"prompt_seconds_beside"`
	setting
}

// gaps sums up the times between two tokens, in milliseconds.
type gaps struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_ms"` // half of them are not longer
	P99   float64 `json:"p99_ms"` // 99 of 100 are not longer
	Max   float64 `json:"max_ms"`
}

// summarize sums up times, which it sorts.
func summarize(times []time.Duration) gaps {
	slices.Sort(times)
	quantile := func(q float64) float64 { return float64(statistics.Quantile(times, q)) / float64(time.Millisecond) }
	return gaps{len(times), quantile(0.5), quantile(0.99), quantile(1)}
}

// latencies measures each prompt during an answer and writes how long it took.
func (b *bench) latencies(ctx context.Context) error {
	table := newTable(latencyColumns())
	for _, n := range b.prompts {
		l, err := b.latency(ctx, n)
		if err != nil {
			return fmt.Errorf("an answer beside a prompt of %d tokens: %w", n, err)
		}
		if !b.json {
			table.add(l)
		} else if err := cli.PrintJSON(b.stdout, l); err != nil {
			return err
		}
	}
	if b.json {
		return nil
	}
	if _, err := table.WriteTo(b.stdout); err != nil {
		return err
	}
	return b.footer()
}

// latency measures a prompt of tokens tokens during an answer.
func (b *bench) latency(ctx context.Context, tokens int) (*latency, error) {
	l := &latency{Test: "latency" + strconv.Itoa(tokens)}
	var alone, beside []time.Duration
	for range b.repetitions {
		times, err := b.generateAlone(ctx)
		if err != nil {
			return nil, err
		}
		alone = append(alone, times...)
		s, err := prompt{tokens}.measureOnce(ctx, b, meter{trace: b.trace, name: "prompt alone"})
		if err != nil {
			return nil, err
		}
		l.PromptSeconds += float64(tokens) / s.rate / float64(b.repetitions)
		times, took, err := b.generateDuringPrompt(ctx, prompt{tokens})
		if err != nil {
			return nil, err
		}
		beside = append(beside, times...)
		l.PromptSecondsBeside += took.Seconds() / float64(b.repetitions)
	}
	l.Alone, l.Beside = summarize(alone), summarize(beside)
	l.setting = b.setting.now()
	return l, nil
}

// moments are when tokens of answers came. A zero time stands before the first token of an answer.
type moments []time.Time

// between returns the times between two tokens of an answer, those that reach into the time from began to ended.
func (m moments) between(began, ended time.Time) (times []time.Duration) {
	for i := 1; i < len(m); i++ {
		if before, after := m[i-1], m[i]; !before.IsZero() && !after.IsZero() && after.After(began) && before.Before(ended) {
			times = append(times, after.Sub(before))
		}
	}
	return times
}

// generateAlone returns the times between the tokens of an answer.
func (b *bench) generateAlone(ctx context.Context) ([]time.Duration, error) {
	writer, err := b.newAnswerer(ctx, 1, b.generate, nil)
	if err != nil {
		return nil, err
	}
	defer writer.session.Close()
	b.trace.Begin("answer alone")
	defer b.trace.End()
	var came moments
	err = writer.follow(ctx, func() bool {
		came = append(came, precise.Now())
		return true
	})
	return came.between(time.Time{}, precise.Now()), err
}

// generateDuringPrompt returns the times between the tokens of answers while another session reads a prompt, and what that took. There
// is always an answer under way: after the end of one comes the next.
func (b *bench) generateDuringPrompt(ctx context.Context, p prompt) ([]time.Duration, time.Duration, error) {
	writer, err := b.newAnswerer(ctx, 1, b.generate, nil)
	if err != nil {
		return nil, 0, err
	}
	defer writer.session.Close()
	reader, tokens, err := p.open(ctx, b)
	if err != nil {
		return nil, 0, err
	}
	defer reader.Close()
	var (
		came         moments
		read         atomic.Bool
		writing      = make(chan struct{}) // closed when the answer has begun
		began, ended time.Time
	)
	b.trace.Begin("answer beside a prompt")
	defer b.trace.End()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		for !read.Load() {
			came = append(came, time.Time{})
			err := writer.follow(ctx, func() bool {
				if came = append(came, precise.Now()); len(came) == 3 {
					close(writing)
				}
				return !read.Load()
			})
			if err != nil {
				return err
			}
			if err := writer.rewind(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	group.Go(func() error {
		select {
		case <-writing:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer read.Store(true)
		began = precise.Now()
		err := reader.Prefill(ctx, tokens)
		ended = precise.Now()
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, 0, err
	}
	return came.between(began, ended), ended.Sub(began), nil
}

// latencyColumns returns the columns of the table of latencies.
func latencyColumns() []column[*latency] {
	return []column[*latency]{
		{true, "test", func(l *latency) string { return l.Test }},
		{true, "depth", func(l *latency) string { return strconv.Itoa(l.Depth) }},
		{true, "threads", func(l *latency) string { return strconv.Itoa(l.Threads) }},
		{true, "kv", func(l *latency) string { return l.KV }},
		{true, "alone p50", func(l *latency) string { return fixed(l.Alone.P50) }},
		{true, "p99", func(l *latency) string { return fixed(l.Alone.P99) }},
		{true, "beside p50", func(l *latency) string { return fixed(l.Beside.P50) }},
		{true, "p99", func(l *latency) string { return fixed(l.Beside.P99) }},
		{true, "of alone", func(l *latency) string { return fixed(l.Beside.P99 / l.Alone.P99) }},
		{true, "prompt alone", func(l *latency) string { return fixed(l.PromptSeconds) }},
		{true, "beside", func(l *latency) string { return fixed(l.PromptSecondsBeside) }},
		{true, "of alone", func(l *latency) string { return fixed(l.PromptSecondsBeside / l.PromptSeconds) }},
	}
}
