// Beam answers files of prompts with a model, through Apache Beam: on this machine, or on the workers of Flink, Spark or Dataflow.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/antigravity-go/antigravity/examples/beam/infer"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

const about = `
beam answers files of prompts with a model, through Apache Beam: on this machine (runner prism), or on the workers of Flink, Spark or
Dataflow. Each line of a .jsonl, .jsonl.gz or .parquet file is a request; the answers go to JSON lines, file by file, and a
command that is given again goes on where it was interrupted.

  go run . -in prompts.jsonl -out answers
  go run . -in 'gs://bucket/prompts/*.parquet' -out gs://bucket/answers -model gs://bucket/model.gguf -runner dataflow …

Flags:
`

// flags are the program's own; Beam and its runners have theirs.
type flags struct {
	in, out  string
	task     string
	defaults string
	lines    int
	port     int
	log      string
	model    infer.Model
}

// define defines the flags, in the process's set and in one of their own, which the help shows.
func (o *flags) define() {
	f := flag.NewFlagSet("beam", flag.ContinueOnError)
	f.StringVar(&o.in, "in", "", "`files` of prompts, separated by commas; * and ? stand for parts of a name")
	f.StringVar(&o.out, "out", "", "`folder` of the results; files of results that are there are not computed again")
	f.StringVar(&o.task, "task", string(infer.Answers), "what is made of a line: answer, embed, score, classify or entities")
	f.StringVar(&o.defaults, "defaults", answerDefaults, "`JSON` object with the fields of lines that do not say otherwise, or @ and a file that has it")
	f.IntVar(&o.lines, "lines", 128, "`number` of lines that make a file of results, fewer if they have more than 8 MB together")
	f.StringVar(&o.model.Path, "model", "pebble",
		"`path` of a .gguf file or a Hugging Face folder; a name or URL to fetch, as hf:owner/name:Q4_K_M; or pebble, flint or opal, which are embedded")
	f.StringVar(&o.model.SHA256, "model-sha256", "", "`sum` that a file that is fetched must have; none: any")
	f.StringVar(&o.model.Weights, "weights", "", "`type` to quantise the weights to while loading, such as q4_0 or q8_0; none: as stored")
	f.StringVar(&o.model.KV, "kv-type", "", "`type` of cached keys and values: f16, q8_0, q4_0 or f32; none: f16")
	f.IntVar(&o.model.Capacity, "capacity", 0, "`tokens` that a prompt and its answer may have together; 0: the model's context, at most 4096")
	f.IntVar(&o.model.Sessions, "max-sessions", 0, "`number` of lines that a process computes at once; 0: 48")
	f.IntVar(&o.model.Threads, "threads", 0, "`number` of threads that a process computes with; 0: one for each processor")
	f.Int64Var(&o.model.CacheBytes, "cache-bytes", 0, "`bytes` of memory that the conversations of a process may take; 0: a quarter of what is available")
	f.DurationVar(&o.model.Idle, "idle", 0, "`time` that a model stays loaded when nothing needs it; 0: a minute")
	f.StringVar(&o.log, "log", "warn", "`level` from which on Beam's messages are told: debug, info, warn or error")
	f.IntVar(&o.port, "worker-pool", 0, "serve Beam's workers at this `port` of localhost instead: the EXTERNAL environment of a cluster's machine")
	f.VisitAll(func(own *flag.Flag) { flag.CommandLine.Var(own.Value, own.Name, own.Usage) })
	flag.Usage = func() {
		out := flag.CommandLine.Output()
		fmt.Fprint(out, about[1:])
		f.SetOutput(out)
		f.PrintDefaults()
		var beams []string
		flag.VisitAll(func(any *flag.Flag) {
			if f.Lookup(any.Name) == nil {
				beams = append(beams, any.Name)
			}
		})
		fmt.Fprintf(out, "\nFlags of Beam and its runners, which their documentation explains:\n  %s\n", strings.Join(beams, ", "))
	}
}

func main() {
	var o flags
	o.define()
	flag.Parse()
	log.LogLevel = o.log
	beam.Init() // in a worker's process it serves the runner and does not return
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	cli.Exit("beam", o.run(ctx))
}

// run does what the flags say.
func (o *flags) run(ctx context.Context) error {
	if o.port != 0 {
		return servePool(ctx, o.port)
	}
	if flag.NArg() > 0 {
		return cli.Usagef("there is no argument without a flag: %q", flag.Arg(0))
	}
	j, err := o.job(ctx)
	if err != nil {
		return err
	}
	return j.run(ctx, os.Stderr)
}
