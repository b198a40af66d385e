package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Each program is asked in its own way for the same work, and answers in its own form:
//
//	bench                 a line of JSON for each figure
//	llama-batched-bench   a table, a line for each number of sessions: |   512 |     32 |    4 |   640 | 1.2 | 426.67 | 2.5 | 51.2 | …
//	peer.mjs              pp512 233.10 t/s   tg31@512 21.40 t/s

// program is something that models are measured with.
type program interface {
	name() string
	// calls returns the processes that measure a model with one length of prompts.
	calls(o *options, model string, prompt int) []call
}

// call is a process, and how to read what it prints.
type call struct {
	command []string
	dir     string   // "": the present one
	env     []string // beyond the present ones
	cells   []cell   // which it measures
	read    func(stdout string) (map[cell]float64, error)
}

// antigravity is the program bench, by its path.
type antigravity struct{ path string }

func (antigravity) name() string { return "Antigravity" }

func (a antigravity) calls(o *options, model string, prompt int) []call {
	bench := func(args ...string) []string {
		return append([]string{a.path, "-model", model, "-threads", strconv.Itoa(o.threads), "-r", "1", "-json"}, args...)
	}
	var sessions []string
	for _, n := range o.sessions {
		sessions = append(sessions, strconv.Itoa(n))
	}
	after := []string{"-p", "0", "-n", strconv.Itoa(o.answer), "-depth", strconv.Itoa(prompt)}
	if !slices.Equal(o.sessions, []int{1}) {
		after = append(after, "-forks", "-sessions", strings.Join(sessions, ","))
	}
	return []call{
		{command: bench("-p", strconv.Itoa(prompt), "-n", "0"), cells: []cell{{Prompt: prompt}}, read: func(stdout string) (map[cell]float64, error) {
			return readBench(stdout, cell{Prompt: prompt})
		}},
		{command: bench(after...), cells: answers(prompt, o.sessions), read: func(stdout string) (map[cell]float64, error) {
			return readBench(stdout, cell{Prompt: prompt, Sessions: 1})
		}},
	}
}

// readBench reads bench's lines; a line that has no number of sessions is about the cell alone.
func readBench(stdout string, alone cell) (map[cell]float64, error) {
	rates := map[cell]float64{}
	for line := range strings.Lines(stdout) {
		var figure struct {
			Sessions int     `json:"sessions"`
			Rate     float64 `json:"tokens_per_second"`
		}
		if err := json.Unmarshal([]byte(line), &figure); err != nil {
			return nil, fmt.Errorf("bench printed %q: %w", strings.TrimSpace(line), err)
		}
		at := alone
		if figure.Sessions > 0 {
			at.Sessions = figure.Sessions
		}
		rates[at] = figure.Rate
	}
	return rates, nil
}

// buildBench compiles the program bench.
func buildBench(ctx context.Context, path string) error {
	const bench = "github.com/antigravity-go/antigravity/examples/tools/bench"
	if output, err := exec.CommandContext(ctx, "go", "build", "-o", path, bench).CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w: %s; -bench names the program if it is built already", bench, err, bytes.TrimSpace(output))
	}
	return nil
}

// openPeer finds out which program a folder has.
func openPeer(ctx context.Context, f folder) (program, error) {
	batched := filepath.Join(f.path, "llama-batched-bench")
	if _, err := os.Stat(batched); err == nil {
		help, _ := exec.CommandContext(ctx, batched, "-h").CombinedOutput() // it ends with an error, and helps all the same
		return batchedBench{f.name, batched, bytes.Contains(help, []byte("-rtr,"))}, nil
	}
	if _, err := os.Stat(filepath.Join(f.path, "peer.mjs")); err == nil {
		return nodeScript{f.name, f.path}, nil
	}
	return nil, fmt.Errorf("the folder %s of the peer %s has neither llama-batched-bench nor peer.mjs", f.path, f.name)
}

// batchedBench is llama.cpp's llama-batched-bench, or that of ik_llama.cpp, which can repack weights while it loads them.
type batchedBench struct {
	as, path string
	repacks  bool
}

func (b batchedBench) name() string { return b.as }

func (b batchedBench) calls(o *options, model string, prompt int) []call {
	var sessions []string
	for _, n := range o.sessions {
		sessions = append(sessions, strconv.Itoa(n))
	}
	threads := strconv.Itoa(o.threads)
	command := []string{
		b.path, "-m", model, "-c", strconv.Itoa(prompt + slices.Max(o.sessions)*o.answer), "-b", "2048", "-ub", "512", "-pps", "-fa", "on", "-t", threads, "-tb", threads,
		"-npp", strconv.Itoa(prompt), "-ntg", strconv.Itoa(o.answer), "-npl", strings.Join(sessions, ","),
	}
	if b.repacks {
		command = append(command, "-rtr")
	}
	return []call{{command: command, cells: append(answers(prompt, o.sessions), cell{Prompt: prompt}), read: readBatchedBench}}
}

// readBatchedBench reads the lines of the table that are numbers. The prompt is read anew for each number of sessions: the first time counts.
func readBatchedBench(stdout string) (map[cell]float64, error) {
	rates := map[cell]float64{}
	for line := range strings.Lines(stdout) {
		fields := strings.Split(line, "|")
		if len(fields) < 10 {
			continue
		}
		number := func(i int) float64 {
			x, err := strconv.ParseFloat(strings.TrimSpace(fields[i]), 64)
			if err != nil {
				return 0
			}
			return x
		}
		prompt, sessions, read, written := int(number(1)), int(number(3)), number(6), number(8)
		if prompt == 0 || sessions == 0 {
			continue
		}
		if rates[cell{Prompt: prompt}] == 0 {
			rates[cell{Prompt: prompt}] = read
		}
		rates[cell{prompt, sessions}] = written
	}
	if len(rates) == 0 {
		return nil, errors.New("llama-batched-bench printed no figures")
	}
	return rates, nil
}

// nodeScript is peer.mjs over node-llama-cpp, which measures one session.
type nodeScript struct{ as, folder string }

func (n nodeScript) name() string { return n.as }

func (n nodeScript) calls(o *options, model string, prompt int) []call {
	whole, err := filepath.Abs(model)
	if err != nil {
		whole = model
	}
	return []call{{
		command: []string{"node", "peer.mjs", whole, strconv.Itoa(prompt), strconv.Itoa(o.answer), strconv.Itoa(o.threads), "1"},
		dir:     n.folder, env: []string{"FA=1"}, cells: []cell{{Prompt: prompt}, {prompt, 1}},
		read: func(stdout string) (map[cell]float64, error) {
			found := nodeFigures.FindStringSubmatch(stdout)
			if found == nil {
				return nil, errors.New("peer.mjs printed no figures")
			}
			read, _ := strconv.ParseFloat(found[1], 64) // the expression takes numbers alone
			written, _ := strconv.ParseFloat(found[2], 64)
			return map[cell]float64{{Prompt: prompt}: read, {prompt, 1}: written}, nil
		},
	}}
}

var nodeFigures = regexp.MustCompile(`pp\d+ ([0-9.]+) t/s\s+tg\d+@\d+ ([0-9.]+) t/s`)
