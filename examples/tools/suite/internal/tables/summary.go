// Package tables sums up and compares what the suite measured: runs of one configuration become a cell, cells the rows of a table or the
// two sides of a comparison.
package tables

import (
	"context"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

const summaryAbout = `
suite summary DIR prints a table of the runs in a folder: a row for each configuration with the medians of its repetitions, and how far
off they may be: 95 % intervals, or everything that was measured where there are fewer than six repetitions.

  go run ./examples/tools/suite summary results
  go run ./examples/tools/suite summary results -metrics generating,cache,accuracy -by policy,window -markdown
  go run ./examples/tools/suite summary results -ratio policy=none -where kv=f16

With -ratio each row is divided by the row that has this value and is the same in everything else.`

// usualMetrics are those that a summary shows by default.
const usualMetrics = "generating,reading,first,gap99,accuracy,resident,cache"

// summaryOptions are the command line's.
type summaryOptions struct {
	metrics  []runs.Metric
	by       []property // the columns of properties that come first
	ratio    selection  // one property with one value; nil: no ratios
	markdown bool
	csv      bool
}

// Summary is the subcommand that prints a table of the measurements.
func Summary(_ context.Context, args []string, stdout, _ io.Writer) error {
	var o summaryOptions
	var where, metrics, by, ratio string
	f := cli.NewFlags("suite summary", summaryAbout)
	f.Group("What to show", func() {
		f.StringVar(&where, "where", "", "`axis=value,…` that the runs have; an axis that is named twice has either value")
		f.StringVar(&metrics, "metrics", usualMetrics, "`names` of metrics with commas between, or all; those that no run has are left out")
		f.StringVar(&by, "by", "", "`axes` whose columns come first, and by which the rows are sorted, with commas between")
		f.StringVar(&ratio, "ratio", "", "`axis=value` of the rows that the others are divided by")
	})
	f.Group("Form", func() {
		f.BoolVar(&o.markdown, "markdown", false, "print a table in Markdown")
		f.BoolVar(&o.csv, "csv", false, "print comma-separated values, with all digits and all axes")
	})
	dirs, err := f.ParseMixed(args, stdout)
	if err != nil {
		return err
	}
	if len(dirs) != 1 {
		return cli.Usagef("name the folder of the runs: suite summary DIR")
	}
	if o.markdown && o.csv {
		return cli.Usagef("-markdown or -csv: a table has one form")
	}
	if o.metrics, err = metricsNamed(metrics); err != nil {
		return err
	}
	if o.by, err = propertiesNamed("-by", by); err != nil {
		return err
	}
	chosen, err := parseSelection("-where", where)
	if err != nil {
		return err
	}
	if ratio != "" {
		if o.ratio, err = parseSelection("-ratio", ratio); err != nil {
			return err
		}
		if len(o.ratio) != 1 {
			return cli.Usagef("-ratio %s: name one axis with one value", ratio)
		}
	}
	list, err := readRuns(dirs[0])
	if err != nil {
		return err
	}
	if err := chosen.check("-where", list); err != nil {
		return err
	}
	list = chosen.of(list)
	if err := o.ratio.check("-ratio", list); err != nil {
		return err
	}
	return summarise(list, &o).write(stdout, &o)
}

// readRuns returns the runs of a folder. An empty folder is an error.
func readRuns(dir string) ([]*runs.Run, error) {
	list, err := runs.Folder(dir).All()
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: there are no runs in it: suite -out %s makes some", dir, dir)
	}
	return list, err
}
