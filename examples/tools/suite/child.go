package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/experiment"
)

// request is what a suite asks a process of its own for: one run. It is a line of JSON on the process's stdin; the runs.Run is the
// answer on stdout, and with a status other than 0 the reason is on stderr.
type request struct {
	Config     runs.Config `json:"config"`
	Repetition int         `json:"repetition"`
	Commit     string      `json:"commit,omitempty"`   // of the program, for one that was built without knowing it
	Committed  time.Time   `json:"committed,omitzero"` // when
	Watched    bool        `json:"watched,omitempty"`  // stdin stays open as long as the suite lives, and with the suite ends the run
	Progress   bool        `json:"progress,omitempty"` // how far the run is comes on stderr, in lines that begin with progressMark
}

// progressMark begins the lines on a child's stderr that report how far its run is.
const progressMark = "progress: "

// maxRequest bounds a request, in bytes.
const maxRequest = 1 << 20

// child measures the run that is asked for on stdin.
func child(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		return cli.Usagef("child has no arguments: the suite starts it, and asks on stdin")
	}
	asked := json.NewDecoder(io.LimitReader(stdin, maxRequest))
	asked.DisallowUnknownFields() // an older suite must not measure something else than it is asked for
	var q request
	if err := asked.Decode(&q); err != nil {
		return fmt.Errorf("read what to measure from stdin: %w", err)
	}
	if q.Watched {
		watched, end := context.WithCancel(ctx)
		defer end()
		go func() {
			io.Copy(io.Discard, stdin)
			end()
		}()
		ctx = watched
	}
	o := experiment.Options{Repetition: q.Repetition, Commit: q.Commit, Committed: q.Committed}
	if q.Progress {
		o.Progress = func(part string, done, total int) {
			fmt.Fprintf(stderr, "%s%s %d/%d\n", progressMark, part, done, total)
		}
	}
	r, err := experiment.Run(ctx, q.Config, o)
	if err != nil {
		return err
	}
	return cli.PrintJSON(stdout, r)
}
