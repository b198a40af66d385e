// Peers measures models with Antigravity and with other programs in turn, and writes a table of the rates.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

func main() { cli.Main("peers", run) }

const about = `
peers measures models with Antigravity and with other programs, which take turns, and writes a table of the rates and their ratios.

  go run ./examples/tools/peers -models 1b.gguf,8b.gguf -peers ik_llama.cpp=/opt/ik/build/bin -threads 2 -out results.jsonl
  go run ./examples/tools/peers -models 1b.gguf -peers llama.cpp=/opt/node -prompts 512,4096 -sessions 1,4,16 -rounds 3 -out results.jsonl
  go run ./examples/tools/peers -out results.jsonl -table

A peer is a name and a folder, which has the program llama-batched-bench, or the script peer.mjs over node-llama-cpp. Antigravity is
measured by the program bench, which go build makes unless -bench names it.

For each model and each length of a prompt a program reads the prompt, and then some sessions go on from it at once. Of each round every
program has one turn, and each figure is a process of its own or one of few. What is measured is added to the file -out as it comes, a
line each, and what that file has already is not measured again: a run that was interrupted goes on.

A figure says little if the machine does other work. Before each turn peers waits until the machine is idle, for -patience at most, and it
discards a figure if other programs took more than -busy of the processors' time meanwhile. Systems other than Linux do not report that
time: there -busy 1 takes every figure.`

// options are the command line's.
type options struct {
	flags    *cli.Flags
	bench    string
	peers    []folder
	models   []string
	prompts  []int
	sessions []int
	answer   int
	threads  int
	rounds   int
	busy     float64
	patience time.Duration
	out      string
	table    bool
}

// folder is a peer of the command line.
type folder struct{ name, path string }

func parse(args []string, stdout io.Writer) (*options, error) {
	var peers, models, prompts, sessions string
	o := &options{flags: cli.NewFlags("peers", about)}
	o.flags.Group("What", func() {
		o.flags.StringVar(&models, "models", "", "GGUF `files`, with commas between them")
		o.flags.StringVar(&peers, "peers", "", "other programs: `name=folder`, with commas between them")
		o.flags.StringVar(&o.bench, "bench", "", "`path` of the program bench; made by go build unless given")
		o.flags.StringVar(&prompts, "prompts", "512", "`tokens` of prompts")
		o.flags.StringVar(&sessions, "sessions", "1", "`numbers` of sessions that go on from the prompt at once")
		o.flags.IntVar(&o.answer, "n", 32, "`tokens` of each answer")
		o.flags.IntVar(&o.threads, "threads", 0, "`number` of threads of each program (required)")
	})
	o.flags.Group("How", func() {
		o.flags.IntVar(&o.rounds, "rounds", 3, "`number` of turns that each program has")
		o.flags.Float64Var(&o.busy, "busy", 0.05, "`part` of the processors' time that other programs may take")
		o.flags.DurationVar(&o.patience, "patience", time.Minute, "`time` to wait for an idle machine")
		o.flags.StringVar(&o.out, "out", "", "`file` of results, which is gone on with (required)")
		o.flags.BoolVar(&o.table, "table", false, "measure nothing: write the table of what -out has")
	})
	if err := o.flags.Parse(args, stdout); err != nil {
		return nil, err
	}
	var err error
	if o.prompts, err = numbers("prompts", prompts); err != nil {
		return nil, err
	}
	if o.sessions, err = numbers("sessions", sessions); err != nil {
		return nil, err
	}
	o.models = list(models)
	for _, p := range list(peers) {
		name, path, ok := strings.Cut(p, "=")
		if !ok || name == "" || path == "" {
			return nil, cli.Usagef("-peers: %q is no name=folder", p)
		}
		o.peers = append(o.peers, folder{name, path})
	}
	switch {
	case o.out == "":
		return nil, cli.Usagef("-out is missing: the file that results are added to")
	case o.table:
	case len(o.models) == 0:
		return nil, cli.Usagef("-models is missing: GGUF files to measure")
	case o.threads < 1:
		return nil, cli.Usagef("-threads is missing: programs differ in how many they take by themselves")
	case o.rounds < 1 || o.answer < 2:
		return nil, cli.Usagef("-rounds is at least 1, and -n at least 2")
	case !(o.busy >= 0 && o.busy <= 1):
		return nil, cli.Usagef("-busy %g: a part is between 0 and 1", o.busy)
	}
	return o, nil
}

// list returns what stands between commas.
func list(text string) (items []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// numbers returns the positive numbers of a flag.
func numbers(flag, text string) (values []int, err error) {
	for _, item := range list(text) {
		n, err := strconv.Atoi(item)
		if err != nil || n < 1 {
			return nil, cli.Usagef("-%s: %q is no positive number", flag, item)
		}
		values = append(values, n)
	}
	if len(values) == 0 {
		return nil, cli.Usagef("-%s: there is no number", flag)
	}
	return values, nil
}

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	known, err := readResults(o.out)
	if err != nil {
		return err
	}
	if o.table {
		return writeTable(stdout, known)
	}
	known, err = o.measure(ctx, known, stderr)
	if known == nil {
		return err
	}
	return errors.Join(writeTable(stdout, known), err)
}

// measure measures the figures that are not known, and returns all results, with an error if some could not be measured.
func (o *options) measure(ctx context.Context, known []result, stderr io.Writer) ([]result, error) {
	for _, m := range o.models {
		if _, err := os.Stat(m); err != nil {
			return nil, fmt.Errorf("the model to measure: %w", err)
		}
	}
	programs := make([]program, 0, 1+len(o.peers))
	for _, p := range o.peers {
		peer, err := openPeer(ctx, p)
		if err != nil {
			return nil, err
		}
		programs = append(programs, peer)
	}
	if o.bench == "" {
		scratch, err := os.MkdirTemp("", "peers")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(scratch)
		o.bench = filepath.Join(scratch, "bench")
		if err := buildBench(ctx, o.bench); err != nil {
			return nil, err
		}
	}
	programs = append(programs, antigravity{o.bench})
	out, err := os.OpenFile(o.out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the file of results: %w", err)
	}
	r := rounds{options: o, programs: programs, known: known, out: out, stderr: stderr}
	err = r.run(ctx)
	return r.known, errors.Join(err, out.Close())
}
