package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// files returns the runs' files of a folder with what they hold. There must be no others of a run.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(entry.Name(), ".run.json") {
			found[entry.Name()] = string(text)
		}
	}
	return found
}

// TestNothingIsLostOrDoubled kills suites, each at its nth run, and goes on with the same command. In the end there are all runs that an
// undisturbed suite measures, and finished runs were not measured twice.
func TestNothingIsLostOrDoubled(t *testing.T) {
	args := []string{"-prompts", "1,2,3", "-kv-type", "f16,q8_0", "-r", "2", "-r-max", "4", "-spread", "0.02"}
	peaceful := t.TempDir()
	if _, said, err := suiteOf(t, append(args, "-out", peaceful)...); err != nil {
		t.Fatal(err, said)
	}
	want := slices.Sorted(maps.Keys(files(t, peaceful)))
	if n := len(want); n <= 12 || n >= 24 {
		t.Fatalf("%d runs: the spread should ask for some more than 12 but not for all", n)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []int{2, 3, 7} { // from one kill to the next: the first of two runs is kept, the other is lost
		folder, begun := t.TempDir(), filepath.Join(t.TempDir(), "begun")
		t.Setenv(logTo, begun)
		before, kills := map[string]string{}, 0
		for {
			text, _ := os.ReadFile(begun)
			suite := exec.CommandContext(t.Context(), self, append(args, "-out", folder)...)
			suite.Env = append(os.Environ(), actAs+"="+imposter, killAt+"="+itoa(strings.Count(string(text), "\n")+step))
			said, err := suite.CombinedOutput()
			after := files(t, folder)
			for name, text := range before {
				if after[name] != text {
					t.Fatalf("killed each %d runs: %s was measured and is not what it was", step, name)
				}
			}
			before = after
			if err == nil {
				break
			}
			if suite.ProcessState.ExitCode() > 0 {
				t.Fatalf("%v: %s", err, said)
			}
			if kills++; kills > 2*len(want) {
				t.Fatal("there is no end of it")
			}
		}
		if got := slices.Sorted(maps.Keys(before)); !slices.Equal(got, want) {
			t.Errorf("killed each %d runs: %d runs %v, want %d %v", step, len(got), got, len(want), want)
		}
		text, err := os.ReadFile(begun)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > len(want)+kills {
			t.Errorf("killed %d times, %d runs of %d began: a kill costs at most the run that is under way", kills, n, len(want))
		}
		if list, err := runs.Folder(folder).All(); err != nil || len(list) != len(want) {
			t.Errorf("%d runs are read, error %v", len(list), err)
		}
	}
}

func itoa(n int) string { text, _ := json.Marshal(n); return string(text) }

// TestReal measures with Pebble, is killed with SIGKILL in the middle, and goes on.
func TestReal(t *testing.T) {
	folder := t.TempDir()
	args := []string{"-prompts", "16", "-generate", "8", "-kv-type", "f16,q8_0", "-r", "2", "-r-max", "2", "-threads", "1", "-out", folder, "-json"}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	suite := exec.CommandContext(t.Context(), self, args...)
	suite.Env = append(os.Environ(), actAs+"="+realSuite)
	stdout, err := suite.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := suite.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for range 2 {
		if !lines.Scan() {
			t.Fatal("the suite ended before its second run")
		}
	}
	suite.Process.Kill()
	io.Copy(io.Discard, stdout)
	suite.Wait()
	before := files(t, folder)
	if n := len(before); n < 2 || n > 4 {
		t.Fatalf("%d runs after two were told", n)
	}
	t.Setenv(actAs, realSuite)
	var out, said bytes.Buffer
	if err := run(t.Context(), args, nil, &out, &said); err != nil {
		t.Fatal(err, said.String())
	}
	after := files(t, folder)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s is not what it was", name)
		}
	}
	list, err := runs.Folder(folder).All()
	if err != nil || len(list) != 4 {
		t.Fatalf("%d runs, error %v", len(list), err)
	}
	for _, r := range list {
		if r.Error != "" || len(r.Tokens) != 8 || r.Machine.Go == "" {
			t.Errorf("%+v", r)
		}
		if s := stampOf(t.Context(), ""); s.Commit != "" && r.Machine.Commit == "" {
			t.Error("git knows the commit, and the run does not")
		}
	}
	for _, name := range []string{matrixName, logName} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, error %v", name, len(text), err)
		}
	}
}

// TestFailures starts children that fail in each way that they can.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		prompt int
		want   string // the error in the run
	}{
		{"an error", failing, "^warning: something\nsuite: the model is broken$"},
		{"killed", killed, "killed by the system, likely for memory"},
		{"no answer that can be read", garbled, "did not answer with a run"},
		{"two answers", doubled, "more than a run"},
		{"another's answer", another, "another configuration"},
		{"times that go backwards", unbelievable, "do not go backwards"},
		{"an answer without an end", enormous, "no more than"},
		{"no reason", silent, "ended with status 1"},
		{"a panic", panicking, "ended with status 2: panic: a bug"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			_, said, err := suiteOf(t, "-prompts", "1,"+itoa(c.prompt), "-r", "2", "-r-max", "2", "-out", folder)
			if err == nil || !strings.Contains(err.Error(), "1 configuration failed") {
				t.Errorf("error %v", err)
			}
			if strings.Count(said, "failed: ") != 2 {
				t.Errorf("what fails is tried twice: %s", said)
			}
			list, err := runs.Folder(folder).All()
			if err != nil || len(list) != 3 {
				t.Fatalf("%d runs, error %v: want the two that work and one that says what is wrong", len(list), err)
			}
			for _, r := range list {
				if r.Config.Prompt == 1 {
					if r.Error != "" {
						t.Errorf("beside it: %s", r.Error)
					}
				} else if !regexp.MustCompile(c.want).MatchString(r.Error) {
					t.Errorf("%q, want %q", r.Error, c.want)
				}
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	folder := t.TempDir()
	_, said, err := suiteOf(t, "-prompts", itoa(hanging), "-out", folder, "-timeout", "50ms")
	if err == nil || !strings.Contains(said, "took longer than 50ms (-timeout)") {
		t.Errorf("error %v: %s", err, said)
	}
}

// TestFailedRunsAreMeasuredAgain puts the file of a run that failed in a folder, and one of a run that is damaged.
func TestFailedRunsAreMeasuredAgain(t *testing.T) {
	folder := t.TempDir()
	args := []string{"-prompts", "1,2", "-r", "1", "-r-max", "1", "-out", folder}
	if _, _, err := suiteOf(t, args...); err != nil {
		t.Fatal(err)
	}
	want := files(t, folder)
	list, err := runs.Folder(folder).All()
	if err != nil {
		t.Fatal(err)
	}
	failed := *list[0]
	if failed.Machine.Commit != "" { // git knows it
		other := *list[1]
		other.Machine.Commit = "0123456789"
		if err := runs.Folder(folder).Write(&other); err != nil {
			t.Fatal(err)
		}
		if _, said, err := suiteOf(t, args...); err != nil || !strings.Contains(said, "some of them are of other commits") {
			t.Errorf("error %v: %s", err, said)
		}
	}
	failed.Error = "the device was gone"
	if err := runs.Folder(folder).Write(&failed); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(folder, list[1].Config.ID()+"-001.run.json")
	if err := os.WriteFile(damaged, []byte(`{"config":`), 0o666); err != nil {
		t.Fatal(err)
	}
	out, said, err := suiteOf(t, args...)
	if err != nil || !strings.Contains(out, "2 runs are in "+folder+", 2 measured now") || !strings.Contains(said, "cannot be used") {
		t.Errorf("%s%s error %v", out, said, err)
	}
	if got := files(t, folder); !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		t.Errorf("%v, want %v", got, want)
	}
	if list, err := runs.Folder(folder).All(); err != nil || list[0].Error != "" || list[1].Error != "" {
		t.Errorf("error %v, or one of the runs still has one", err)
	}
	if out, _, _ := suiteOf(t, args...); !strings.Contains(out, "0 measured now") {
		t.Errorf("a third time: %s", out)
	}
	if out, _, _ := suiteOf(t, append(args, "-again")...); !strings.Contains(out, "2 measured now") {
		t.Errorf("with -again: %s", out)
	}
}

// TestInterrupted interrupts a suite in a run that would never end.
func TestInterrupted(t *testing.T) {
	for _, prompt := range []int{hanging, interruptedRun} {
		folder := t.TempDir()
		begun := filepath.Join(t.TempDir(), "begun")
		t.Setenv(logTo, begun)
		t.Setenv(actAs, imposter)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for { // until the run is under way
				if _, err := os.Stat(begun); err == nil {
					cancel()
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		var said bytes.Buffer
		err := run(ctx, []string{"-prompts", itoa(prompt), "-out", folder}, nil, new(bytes.Buffer), &said)
		if !errors.Is(err, context.Canceled) || !strings.Contains(said.String(), "the same command goes on from there") {
			t.Errorf("error %v: %s", err, said.String())
		}
		if n := len(files(t, folder)); n != 0 {
			t.Errorf("%d files of a run that was interrupted", n)
		}
	}
}

// A folder that others may write to can hold links that lead elsewhere.
func TestNothingIsWrittenThroughLinks(t *testing.T) {
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{lockName, logName, matrixName} {
		folder := t.TempDir()
		if err := os.Symlink(precious, filepath.Join(folder, name)); err != nil {
			t.Skip(err)
		}
		if _, _, err := suiteOf(t, "-out", folder); err == nil || !strings.Contains(err.Error(), name+" is to be a file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestOneSuiteInAFolder(t *testing.T) {
	folder := t.TempDir()
	first, err := openResults(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := suiteOf(t, "-out", folder); err == nil || !strings.Contains(err.Error(), "another suite is at work in "+folder) {
		t.Errorf("beside another: error %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := openResults(folder)
	if err != nil {
		t.Fatalf("after it: %v", err)
	}
	second.Close()
}

// TestPrograms measures with two programs in turn, and answers come under their labels.
func TestPrograms(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if _, said, err := suiteOf(t, "-programs", "base="+self+",new=", "-r", "2", "-r-max", "2", "-out", folder); err != nil {
		t.Fatal(err, said)
	}
	list, err := runs.Folder(folder).All()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range list {
		count[r.Config.Program]++
	}
	if len(list) != 4 || count["base"] != 2 || count["new"] != 2 {
		t.Errorf("%v", count)
	}
}

func TestList(t *testing.T) {
	out, _, err := suiteOf(t, "-matrix", "short", "-list")
	if err != nil || strings.Count(out, "\n") != 1+24+2 || !strings.Contains(out, "24 runs, each 3 to 10 times") {
		t.Errorf("%s error %v", out, err)
	}
	out, _, err = suiteOf(t, "-matrix", "short", "-list", "-json")
	if err != nil || strings.Count(out, "\n") != 24 || !strings.HasPrefix(out, "{") {
		t.Errorf("%s error %v", out, err)
	}
	if out, _, err := suiteOf(t, "-list"); err != nil || !strings.Contains(out, "pebble") {
		t.Errorf("a single run: %s error %v", out, err)
	}
}

func TestMistakes(t *testing.T) {
	for _, args := range [][]string{
		{"unknown"}, {"-asked", "5"}, {"-r", "0"}, {"-r", "5", "-r-max", "4"}, {"-r", "1000"}, {"-spread", "-1"}, {"-spread", "NaN"}, {"-pause", "-1s"}, {"-battery", "101"},
		{"-out", ""}, {"-models", "missing.gguf", "-out", t.TempDir()}, {"-questions", "missing.jsonl", "-out", t.TempDir()},
		{"-backends", "abacus", "-out", t.TempDir()}, {"-matrix", "missing"}, {"-kv-type", "q9"}, {"-clean"}, {"child", "x"}, {"conditions", "x"},
		{"stray"}, {"-list", "stray"},
	} {
		var usage *cli.UsageError
		if _, _, err := suiteOf(t, args...); !errors.As(err, &usage) {
			t.Errorf("%v: error %v, want a usage error", args, err)
		}
	}
	if _, _, err := suiteOf(t, "-target", "moon"); err == nil || !strings.Contains(err.Error(), "ssh:HOST") {
		t.Errorf("-target moon: %v", err)
	}
}

// TestChildEndsWithItsSuite closes the pipe that shows a child that its suite lives.
func TestChildEndsWithItsSuite(t *testing.T) {
	r, w := io.Pipe()
	q := request{Config: runs.Config{Model: "pebble", Backend: "cpu", KV: "f16", Policy: "none", Prompt: 16, Generate: 1900}, Repetition: 1, Watched: true, Progress: true}
	said := &childLog{progress: func(string) { w.Close() }} // as soon as it has begun
	go json.NewEncoder(w).Encode(q)
	if err := child(t.Context(), nil, r, io.Discard, said); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestChildIsStrict(t *testing.T) {
	for _, text := range []string{``, `{}`, `{"config": {"model": "pebble", "colour": "red"}, "repetition": 1}`, `{"config": 1}`} {
		if err := child(t.Context(), nil, strings.NewReader(text), io.Discard, io.Discard); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestStamp(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	info, _ := debug.ReadBuildInfo()
	unknown := exec.Command("git", "-C", "../../..", "rev-parse", "--resolve-git-dir", ".git").Run() != nil || revision(info) != ""
	if s := stampOf(t.Context(), ""); s.Commit == "" != unknown || !unknown && (!regexp.MustCompile(`^[0-9a-f]{40,64}\+?$`).MatchString(s.Commit) || s.Committed.IsZero()) {
		t.Errorf("%+v", s)
	}
	if s := stampOf(t.Context(), t.TempDir()); s.Commit != "" {
		t.Errorf("of a folder without a checkout: %+v", s)
	}
}

// TestUnknownCommitIsTold starts the suite outside of any checkout, and stops it before it measures.
func TestUnknownCommitIsTold(t *testing.T) {
	if info, ok := debug.ReadBuildInfo(); !ok || revision(info) != "" {
		t.Skip("this program knows its commit")
	}
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	if err := run(ctx, []string{"-r", "1", "-generate", "1"}, nil, io.Discard, &stderr); !errors.Is(err, context.Canceled) || !strings.Contains(stderr.String(), unknownCommit) {
		t.Errorf("%v, and it said %q", err, &stderr)
	}
}
