package main

import (
	"embed"
	"io"
	"io/fs"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/matrix"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/rounds"
)

const about = `
suite measures a matrix of runs: models × backends × cache types × policies × …, each run in a process of its own.

  go run ./examples/tools/suite -backends cpu -kv-type f16,q8_0 -policies none,sliding,h2o -windows 64,128
  go run -tags opencl ./examples/tools/suite -matrix short
  go run ./examples/tools/suite -matrix mine.json -out results/phone -target adb -cool 40
  go run ./examples/tools/suite -programs base=./suite_old,new= -r 10
  go run ./examples/tools/suite summary results
  go run ./examples/tools/suite compare results -a program=base -b program=new
  go run ./examples/tools/suite foreground

Each run loads the model, reads a prompt, generates, and keeps what it saw in a file in the folder -out. The whole matrix is measured -r
times, round by round, each round in another order; then what still spreads too much is measured again, up to -r-max times. What the
folder has already is not measured again: after an interruption, of whatever kind, the same command goes on where it was.

Without another word the matrix is measured. "suite summary -h", "suite compare -h" and "suite foreground -h" tell about those.`

// shippedMatrices are the matrices that -matrix knows by name.
//
//go:embed matrices/*.json
var shippedMatrices embed.FS

// options are the command line's.
type options struct {
	matrix  *matrix.Matrix
	configs []runs.Config
	rule    rounds.Rule
	rest    cooler
	timeout time.Duration
	target  string
	out     string
	again   bool
	list    bool
	clean   bool
	json    bool
}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	shipped, err := fs.Sub(shippedMatrices, "matrices")
	if err != nil {
		return nil, err
	}
	var made func() (*matrix.Matrix, error)
	f := cli.NewFlags("suite", about)
	f.Group("Matrix: every value of a list is combined with every value of the others", func() { made = matrix.Flags(f, shipped) })
	f.Group("Repetition", func() {
		f.IntVar(&o.rule.Least, "r", 3, "`times` that each run is repeated at least")
		f.IntVar(&o.rule.Most, "r-max", 10, "`times` that each run is repeated at most")
		f.Float64Var(&o.rule.Spread, "spread", 0.02, "a run is repeated until half the interval of its rates is no wider than this `part` of their median")
		f.Uint64Var(&o.rule.Seed, "seed", 1, "`number` that the order of the runs in each round is drawn from")
	})
	f.Group("Rest", func() {
		f.DurationVar(&o.rest.pause, "pause", 0, "wait for this `time` between two runs")
		f.Float64Var(&o.rest.celsius, "cool", 0, "wait between runs until the processor has at most so many degrees `Celsius`; 0: do not")
		f.DurationVar(&o.rest.patience, "cool-max", 10*time.Minute, "but no longer than this `time`")
		f.Float64Var(&o.rest.battery, "battery", 0, "end when the battery has less than this `percentage`; 0: do not")
		f.DurationVar(&o.timeout, "timeout", time.Hour, "a run that takes longer than this `time` has failed; 0: none does")
	})
	f.Group("Where", func() {
		f.StringVar(&o.target, "target", "", "`name` of where to measure: adb, adb:SERIAL, ssh:HOST; none: on this machine")
		f.BoolVar(&o.clean, "clean", false, "remove what was ever copied to the target, and do nothing else")
	})
	f.Group("Results", func() {
		f.StringVar(&o.out, "out", "results", "`folder` to keep the runs in")
		f.BoolVar(&o.again, "again", false, "measure everything anew: the runs of this matrix that the folder has are removed first")
		f.BoolVar(&o.list, "list", false, "print the runs of the matrix and measure nothing")
		f.BoolVar(&o.json, "json", false, "print one JSON object a line: each run's configuration, metrics and progress; with -list the configurations")
	})
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	if o.rule.Most < o.rule.Least && !f.Given("r-max") {
		o.rule.Most = o.rule.Least
	}
	switch {
	case o.rule.Least < 1 || o.rule.Most < o.rule.Least || o.rule.Most > maxRepetitions:
		return nil, cli.Usagef("-r %d -r-max %d: they must be 1 to %d, and -r-max no less than -r", o.rule.Least, o.rule.Most, maxRepetitions)
	case !(o.rule.Spread >= 0):
		return nil, cli.Usagef("-spread %v must be 0 or more", o.rule.Spread)
	case o.rest.pause < 0 || o.rest.patience < 0 || o.timeout < 0:
		return nil, cli.Usagef("-pause, -cool-max and -timeout must be 0 or more")
	case !(o.rest.celsius >= 0) || !(o.rest.battery >= 0 && o.rest.battery <= 100):
		return nil, cli.Usagef("-cool must be 0 or more, and -battery 0 to 100")
	case o.out == "":
		return nil, cli.Usagef("-out needs a folder")
	}
	if o.matrix, err = made(); err != nil {
		return nil, err
	}
	if f.Given("asked") && o.matrix.Questions == "" {
		return nil, cli.Usagef("-asked is how many questions of a file are asked: -questions says which file, or pebble, whose questions are embedded")
	}
	o.configs, err = o.matrix.Configs()
	return o, err
}

// maxRepetitions bounds -r-max: files of runs have three digits for the repetition.
const maxRepetitions = 999
