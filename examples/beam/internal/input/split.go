// Package input cuts files of prompts into the lines that become files of results.
package input

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/antigravity-go/antigravity/examples/beam/infer"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// Options say how files are cut.
type Options struct {
	Task     infer.Task
	Out      string // the folder of the results
	Lines    int    // how many lines make a file of results
	Defaults string // infer.Lines.Defaults: a JSON object, or ""
}

// maxGroup bounds the records that make a file of results, in bytes: a group is in memory as a whole, in several copies.
const maxGroup = 8 << 20

// Split reads files, PCollection<string>, and returns PCollection<infer.Lines>: of each the records that have no complete file of results
// yet.
func Split(s beam.Scope, o Options, files beam.PCollection) beam.PCollection {
	return beam.ParDo(s.Scope("input.Split"), &splitFn{o}, files)
}

func init() {
	register.DoFn3x1[context.Context, string, func(infer.Lines), error](&splitFn{})
	register.Emitter1[infer.Lines]()
}

// splitFn is Split's DoFn.
type splitFn struct{ Options Options }

// skipped counts the files of results that were there.
var skipped = beam.NewCounter("antigravity", "files_there")

// ProcessElement cuts one file.
func (f *splitFn) ProcessElement(ctx context.Context, file string, emit func(infer.Lines)) error {
	there, err := f.existingOutputs(ctx, file)
	if err != nil {
		return err
	}
	lines := infer.Lines{Task: f.Options.Task, Source: path.Base(file), Defaults: []byte(f.Options.Defaults)}
	number, shard, size := 0, 0, 0
	flush := func() error {
		lines.Output = Output(f.Options.Out, file, shard)
		done := there[path.Base(lines.Output)]
		if done {
			if done, err = infer.Complete(ctx, lines.Output, len(lines.Lines)); err != nil {
				return err
			}
		}
		if done {
			skipped.Inc(ctx, 1)
		} else {
			emit(lines)
		}
		lines.Lines, size = nil, 0
		shard++
		return nil
	}
	for record, err := range records(ctx, file) {
		if err != nil {
			return fmt.Errorf("read %s after record %d: %w", file, number, err)
		}
		if size += len(record); lines.Lines != nil && size > maxGroup {
			if err := flush(); err != nil {
				return err
			}
			size = len(record)
		}
		number++
		if lines.Lines == nil {
			lines.First = number
		}
		lines.Lines = append(lines.Lines, record)
		if len(lines.Lines) == f.Options.Lines {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if lines.Lines != nil {
		return flush()
	}
	return nil
}

// existingOutputs returns the names of an input's files of results that are written.
func (f *splitFn) existingOutputs(ctx context.Context, file string) (map[string]bool, error) {
	pattern := infer.InFolder(f.Options.Out, stem(file)+"-*"+extension)
	fs, err := filesystem.New(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	names, err := fs.List(ctx, pattern)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", pattern, err)
	}
	there := map[string]bool{}
	for _, name := range names {
		there[path.Base(name)] = true
	}
	return there, nil
}

const extension = ".jsonl"

// Output is the name of an input's file of results.
func Output(out, file string, shard int) string {
	return infer.InFolder(out, fmt.Sprintf("%s-%06d%s", stem(file), shard, extension))
}

// stem is an input's name without folders, and without the endings that name its format.
func stem(file string) string {
	name := path.Base(strings.ReplaceAll(file, `\`, "/"))
	name = strings.TrimSuffix(name, ".gz")
	return strings.TrimSuffix(name, path.Ext(name))
}

// Distinct returns an error if two inputs would write files of the same names.
func Distinct(files []string) error {
	by := map[string]string{}
	for _, file := range files {
		if other, ok := by[stem(file)]; ok {
			return fmt.Errorf("%s and %s would write files of the same names: give them different names, or folders of results", other, file)
		}
		by[stem(file)] = file
	}
	return nil
}
