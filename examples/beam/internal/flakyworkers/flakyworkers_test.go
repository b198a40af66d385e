package flakyworkers

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/stats"
)

func init() {
	register.DoFn3x1[context.Context, int64, func(int64), error](&slow{})
	register.DoFn2x1[[]byte, func(*int64) bool, error](&write{})
	register.Emitter1[int64]()
	register.Iter1[int64]()
	register.Function1x2(alone)
}

// The test binary is also the program of the children: beam.Init does not return in worker mode.
func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	os.Exit(m.Run())
}

// slow emits what it gets, after a while.
type slow struct {
	Pause     time.Duration
	Stuck     int64 // this one takes Stay more
	Stay      time.Duration
	Failing   int64 // this one always fails
	Deadly    int64 // this one ends the process
	processed beam.Counter
	sizes     beam.Distribution
}

func (s *slow) Setup() {
	s.processed, s.sizes = beam.NewCounter("flakyworkers", "processed"), beam.NewDistribution("flakyworkers", "sizes")
}

func (s *slow) ProcessElement(ctx context.Context, n int64, emit func(int64)) error {
	time.Sleep(s.Pause)
	switch n {
	case s.Stuck:
		time.Sleep(s.Stay)
	case s.Failing:
		return fmt.Errorf("%d is not to my taste", n)
	case s.Deadly:
		fmt.Fprintln(os.Stderr, "I cannot bear", n)
		os.Exit(3)
	}
	s.processed.Inc(ctx, 1)
	s.sizes.Update(ctx, n)
	emit(n)
	return nil
}

// write writes all numbers to a file, which is there at once or not at all.
type write struct{ Path string }

func (w *write) ProcessElement(_ []byte, numbers func(*int64) bool) error {
	file, err := os.CreateTemp(filepath.Dir(w.Path), "part")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	var n int64
	for numbers(&n) {
		fmt.Fprintln(file, n)
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), w.Path)
}

func alone(n int64) ([]byte, int64) { return nil, n }

// count is the pipeline of these tests: numbers up to n → Reshuffle → slow → a file of all, and one of their sum.
func count(n int64, fn *slow, folder string) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	numbers := make([]int64, n)
	for i := range numbers {
		numbers[i] = int64(i + 1)
	}
	slowed := beam.ParDo(s, fn, beam.Reshuffle(s, beam.CreateList(s, numbers)))
	for name, col := range map[string]beam.PCollection{"all": slowed, "sum": stats.Sum(s, slowed)} {
		beam.ParDo0(s, &write{filepath.Join(folder, name)}, beam.GroupByKey(s, beam.ParDo(s, alone, col)))
	}
	return p
}

// run runs the pipeline on prism and flaky workers.
func run(t *testing.T, p *beam.Pipeline, options Options) (beam.PipelineResult, Counts, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	result, counts, err := Run(ctx, p, options)
	t.Logf("%+v", counts)
	return result, counts, err
}

// processes starts children that are this test binary.
func processes() Starter { return Program(os.Args[0], "-test.run=^$") }

// read returns a file's numbers, sorted.
func read(t *testing.T, path string) []int64 {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var numbers []int64
	for lines := bufio.NewScanner(file); lines.Scan(); {
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

// exact checks the files of count.
func exact(t *testing.T, folder string, n int64) {
	t.Helper()
	all := read(t, filepath.Join(folder, "all"))
	if int64(len(all)) != n {
		t.Errorf("there are %d numbers, not %d", len(all), n)
	}
	for i, got := range all {
		if got != int64(i+1) {
			t.Fatalf("number %d of all, sorted, is %d: one was lost or doubled", i+1, got)
		}
	}
	if sum := read(t, filepath.Join(folder, "sum")); len(sum) != 1 || sum[0] != n*(n+1)/2 {
		t.Errorf("the sum is %d, not %d", sum, n*(n+1)/2)
	}
}

// metrics checks that each number was counted once, whatever attempts there were.
func metrics(t *testing.T, result beam.PipelineResult, n int64) {
	t.Helper()
	all := result.Metrics().AllMetrics()
	for _, c := range all.Counters() {
		if c.Name() == "processed" && c.Result() == n {
			for _, d := range all.Distributions() {
				if v := d.Result(); d.Name() == "sizes" && v.Count == n && v.Sum == n*(n+1)/2 && v.Min == 1 && v.Max == n {
					return
				}
			}
		}
	}
	t.Errorf("metrics are %v and %v", all.Counters(), all.Distributions())
}

func TestFaultsAreSurvived(t *testing.T) {
	const n = 10_000
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			folder := t.TempDir()
			result, counts, err := run(t, count(n, &slow{Pause: 100 * time.Microsecond}, folder), Options{
				Children: 4, Slots: 2, Start: processes(), Attempts: 4, Largest: 100, Faults: RandomFaults(seed, 0.15, 0.05, 20*time.Millisecond),
			})
			if err != nil {
				t.Fatal(err)
			}
			exact(t, folder, n)
			metrics(t, result, n)
			if counts.Failures < 5 || counts.Kills < 2 || counts.Died != counts.Kills || counts.Started != 4+counts.Kills {
				t.Errorf("too few faults to show anything: %+v", counts)
			}
		})
	}
}

func TestSplitsAreFollowed(t *testing.T) {
	const n = 200
	var all Counts
	for seed := range uint64(3) {
		folder := t.TempDir()
		fn := &slow{Pause: 5 * time.Millisecond, Stuck: 1, Stay: 700 * time.Millisecond}
		random := RandomFaults(seed, 0.4, 0.3, 0)
		faults := func() Fault {
			f := random()
			f.After = time.Minute // prism asks for a split once: children live until then, and are killed when they answer
			return f
		}
		_, counts, err := run(t, count(n, fn, folder), Options{Children: 2, Slots: 8, Start: processes(), Attempts: 10, Faults: faults})
		if err != nil {
			t.Fatal(err)
		}
		exact(t, folder, n)
		all.Splits += counts.Splits
		all.Kills += counts.Kills
		all.Failures += counts.Failures
	}
	if all.Splits < 2 || all.Kills < 2 || all.Failures < 2 {
		t.Errorf("too few splits and faults to show anything: %+v", all)
	}
}

func TestHarnessesInOneProcess(t *testing.T) {
	folder := t.TempDir()
	result, counts, err := run(t, count(1000, &slow{}, folder), Options{
		Children: 4, Slots: 2, Start: Harness, Attempts: 4, Largest: 10, Faults: RandomFaults(7, 0.2, 0, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	exact(t, folder, 1000)
	metrics(t, result, 1000)
	if counts.Failures == 0 || counts.Started != 4 {
		t.Errorf("want 4 harnesses and failures: %+v", counts)
	}
}

func TestWhatAlwaysFailsEndsTheJobWithItsCause(t *testing.T) {
	for name, c := range map[string]struct {
		fn    *slow
		start Starter
		want  string
	}{
		"error":      {&slow{Failing: 17}, processes(), "17 is not to my taste"},
		"death":      {&slow{Deadly: 17}, processes(), "I cannot bear 17"},
		"no program": {&slow{}, Program("/no/such/program"), "/no/such/program"},
		"no worker":  {&slow{}, Program(os.Args[0], "-no.such.flag"), "no.such.flag"},
	} {
		t.Run(name, func(t *testing.T) {
			_, counts, err := run(t, count(100, c.fn, t.TempDir()), Options{Children: 2, Slots: 2, Start: c.start, Attempts: 4, Largest: 10})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, which does not name the cause %q", err, c.want)
			}
			if name != "no program" && counts.Attempts < 4 {
				t.Errorf("fewer than 4 attempts: %+v", counts)
			}
		})
	}
}

func TestDeadChildrenAreNotReplaced(t *testing.T) {
	kill := func() Fault { return Fault{Kill: true} }
	_, counts, err := run(t, count(100, &slow{}, t.TempDir()), Options{
		Children: 2, Slots: 1, Start: processes(), Attempts: 4, NoReplacement: true, Faults: kill,
	})
	if err == nil || !strings.Contains(err.Error(), "no worker is left") || counts.Started != 2 {
		t.Errorf("%+v, error %v", counts, err)
	}
}

func TestNothingIsLeft(t *testing.T) {
	job := func() {
		if _, _, err := run(t, count(100, &slow{}, t.TempDir()), Options{
			Children: 3, Slots: 2, Start: processes(), Attempts: 4, Largest: 10, Faults: RandomFaults(1, 0.1, 0.1, time.Millisecond),
		}); err != nil {
			t.Fatal(err)
		}
	}
	job() // prism stays, once it has been started
	before := ours()
	job()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left := ours()
		if len(left) <= len(before) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines of the pool are left:\n%s", len(left), strings.Join(left, "\n\n"))
		}
	}
	if children := childrenOf(os.Getpid()); len(children) > 0 {
		t.Errorf("processes %v are left", children)
	}
}

// ours returns the stacks of the goroutines that run this package's code.
func ours() []string {
	buffer := make([]byte, 8<<20)
	var ours []string
	for _, stack := range strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
		if strings.Contains(stack, "internal/flakyworkers.") && !strings.Contains(stack, "testing.tRunner") {
			ours = append(ours, stack)
		}
	}
	return ours
}

// childrenOf returns the IDs of a process's children, on systems that have /proc.
func childrenOf(pid int) []string {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	return strings.Fields(string(children))
}
