// Maskbench runs MaskBench, the benchmark of constrained decoding, over package constrain.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
)

func main() { cli.Main("maskbench", run) }

// run reads the vocabulary, prepares the engine once, examines each schema of the file, and sums the results up. A line of the file is one
// schema with its documents. With -json its result is one line, too:
//
//	{"id": "a", "schema": {"enum": ["one", "two"]}, "tests": [{"valid": true, "data": "one"}, {"valid": false, "data": "on"}]}
//	{"id":"a","verdict":"pass","compile_us":310.5,"mask_us":[4.1,3.9,…]}
//
// -n 2 of a file of 6 schemas runs two of them, spread evenly. A schema that takes longer than 10 seconds is named on stderr.

const about = `
maskbench makes a constraint of each JSON Schema of a file in MaskBench's form, and lets the constraint judge documents.

  go run ./examples/tools/maskbench maskbench.jsonl.gz
  go run ./examples/tools/maskbench maskbench.jsonl.gz -n 500 -forced -check 40
  go run ./examples/tools/maskbench maskbench.jsonl.gz -id Github_easy_1 -cpuprofile cpu.out
  go run ./examples/tools/maskbench maskbench.jsonl.gz -json > ours.jsonl
  go run ./examples/tools/maskbench maskbench.jsonl.gz -compare xgrammar=xgrammar.jsonl

Each line of the file is {"id": …, "schema": …, "tests": [{"valid": …, "data": …}]}. A document is written as Python's
json.dumps(data, ensure_ascii=False) does and cut into tokens. For each token the set of allowed tokens is computed and the token is
looked up in it and accepted; this is the time of a mask. A document is accepted where all of its tokens are allowed and the end
after them. A schema passes where a constraint can be made of it and all documents get the right verdict.

All runs on one processor; garbage collection is in the times. What a vocabulary needs once is prepared before, and its time is told.

The exit status is 1 where a document is accepted that must be refused, where compiling fails with an error that is no
UnsupportedError, and where a matcher contradicts itself.`

// options are the command line's.
type options struct {
	file       string
	tokenizer  string
	most       int
	ids        []string
	forced     bool
	memory     bool
	check      int
	thread     bool
	json       bool
	tokens     bool
	compare    []string
	cpuprofile string
	list       int
}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	f := cli.NewFlags("maskbench", about)
	f.Group("What is run", func() {
		f.StringVar(&o.file, "file", "", "`path` of the schemas and documents, which may also be the first argument")
		f.StringVar(&o.tokenizer, "tokenizer", "", "`path` of the vocabulary: a tokenizer.json, also compressed with gzip, a folder that holds one, or a .gguf "+
			"file; or a name as hf:owner/name/tokenizer.json; none: Llama 3's, of the repository's test data")
		f.IntVar(&o.most, "n", 0, "most `schemas` to run, spread evenly over the file; 0: all")
		f.Strings(&o.ids, "id", "run the schema with this `id` alone; may be repeated")
	})
	f.Group("What is measured", func() {
		f.BoolVar(&o.forced, "forced", false, "count the tokens of valid documents that have no alternative")
		f.BoolVar(&o.memory, "memory", false, "measure the memory of each constraint; slow: it collects garbage for each")
		f.IntVar(&o.check, "check", 0, "check at each position that Allowed and Accept agree, for so many `tokens`; 0: do not")
		f.BoolVar(&o.thread, "thread-time", false, "leave out of the times what the processor did for others, garbage collection too; for a machine that is shared")
		f.StringVar(&o.cpuprofile, "cpuprofile", "", "write a profile of the processor's time to `path`")
	})
	f.Group("What is told", func() {
		f.BoolVar(&o.json, "json", false, "print one JSON object for each schema, and no table")
		f.BoolVar(&o.tokens, "tokens", false, "run nothing; print the schemas with the tokens of their documents, one JSON object a line, for other engines")
		f.IntVar(&o.list, "list", 20, "most `schemas` that are listed of those with wrong verdicts, most keywords of those not supported")
		f.Strings(&o.compare, "compare", "put the results of another engine beside: `NAME=PATH` of what -json printed, or a program that writes the same; may be repeated")
	})
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		o.file, args = args[0], args[1:]
	}
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	if o.file == "" {
		return nil, cli.Usagef("the file of schemas is missing")
	}
	if o.most < 0 || o.check < 0 || o.list < 0 {
		return nil, cli.Usagef("-n, -check and -list are 0 or more")
	}
	if _, ok := threadTime(); o.thread && !ok {
		return nil, cli.Usagef("-thread-time: this system does not tell it")
	}
	for _, c := range o.compare {
		if name, path, ok := strings.Cut(c, "="); !ok || name == "" || path == "" {
			return nil, cli.Usagef("-compare %q is not NAME=PATH", c)
		}
	}
	return o, nil
}

// llama3 is the usual vocabulary's path in the repository.
const llama3 = "internal/fixture/data/tokenizer/llama3-tokenizer.json.gz"

// usual returns the path of the usual vocabulary. It looks for the repository upwards from the working directory, and from the program's
// folder.
func usual() (string, error) {
	var from []string
	if folder, err := os.Getwd(); err == nil {
		from = append(from, folder)
	}
	if program, err := os.Executable(); err == nil {
		from = append(from, filepath.Dir(program))
	}
	for _, folder := range from {
		for below := ""; folder != below; below, folder = folder, filepath.Dir(folder) {
			path := filepath.Join(folder, filepath.FromSlash(llama3))
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
	}
	return "", cli.Usagef("the usual vocabulary, %s of the repository, is neither above %s: -tokenizer says which other", llama3, strings.Join(from, " nor above "))
}

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	tokenizer := o.tokenizer
	if tokenizer == "" {
		tokenizer, err = usual()
	} else {
		tokenizer, err = cli.Fetch(ctx, tokenizer, stderr)
	}
	if err != nil {
		return err
	}
	e := newExaminer(func() (*llama.Tokenizer, error) { return loadTokenizer(tokenizer) })
	e.forced, e.memory, e.check, e.thread = o.forced, o.memory, o.check, o.thread
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	warmed, err := e.warmUp()
	if err != nil {
		return err
	}
	if o.tokens {
		return o.printTokens(ctx, e.tokenizer, stdout)
	}
	if o.cpuprofile != "" {
		f, err := os.Create(o.cpuprofile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	ours := newSummary("ours")
	if err := o.examine(ctx, e, ours, stdout, stderr); err != nil {
		return err
	}
	if !o.json {
		if err := o.report(ours, warmed, stdout); err != nil {
			return err
		}
	}
	return ours.wrong()
}

// patience is how long a schema takes before its id is shown: whoever waits sees which one it is.
const patience = 10 * time.Second

// chosen ranges over the schemas that the options choose.
func (o *options) chosen(ctx context.Context) iter.Seq2[*schema, error] {
	most := o.most
	if len(o.ids) > 0 {
		most = 0
	}
	return func(yield func(*schema, error) bool) {
		for s, err := range schemas(o.file, most) {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && len(o.ids) > 0 && !slices.Contains(o.ids, s.ID) {
				continue
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// printTokens prints the chosen schemas, as text, with the tokens of their documents.
func (o *options) printTokens(ctx context.Context, t *llama.Tokenizer, stdout io.Writer) error {
	type test struct {
		Valid  bool          `json:"valid"`
		Tokens []llama.Token `json:"tokens"`
	}
	type line struct {
		ID     string `json:"id"`
		Schema string `json:"schema"`
		Tests  []test `json:"tests"`
	}
	for s, err := range o.chosen(ctx) {
		if err != nil {
			return err
		}
		l := line{s.ID, string(s.Schema), []test{}}
		for _, d := range s.Tests {
			text, err := appendPython(nil, d.Data)
			if err != nil {
				return fmt.Errorf("%s: %w", s.ID, err)
			}
			l.Tests = append(l.Tests, test{d.Valid, t.Encode(string(text))})
		}
		if err := cli.PrintJSON(stdout, l); err != nil {
			return err
		}
	}
	return nil
}

// examine runs the chosen schemas.
func (o *options) examine(ctx context.Context, e *examiner, sum *summary, stdout, stderr io.Writer) error {
	for s, err := range o.chosen(ctx) {
		if err != nil {
			return err
		}
		slow := time.AfterFunc(patience, func() { fmt.Fprintf(stderr, "%s takes longer than %v\n", s.ID, patience) })
		r, err := e.examine(s)
		slow.Stop()
		if err != nil {
			return err
		}
		sum.add(r)
		if o.json {
			if err := cli.PrintJSON(stdout, r); err != nil {
				return err
			}
		}
	}
	if sum.schemas == 0 {
		return errors.New("no schema was run: the file is empty, or has none of the ids")
	}
	return nil
}
