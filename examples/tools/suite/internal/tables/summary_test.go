package tables

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// measured makes runs as the suite would write them.
type measured struct {
	random *rand.Rand
	began  time.Time
	noise  float64 // standard deviation, as a part
}

func newMeasured() *measured {
	return &measured{random: rand.New(rand.NewPCG(7, 8)), began: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), noise: 0.01}
}

// run makes a run that generates a token in about 2 ms times slower.
func (m *measured) run(c runs.Config, repetition int, slower float64) *runs.Run {
	m.began = m.began.Add(time.Minute)
	wander := func() float64 { return math.Exp(m.noise * m.random.NormFloat64()) }
	gap, begin := 0.002*slower*wander(), 0.1*wander()
	c.Prompt, c.Generate = 100, 10
	r := &runs.Run{
		Config: c, Repetition: repetition, Began: m.began, Seconds: 1, Load: begin, Reading: [2]float64{begin, begin + 0.05*wander()},
		Machine:    runs.Machine{Name: "bench", Processor: "A processor", Processors: 4, OS: "linux/arm64", Commit: "0123456789abcdef"},
		Yardsticks: [2]float64{10, 10}, Weights: 4e6,
		Memory:   []runs.Memory{{At: 0.1, Resident: int64(30e6 * wander()), Cache: 1e6}},
		Accuracy: []runs.Accuracy{{Skill: "needle", Asked: 40, Right: 30}},
	}
	for i := range 10 {
		r.Tokens = append(r.Tokens, r.Reading[1]+gap*float64(i+1))
	}
	return r
}

// keepRuns writes runs to a folder.
func keepRuns(t *testing.T, dir string, list ...*runs.Run) {
	t.Helper()
	for _, r := range list {
		if err := runs.Folder(dir).Write(r); err != nil {
			t.Fatal(err)
		}
	}
}

// config is one that tests vary.
func config(policy, kv string) runs.Config {
	c := runs.Config{Model: "pebble", Backend: "cpu", KV: kv, Policy: policy}
	if policy != "none" {
		c.Window = 128
	}
	return c
}

// printed runs a subcommand and returns what it printed.
func printed(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	subcommand := map[string]func(context.Context, []string, io.Writer, io.Writer) error{"summary": Summary, "compare": Compare}[args[0]]
	err := subcommand(t.Context(), args[1:], &out, &out)
	return out.String(), err
}

func TestSummary(t *testing.T) {
	dir, m := t.TempDir(), newMeasured()
	for repetition := range 3 {
		for _, policy := range []string{"none", "h2o"} {
			for _, kv := range []string{"f16", "q8_0"} {
				slower := 1.0
				if policy == "h2o" {
					slower = 2
				}
				keepRuns(t, dir, m.run(config(policy, kv), repetition+1, slower))
			}
		}
	}
	broken := m.run(config("sliding", "f16"), 1, 1)
	broken.Error, broken.Tokens = "killed by the system,\n\x1b[31mlikely for memory", nil
	keepRuns(t, dir, broken)
	tests := []struct {
		args []string
		want []string // in this order
		not  string
	}{
		{nil, []string{"All: model pebble, backend cpu, prompt 100, generated 10", "cache type", "policy", "window", "runs", "generating tokens/s", "f16", "h2o", "3", "f16", "none", "3", "q8_0",
			"Measured on bench, A processor, linux/arm64, 4 processors, commit 0123456789ab.", "1 failed", "policy sliding", "killed by the system, [31mlikely for memory"}, "ratio"},
		{[]string{"-by", "policy", "-metrics", "generating", "-ratio", "policy=none"}, []string{"policy", "cache type", "ratio", "h2o", "0.5", "none", "1.00"}, "first"},
		{[]string{"-markdown", "-where", "policy=none,kv=f16,kv=q8_0", "-metrics", "accuracy"}, []string{"policy none", "| cache type | runs | accuracy |\n|---|--:|--:|\n| f16 | 3 | 0.75 |\n| q8_0 | 3 | 0.75 |\n"}, "h2o"},
		{[]string{"-metrics", "all"}, []string{"weights MB", "evictions", "loading s"}, ""},
	}
	for _, test := range tests {
		got, err := printed(t, append([]string{"summary", dir}, test.args...)...)
		if err != nil {
			t.Errorf("%v: %v", test.args, err)
			continue
		}
		at := 0
		for _, want := range test.want {
			i := strings.Index(got[at:], want)
			if i < 0 {
				t.Errorf("%v: %q is not there, or not in its place:\n%s", test.args, want, got)
				break
			}
			at += i + len(want)
		}
		if test.not != "" && strings.Contains(got, test.not) {
			t.Errorf("%v: %q is there:\n%s", test.args, test.not, got)
		}
	}
}

func TestSummaryAsCSV(t *testing.T) {
	dir, m := t.TempDir(), newMeasured()
	c := config("none", "f16")
	c.Questions, c.Skills = `a "quoted", file`, "needle,sums"
	for repetition := range 3 {
		keepRuns(t, dir, m.run(c, repetition+1, 1))
	}
	got, err := printed(t, "summary", "-csv", dir, "-metrics", "generating,evictions", "-where", "skills=needle,sums")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
	if err != nil || len(rows) != 2 || !strings.Contains(got, "\r\n") {
		t.Fatalf("%v:\n%s", err, got)
	}
	fields := map[string]string{}
	for i, name := range rows[0] {
		fields[name] = rows[1][i]
	}
	for name, want := range map[string]string{"model": "pebble", "questions": c.Questions, "skills": c.Skills, "runs": "3", "failed": "0", "evictions": "0", "commit": "0123456789abcdef"} {
		if fields[name] != want {
			t.Errorf("%s: %q, want %q", name, fields[name], want)
		}
	}
	var median, low, high float64
	if _, err := fmt.Sscan(fields["generating"]+" "+fields["generating_low"]+" "+fields["generating_high"], &median, &low, &high); err != nil ||
		low > median || median > high || median < 450 || median > 550 {
		t.Errorf("generating %v (%v to %v): %v", median, low, high, err)
	}
}

func TestMistakesInSummaryAndCompare(t *testing.T) {
	dir, m := t.TempDir(), newMeasured()
	keepRuns(t, dir, m.run(config("none", "f16"), 1, 1))
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"summary"}, "suite summary DIR"},
		{[]string{"summary", dir, dir}, "suite summary DIR"},
		{[]string{"summary", dir, "-metrics", "speed"}, "there are generating, reading"},
		{[]string{"summary", dir, "-by", "colour"}, "there are target, program"},
		{[]string{"summary", dir, "-where", "colour=red"}, "there are target, program"},
		{[]string{"summary", dir, "-where", "kv"}, "axis=value"},
		{[]string{"summary", dir, "-where", "kv=q4_0"}, "there are f16"},
		{[]string{"summary", dir, "-ratio", "kv=f16,policy=none"}, "one axis"},
		{[]string{"summary", dir, "-ratio", "kv=q4_0"}, "there are f16"},
		{[]string{"summary", dir, "-markdown", "-csv"}, "one form"},
		{[]string{"compare", dir}, "-a program=base"},
		{[]string{"compare", dir, dir, dir}, "suite compare A B"},
		{[]string{"compare", dir, dir, "-threshold", "-1"}, "-threshold"},
		{[]string{"compare", dir, "-a", "kv=f16", "-b", "kv=q8_0"}, "there are f16"},
		{[]string{"compare", dir, t.TempDir()}, "no runs"},
		{[]string{"compare", dir, dir}, "nothing could be told"},
	}
	for _, test := range tests {
		_, err := printed(t, test.args...)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want an error with %q", test.args[1:], err, test.want)
			continue
		}
		var status interface{ ExitStatus() int }
		if !errors.As(err, &status) || status.ExitStatus() != 2 {
			t.Errorf("%v: %v: the exit status is not 2", test.args[1:], err)
		}
	}
	for _, args := range [][]string{{"summary", "-h"}, {"compare", dir, "-h"}} {
		if got, err := printed(t, args...); !errors.Is(err, flag.ErrHelp) || !strings.Contains(got, "go run ./examples/tools/suite "+args[0]) {
			t.Errorf("%v: %v:\n%s", args, err, got)
		}
	}
	var usage *cli.UsageError
	if _, err := printed(t, "summary", t.TempDir()); err == nil || errors.As(err, &usage) {
		t.Errorf("an empty folder: %v", err)
	}
}

// Names come from files that anybody may have written.
func TestNamesAreNoFormulasAndNoMarkup(t *testing.T) {
	for text, want := range map[string]string{
		"=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", "@x": "'@x", "+x": "'+x", "-x": "'-x", "-5": "-5", "+5e3": "+5e3", "": "", "a=b": "a=b", "\x1b[2J": "\uFFFD[2J", "\t=x": "'\t=x",
	} {
		if got := plainField(text); got != want {
			t.Errorf("%q became %q in CSV, want %q", text, got, want)
		}
	}
	if got, want := escapeMarkdown(`a\|b <img> &lt; [x]`), `a\\\|b &lt;img&gt; &amp;lt; \[x]`; got != want {
		t.Errorf("in Markdown: %s, want %s", got, want)
	}
}
