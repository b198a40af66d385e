// Evictionlab measures what a cache may forget before a model's answers suffer: accuracy against cache budget, for every
// eviction policy and cache type, on a file of questions.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/questions"
	"github.com/antigravity-go/antigravity/tensor"
)

const about = `
evictionlab measures the accuracy of answers against the budget of the cache, for eviction policies and cache types.

  go run ./examples/tools/evictionlab
  go run ./examples/tools/evictionlab -skills needle900 -policies sliding,snapkv,keydiff -kv-type f16,q8_0 -plot budget.svg
  go run ./examples/tools/evictionlab -during-prompt -json

A question's prompt is read in full, the cache is shrunk once to the budget, and the answer is generated greedily without
evicting again; right is what equals the expected answer. Of a skill with "_late" in its name the prompt ends before the last
question, which is read after the eviction, so that no policy can know what matters. With -during-prompt the policy keeps the
cache within the budget while the prompt is read and the answer is generated, so that the peak is bounded too.

Questions are lines of JSON: {"skill":"…","messages":[["user","…"],…],"answer":"…"}.`

func main() { cli.Main("evictionlab", run) }

// options are the command line's.
type options struct {
	model        cli.Model
	questions    string
	skills       []string
	n            int
	policies     []string
	budgets      []float64
	cells        []cell
	kv           []tensor.DType
	duringPrompt bool
	observation  int
	plot         string
	json         bool
}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	var skills, policies, budgets, kv string
	f := cli.NewFlags("evictionlab", about)
	f.Group("Experiment", func() {
		f.StringVar(&o.questions, "questions", questions.Pebble, "`path` of a .jsonl or .jsonl.gz file; pebble: the questions that are part of the program")
		f.StringVar(&skills, "skills", "needle300,needle_late300", "`names` of the skills to ask about, with commas between")
		f.IntVar(&o.n, "n", 30, "`number` of questions of each skill, the first of the file")
		f.StringVar(&policies, "policies", strings.Join(eviction.Names(), ","), "`names` of eviction policies, with commas between")
		f.StringVar(&budgets, "budgets", "0.5,0.25,0.1", "`parts` of the prompt that stay, with commas between")
		f.BoolVar(&o.duringPrompt, "during-prompt", false, "evict while the prompt is read and the answer is generated")
		f.IntVar(&o.observation, "observation", 16, "`number` of latest queries by which snapkv, pyramidkv and ada choose (expected takes 64)")
		f.StringVar(&kv, "kv-type", "f32", "`types` of the cached keys and values, with commas between: f32, f16, q8_0, q4_0")
	})
	f.Group("Output", func() {
		f.StringVar(&o.plot, "plot", "", "`path` of a .svg, .png or .html file to draw to")
		f.BoolVar(&o.json, "json", false, "print one JSON object a line: skill, policy, budget, accuracy, and what it took")
	})
	o.model.Flags(f)
	err := f.Parse(args, stdout)
	if err != nil {
		return nil, err
	}
	if o.n < 1 || o.observation < 1 {
		return nil, cli.Usagef("-n and -observation must be at least 1")
	}
	o.skills = fields(skills)
	o.policies = fields(policies)
	for _, field := range fields(budgets) {
		b, err := strconv.ParseFloat(field, 64)
		if err != nil || !(b > 0 && b <= 1) {
			return nil, cli.Usagef("-budgets: %q must be above 0 and at most 1", field)
		}
		o.budgets = append(o.budgets, b)
	}
	for _, field := range fields(kv) {
		d, err := tensor.ParseDType(field)
		if err != nil || !slices.Contains(cacheTypes, d) {
			return nil, cli.Usagef("-kv-type: %q must be one of f32, f16, q8_0, q4_0", field)
		}
		o.kv = append(o.kv, d)
	}
	if len(o.skills) == 0 || len(o.policies) == 0 || len(o.budgets) == 0 || len(o.kv) == 0 {
		return nil, cli.Usagef("-skills, -policies, -budgets and -kv-type need at least one value each")
	}
	if o.cells, err = o.choose(); err != nil {
		return nil, cli.Usagef("-policies: %v", err)
	}
	return o, checkPlot(o.plot)
}

// cacheTypes are what a cache can hold.
var cacheTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0}

// fields splits a list with commas; an element that occurs twice counts once.
func fields(s string) (list []string) {
	for field := range strings.SplitSeq(s, ",") {
		if field = strings.TrimSpace(field); field != "" && !slices.Contains(list, field) {
			list = append(list, field)
		}
	}
	return list
}

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	skills, err := questions.Read(o.questions, o.skills, o.n)
	if err != nil {
		return err
	}
	model, closeModel, err := o.model.Load(ctx, stderr)
	if err != nil {
		return err
	}
	defer closeModel()
	l := &lab{model: model, options: o, progress: progress(stderr)}
	var all []row
	for _, kv := range o.kv {
		for _, skill := range skills {
			rows, err := l.measure(ctx, kv, skill.Name, skill.Questions)
			if err != nil {
				return err
			}
			if o.json {
				err = printJSON(stdout, rows)
			}
			if err != nil {
				return err
			}
			all = append(all, rows...)
		}
	}
	if !o.json {
		if err := printTables(stdout, all); err != nil {
			return err
		}
	}
	if o.plot == "" {
		return nil
	}
	return drawFile(o.plot, all)
}

// progress returns a function that shows on a terminal how far a skill is.
func progress(stderr io.Writer) func(format string, a ...any) {
	if !cli.IsTerminal(stderr) {
		return func(string, ...any) {}
	}
	return func(format string, a ...any) { fmt.Fprintf(stderr, "\r\x1b[K"+format, a...) }
}

// printJSON prints a row a line.
func printJSON(w io.Writer, rows []row) error {
	e := json.NewEncoder(w)
	for _, r := range rows {
		if err := e.Encode(r); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	return nil
}
