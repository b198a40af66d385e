// Suite measures a matrix of runs (models × backends × cache types × policies × …), each in a process of its own, keeps what came of
// each in a file, and sums up and compares what it kept.
package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/tables"
)

func main() { cli.Main("suite", run) }

// subcommand is what the first argument chooses.
type subcommand struct {
	name  string
	about string // one line for the help; "": not for people
	run   cli.Program
}

// subcommands lists the subcommands. The first is what runs without the name of any.
func subcommands() []subcommand {
	return []subcommand{
		{"run", "measure a matrix of runs; also without this word", measure},
		{"child", "", child},
		{"conditions", "", conditions},
		{"summary", "a table of what was measured", withoutInput(tables.Summary)},
		{"compare", "what differs between two sets of runs beyond noise", withoutInput(tables.Compare)},
		{"foreground", "what generating does to the program in front", foregroundTest},
	}
}

// withoutInput makes a Program of a function that reads nothing.
func withoutInput(f func(ctx context.Context, args []string, stdout, stderr io.Writer) error) cli.Program {
	return func(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
		return f(ctx, args, stdout, stderr)
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	list := subcommands()
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return list[0].run(ctx, args, stdin, stdout, stderr)
	}
	i := slices.IndexFunc(list, func(s subcommand) bool { return s.name == args[0] })
	if i < 0 {
		var known []string
		for _, s := range list {
			if s.about != "" {
				known = append(known, s.name)
			}
		}
		return cli.Usagef("there is no subcommand %q: there are %s", args[0], strings.Join(known, ", "))
	}
	return list[i].run(ctx, args[1:], stdin, stdout, stderr)
}
