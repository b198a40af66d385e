package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// The test binary is also the suite's program: as itself, and with children that only pretend to measure, fast and as a test wants.
const (
	actAs  = "SUITE_TEST_ACT_AS"  // realSuite or imposter; anything else: the tests
	logTo  = "SUITE_TEST_LOG"     // a file to which each imposter adds a line when it begins
	killAt = "SUITE_TEST_KILL_AT" // the imposter that finds this many lines there kills the suite that started it

	realSuite = "suite"
	imposter  = "imposter"
)

func TestMain(m *testing.M) {
	switch as := os.Getenv(actAs); {
	case as == imposter && len(os.Args) == 2 && os.Args[1] == "child":
		if err := pretend(); err != nil {
			fmt.Fprintf(os.Stderr, "suite: %v\n", err)
			os.Exit(1)
		}
	case as == imposter || as == realSuite:
		main()
	default:
		os.Exit(m.Run())
	}
}

// What the prompt's length makes an imposter do. Others are measured.
const (
	failing = 1001 + iota
	killed
	garbled
	doubled
	silent
	panicking
	hanging
	interruptedRun
	another
	unbelievable
	enormous
)

// pretend answers a request without measuring.
func pretend() error {
	stdin := json.NewDecoder(os.Stdin)
	stdin.DisallowUnknownFields()
	var q request
	if err := stdin.Decode(&q); err != nil {
		return err
	}
	begun, err := begin(q.Config.ID(), q.Repetition)
	if err != nil {
		return err
	}
	self, _ := os.FindProcess(os.Getpid())
	switch q.Config.Prompt {
	case failing:
		fmt.Fprintln(os.Stderr, "progress: reading 1/2\nwarning: something\n\nsuite: the model is broken")
		os.Exit(1)
	case killed:
		self.Kill()
		select {}
	case garbled:
		fmt.Println("hello")
		return nil
	case doubled:
		fmt.Println(`{"repetition": 1} {"repetition": 1}`)
		return nil
	case silent:
		os.Exit(1)
	case panicking:
		panic("a bug")
	case hanging:
		select {}
	case interruptedRun:
		os.Exit(130)
	case another:
		q.Config.Model = "flint"
	case enormous:
		fmt.Printf(`{"repetition": 1, "evictions": [{}%s]}`, strings.Repeat(",{}", 1<<20))
		return nil
	}
	// The rate is decided by the run, and the same whenever it is measured.
	hash := fnv.New32a()
	fmt.Fprint(hash, q.Config.ID(), q.Repetition)
	gap := 0.01 * (1 + float64(hash.Sum32()%100)/1000)
	r := &runs.Run{Config: q.Config, Repetition: q.Repetition, Began: time.Now().UTC(), Tokens: []float64{1, 1 + gap}, Seconds: 1}
	r.Machine.Commit = q.Commit
	if q.Config.Prompt == unbelievable {
		r.Tokens = []float64{1, 0}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if at, _ := strconv.Atoi(os.Getenv(killAt)); at > 0 && at == begun {
		parent, err := os.FindProcess(os.Getppid())
		if err != nil {
			return err
		}
		switch at % 3 { // before the answer, in the middle of it, after it
		case 1:
			os.Stdout.Write(text[:len(text)/2])
		case 2:
			os.Stdout.Write(text)
		}
		return parent.Kill()
	}
	_, err = os.Stdout.Write(text)
	return err
}

// begin writes down that a run begins, and returns how many have.
func begin(id string, repetition int) (int, error) {
	path := os.Getenv(logTo)
	if path == "" {
		return 0, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, id, repetition); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(path)
	return strings.Count(string(text), "\n"), err
}

// suiteOf runs a suite in this process, with imposters as children, and returns what it prints.
func suiteOf(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	t.Setenv(actAs, imposter)
	var out, said bytes.Buffer
	err = run(t.Context(), args, nil, &out, &said)
	return out.String(), said.String(), err
}

var _ cli.Program = run
