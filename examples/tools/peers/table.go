package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// writeTable writes a Markdown table for each number of threads: a line for each model and cell, with the median of each program and the
// median of the ratios to the fastest peer of the same round.
func writeTable(w io.Writer, known []result) error {
	if len(known) == 0 {
		_, err := io.WriteString(w, "nothing has been measured\n")
		return err
	}
	var b strings.Builder
	for _, threads := range distinct(known, func(r result) int { return r.Threads }) {
		writeThreads(&b, slices.DeleteFunc(slices.Clone(known), func(r result) bool { return r.Threads != threads }))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeThreads writes the table of results with one number of threads.
func writeThreads(b *strings.Builder, known []result) {
	const ours = "Antigravity"
	programs := distinct(known, func(r result) string { return r.Program })
	peers := slices.DeleteFunc(slices.Clone(programs), func(p string) bool { return p == ours })
	rounds := 0
	for _, r := range known {
		rounds = max(rounds, r.Round)
	}
	fmt.Fprintf(b, "On %s, %s, %s to %s, in turn, %s: medians in tokens/s.\n\n", strings.Join(distinct(known, func(r result) string { return r.Processor }), " and "),
		cli.Count(known[0].Threads, "thread"), known[0].Time.Format("2006-01-02 15:04"), known[len(known)-1].Time.Format("15:04"), cli.Count(rounds, "round"))
	fmt.Fprintf(b, "| | %s | %s | ratio |\n|---|%s--:|--:|\n", strings.Join(peers, " | "), ours, strings.Repeat("--:|", len(peers)))
	for _, model := range distinct(known, func(r result) string { return r.Model }) {
		of := slices.DeleteFunc(slices.Clone(known), func(r result) bool { return r.Model != model })
		for i, c := range distinct(of, func(r result) cell { return r.cell }) {
			title := c.String()
			if i == 0 {
				title = "`" + strings.TrimSuffix(model, ".gguf") + "`: " + title
			}
			fmt.Fprintf(b, "| %s |", title)
			for _, p := range peers {
				fmt.Fprintf(b, " %s |", median(rates(of, p, c)))
			}
			fmt.Fprintf(b, " %s | %s |\n", median(rates(of, ours, c)), median(ratios(of, ours, peers, c)))
		}
		fmt.Fprint(b, "| peak memory, GB |")
		for _, p := range append(slices.Clone(peers), ours) {
			peak := int64(0)
			for _, r := range of {
				if r.Program == p {
					peak = max(peak, r.PeakBytes)
				}
			}
			fmt.Fprintf(b, " %s |", machine.Digits(float64(peak)/1e9))
		}
		fmt.Fprint(b, " |\n")
	}
	b.WriteString("\n")
	for _, command := range distinct(known, func(r result) string { return strings.Join(r.Command, " ") }) {
		fmt.Fprintf(b, "    %s\n", command)
	}
	b.WriteString("\n")
}

// distinct returns the values of results, each once, in the order in which they come.
func distinct[T comparable](known []result, of func(result) T) (values []T) {
	for _, r := range known {
		if v := of(r); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// rates returns the rates of a program, by rounds.
func rates(known []result, program string, c cell) (list []float64) {
	for _, r := range known {
		if r.Program == program && r.cell == c {
			list = append(list, r.Rate)
		}
	}
	return list
}

// ratios returns for each round how many times as fast as the fastest peer the program was.
func ratios(known []result, program string, peers []string, c cell) (list []float64) {
	for _, r := range known {
		if r.Program != program || r.cell != c {
			continue
		}
		best := 0.0
		for _, k := range known {
			if k.cell == c && k.Round == r.Round && slices.Contains(peers, k.Program) {
				best = max(best, k.Rate)
			}
		}
		if best > 0 {
			list = append(list, r.Rate/best)
		}
	}
	return list
}

// median writes the middle of some numbers; nothing if there is no number.
func median(list []float64) string {
	if len(list) == 0 {
		return ""
	}
	return machine.Digits(statistics.Median(list))
}
