package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/dashboard/internal/sample"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// newTestStore is a store with a clock that a test moves.
func newTestStore(t *testing.T, folders ...string) (s *Store, wait func()) {
	t.Helper()
	s, err := NewStore(folders...)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s.now = func() time.Time { return now }
	return s, func() { now = now.Add(fresh) }
}

// overview is a store's overview, read back as the page reads it, in so far as tests look at it.
func overview(t *testing.T, s *Store) *Overview {
	t.Helper()
	encoded, err := s.Overview()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(encoded.JSON, "<>&") {
		t.Error("the JSON has characters that mean something in HTML")
	}
	o := &Overview{}
	if err := json.Unmarshal(encoded.JSON, o); err != nil {
		t.Fatal(err)
	}
	if len(o.Runs) != encoded.Runs {
		t.Errorf("%d runs, told are %d", len(o.Runs), encoded.Runs)
	}
	return o
}

func write(t *testing.T, folder string, o sample.Options) {
	t.Helper()
	if _, err := sample.Write(folder, o); err != nil {
		t.Fatal(err)
	}
}

func TestOverviewIsConsistent(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, sample.Options{Small: true, Commits: 2, Repetitions: 3})
	s, _ := newTestStore(t, folder)
	o := overview(t, s)
	if len(o.Commits) != 2 || len(o.Configs) != 24 || len(o.Machines) != 1 || len(o.Notices) != 0 || len(o.Axes) != len(runs.Axes) {
		t.Errorf("%d commits, %d configs, %d machines, notices %v, %d axes", len(o.Commits), len(o.Configs), len(o.Machines), o.Notices, len(o.Axes))
	}
	keys := s.Keys()
	seen := map[string]bool{}
	for i, r := range o.Runs {
		if r.Key != keys[i] || seen[r.Key] || !strings.HasPrefix(r.Key, filepath.Base(folder)+"/") {
			t.Errorf("run %d has the key %q; Keys says %q", i, r.Key, keys[i])
		}
		seen[r.Key] = true
		if i > 0 && r.Began.Before(o.Runs[i-1].Began) {
			t.Errorf("run %d began before the one before it", i)
		}
	}
	inCells := 0
	for _, c := range o.Cells {
		inCells += len(c.Runs)
		for m := range runs.Metrics {
			var values []float64
			for _, i := range c.Runs {
				r := o.Runs[i]
				if r.Config != c.Config || r.Commit != c.Commit || r.Machine != c.Machine {
					t.Fatalf("run %d is in a cell of another kind", i)
				}
				values = append(values, float64(r.Values[m]))
			}
			if want := statistics.IntervalOf(values); c.Metrics[m] == nil || math.Abs(float64(c.Metrics[m][1])-want.Median) > 1e-5*math.Abs(want.Median) {
				t.Errorf("%s: the median is %v, want %v", runs.Metrics[m].Name, c.Metrics[m], want.Median)
			}
		}
		if len(c.Gaps) != len(o.Gaps) || !slices.IsSorted(c.Gaps) {
			t.Errorf("the gaps' bounds are %v", c.Gaps)
		}
	}
	if inCells != len(o.Runs) {
		t.Errorf("%d of %d runs are in cells", inCells, len(o.Runs))
	}
}

// TestUnknownCommit reads runs of an unknown commit, and others.
func TestUnknownCommit(t *testing.T) {
	known, unknown := t.TempDir(), t.TempDir()
	write(t, known, sample.Options{Small: true})
	write(t, unknown, sample.Options{Small: true, Unknown: true})
	for want, folders := range map[int][]string{0: {known}, 1: {known, unknown}} {
		s, _ := newTestStore(t, folders...)
		count := 0
		for _, c := range overview(t, s).Commits {
			if c.Unknown {
				count++
			}
		}
		if count != want {
			t.Errorf("%d unknown commits, want %d", count, want)
		}
	}
}

func TestStoreFollowsItsFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "results")
	s, wait := newTestStore(t, folder)
	if o := overview(t, s); len(o.Runs) != 0 || len(o.Notices) != 1 || !strings.Contains(o.Notices[0].Text, "does not exist yet") {
		t.Fatalf("of no folder: %+v", o)
	}
	r := sample.Run(runs.Config{Model: "pebble", Policy: "none", Prompt: 64, Generate: 8}, 1, 0, time.Unix(1e9, 0).UTC())
	keep := func() {
		t.Helper()
		if err := runs.Folder(folder).Write(r); err != nil {
			t.Fatal(err)
		}
	}
	keep()
	if o := overview(t, s); len(o.Runs) != 0 {
		t.Error("within a second the folder was looked at twice")
	}
	wait()
	if o := overview(t, s); len(o.Runs) != 1 || len(o.Notices) != 0 {
		t.Fatalf("of one run: %+v", o)
	}
	first, _ := s.Overview()
	wait()
	if again, _ := s.Overview(); again != first {
		t.Error("an overview of nothing new was made")
	}
	r.Error = "the model is missing, which is a longer text than before"
	keep()
	wait()
	o := overview(t, s)
	if len(o.Runs) != 1 || o.Runs[0].Error == "" || o.Cells[0].Failed != 1 || o.Cells[0].Metrics[0] != nil || len(o.Cells[0].Gaps) != 0 {
		t.Errorf("of a run that failed: %+v", o)
	}
	if changed, _ := s.Overview(); changed.Tag == first.Tag {
		t.Error("another overview has the same tag")
	}
	bad := filepath.Join(folder, "bad.run.json")
	if err := os.WriteFile(bad, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	wait()
	if o := overview(t, s); len(o.Runs) != 1 || len(o.Notices) != 1 || o.Notices[0].File != bad || strings.Contains(o.Notices[0].Text, bad) {
		t.Errorf("beside a bad file: %+v", o)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	wait()
	if o := overview(t, s); len(o.Runs) != 0 {
		t.Error("runs that were removed are still there")
	}
}

func TestFoldersOfOneNameAndInEachOther(t *testing.T) {
	root := t.TempDir()
	for _, part := range []string{"a/results", "b/results"} {
		write(t, filepath.Join(root, part), sample.Options{Small: true})
	}
	s, _ := newTestStore(t, filepath.Join(root, "a/results"), filepath.Join(root, "b/results"), filepath.Join(root, "b"))
	o := overview(t, s)
	if len(o.Runs) != 48 {
		t.Errorf("%d runs, want 48: a file in two folders is one run", len(o.Runs))
	}
	keys := map[string]bool{}
	for _, r := range o.Runs {
		keys[r.Key] = true
		if d, err := s.Detail(r.Key, 100); err != nil || d.Repetition != r.Repetition {
			t.Fatalf("%s: %v", r.Key, err)
		}
	}
	if len(keys) != len(o.Runs) {
		t.Errorf("%d runs have %d keys", len(o.Runs), len(keys))
	}
}

// The planted slow-down is found, at its commit, and is the only thing that became worse; equal programs show no difference.
func TestChanges(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, sample.Options{Small: true, Commits: sample.Regression + 1, Repetitions: 6})
	s, _ := newTestStore(t, folder)
	o := overview(t, s)
	found := 0
	for _, c := range o.Changes {
		from, to, metric := o.Cells[c.From], o.Cells[c.To], o.Metrics[c.Metric].Name
		if from.Config != to.Config || from.Commit+1 != to.Commit {
			t.Fatalf("a change from cell %d to %d, which are not one Config at successive commits", c.From, c.To)
		}
		if c.Worse && (to.Commit != sample.Regression || o.Configs[to.Config].Axes[axis("backend")] != "cpu") {
			t.Errorf("%s of %v became worse at commit %d: %+v", metric, o.Configs[to.Config].Axes, to.Commit, c)
		}
		if c.Worse && metric == "generating" {
			found++
		}
	}
	if found != 8 {
		t.Errorf("the slow-down is found in %d of 8 cells", found)
	}
	if o.Compared.All < 500 || o.Compared.Few != 0 {
		t.Errorf("compared were %+v", o.Compared)
	}
}

func TestProgramsAreCompared(t *testing.T) {
	folder := runs.Folder(t.TempDir())
	for i, program := range []string{"base", "new"} {
		for repetition := range 6 {
			c := runs.Config{Program: program, Model: "pebble", Backend: "cpu", KV: "f16", Policy: "none", Prompt: 64, Generate: 100}
			r := sample.Run(c, repetition+1, 0, time.Unix(int64(1e9+100*repetition+i), 0).UTC())
			for j := range r.Tokens {
				r.Tokens[j] *= 1 + 0.2*float64(i)
			}
			if err := folder.Write(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, _ := newTestStore(t, string(folder))
	o := overview(t, s)
	index := slices.IndexFunc(o.Changes, func(c Change) bool { return o.Metrics[c.Metric].Name == "generating" })
	if index < 0 || !o.Changes[index].Worse || o.Cells[o.Changes[index].From].Config != o.Runs[0].Config {
		t.Errorf("a program that is slower by a fifth is not found: %+v", o.Changes)
	}
}

func axis(name string) int {
	return slices.IndexFunc(runs.Axes, func(a runs.Axis) bool { return a.Name == name })
}

func TestDetailOfNoRun(t *testing.T) {
	s, _ := newTestStore(t, t.TempDir())
	for _, key := range []string{"", "nothing", "../../etc/passwd", filepath.Base(t.TempDir()) + "/x"} {
		if _, err := s.Detail(key, 100); !errors.Is(err, ErrNoRun) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// However many ask for details, few runs are held at once.
func TestDetailsWaitForEachOther(t *testing.T) {
	folder := t.TempDir()
	if _, err := sample.Write(folder, sample.Options{Commits: 1, Repetitions: 1}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := NewStore(folder)
		if err != nil {
			t.Fatal(err)
		}
		key := overview(t, s).Runs[0].Key
		for range cap(s.reading) {
			s.reading <- struct{}{}
		}
		var done atomic.Bool
		go func() {
			if _, err := s.Detail(key, 10); err != nil {
				t.Error(err)
			}
			done.Store(true)
		}()
		synctest.Wait()
		if done.Load() {
			t.Error("a detail is read beside as many as may be")
		}
		<-s.reading
		synctest.Wait()
		if !done.Load() {
			t.Error("a detail is not read when it may be")
		}
	})
}

// Numbers that JSON can write, but that nobody measures, must not stop the page.
func TestOddNumbers(t *testing.T) {
	folder := t.TempDir()
	text := `{"config":{"model":"m","prompt":5,"generate":3},"repetition":1,"began":"0001-01-01T00:00:00Z","seconds":-1e9,"read":[1e9,-1e9],
		"tokens":[-1e9,0,0,5e-324,1e9],"memory":[{"at":1e308,"resident":-5,"cache":9223372036854775807,"slots":-1}],"weights":-1,"load":1e-320,
		"yardsticks":[1e9,-1e9],"evictions":[{"at":-1e308,"took":1e308}],"conditions":[{"at":0,"mhz":-1e308}],
		"profiles":[{"part":"p","seconds":0,"operations":[{"name":"o","seconds":1e308},{"name":"o","seconds":1e308}]}],"accuracy":[{"skill":"s","asked":2147483647,"right":0}]}`
	for _, name := range []string{"1", "2"} {
		if err := os.WriteFile(filepath.Join(folder, name+".run.json"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := newTestStore(t, folder)
	o := overview(t, s)
	if len(o.Runs) != 2 || len(o.Cells) != 1 {
		t.Fatalf("%d runs in %d cells", len(o.Runs), len(o.Cells))
	}
	d, err := s.Detail(o.Runs[0].Key, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(d); err != nil {
		t.Error(err)
	}
}

func BenchmarkOverview(b *testing.B) {
	folder := b.TempDir()
	if _, err := sample.Write(folder, sample.Options{Commits: 5, Repetitions: 9}); err != nil {
		b.Fatal(err)
	}
	s, err := NewStore(folder)
	if err != nil {
		b.Fatal(err)
	}
	s.look()
	for b.Loop() {
		s.summarize()
	}
}
