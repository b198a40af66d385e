// Makesample writes invented results, to look at the dashboard without having measured anything; the dashboard's tests use it too.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/dashboard/internal/sample"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

func main() { cli.Main("makesample", run) }

const about = `
makesample writes invented results of the suite, to look at the dashboard without having measured anything.

  go run ./examples/tools/dashboard/internal/makesample -out invented
  go run ./examples/tools/dashboard invented`

func run(_ context.Context, args []string, _ io.Reader, stdout, _ io.Writer) error {
	var o sample.Options
	var out string
	var hostile bool
	f := cli.NewFlags("makesample", about)
	f.Group("Results", func() {
		f.StringVar(&out, "out", "invented", "`folder` to write to")
		f.IntVar(&o.Commits, "commits", 5, "`number` of commits")
		f.IntVar(&o.Repetitions, "r", 6, "`number` of repetitions")
		f.BoolVar(&o.Small, "small", false, "24 cells in place of 120")
		f.BoolVar(&o.Unknown, "unknown", false, "runs of which nobody knows the commit")
		f.BoolVar(&hostile, "hostile", false, "only one run, whose every text tries to be HTML")
	})
	if err := f.Parse(args, stdout); err != nil {
		return err
	}
	if o.Commits < 1 || o.Commits > 5 || o.Repetitions < 1 {
		return cli.Usagef("-commits is 1 to 5, and -r at least 1")
	}
	if hostile {
		return runs.Folder(out).Write(sample.Hostile())
	}
	count, err := sample.Write(out, o)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d runs in %s\n", count, out)
	return err
}
