package tables

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// programs measures two programs in turn, in rounds over a matrix. The second's tokens take slower times as long.
func programs(m *measured, repetitions int, slower float64) (list []*runs.Run) {
	for repetition := range repetitions {
		for _, policy := range []string{"none", "h2o", "sliding", "snapkv"} {
			for _, kv := range []string{"f16", "q8_0", "q4_0"} {
				for _, program := range []string{"base", "new"} {
					c, pace := config(policy, kv), 1.0
					if c.Program = program; program == "new" {
						pace = slower
					}
					list = append(list, m.run(c, repetition+1, pace))
				}
			}
		}
	}
	return list
}

// compared runs compare with -json.
func compared(t *testing.T, args ...string) (*report, error) {
	t.Helper()
	text, err := printed(t, append([]string{"compare", "-json"}, args...)...)
	r := new(report)
	if e := json.Unmarshal([]byte(text), r); e != nil {
		t.Fatalf("%v, %v:\n%s", err, e, text)
	}
	return r, err
}

func TestComparePrograms(t *testing.T) {
	for _, test := range []struct {
		name    string
		slower  float64
		worse   bool
		verdict string
	}{
		{"the same", 1, false, ""},
		{"slower by a tenth", 1.1, true, worse},
		{"quicker by a tenth", 1 / 1.1, false, better},
	} {
		dir := t.TempDir()
		keepRuns(t, dir, programs(newMeasured(), 10, test.slower)...)
		args := []string{dir, "-a", "program=base", "-b", "program=new"}
		r, err := compared(t, args...)
		if (err != nil) != test.worse {
			t.Errorf("%s: %v", test.name, err)
		}
		if r.Cells != 12 || r.Compared == 0 || r.Few != 0 || len(r.OnlyA)+len(r.OnlyB) != 0 {
			t.Errorf("%s: %+v", test.name, r)
		}
		found := map[string]int{}
		for _, c := range r.Changes {
			found[c.Metric]++
			if c.Verdict != test.verdict || c.Pairs != 10 {
				t.Errorf("%s: %+v", test.name, c)
			}
		}
		want := 13 // the cells, and all together
		if test.verdict == "" {
			want = 0
		}
		if found["generating"] != want || found["gap50"] != want || found["reading"]+found["accuracy"]+found["resident"]+found["load"] != 0 {
			t.Errorf("%s: %v", test.name, found)
		}
		text, _ := printed(t, append([]string{"compare"}, args...)...)
		if has := strings.Contains(text, "Nothing changed beyond noise"); has != (test.verdict == "") {
			t.Errorf("%s:\n%s", test.name, text)
		}
	}
}

func TestCompareFolders(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	m := newMeasured()
	for repetition := range 8 {
		for _, kv := range []string{"f16", "q8_0", "q4_0"} {
			keepRuns(t, a, m.run(config("none", kv), repetition+1, 1))
		}
	}
	for repetition := range 8 { // the machine is slower by 12 % now, as the yardstick shows; q8_0 is slower by 40 %
		for kv, slower := range map[string]float64{"f16": 1.12, "q8_0": 1.4} {
			r := m.run(config("none", kv), repetition+1, slower)
			r.Yardsticks = [2]float64{11.2, 11.2}
			r.Machine.Name, r.Machine.Commit = "another", "fedcba9876543210"
			r.Accuracy[0].Right = 29
			keepRuns(t, b, r)
		}
		r := m.run(config("none", "f32"), repetition+1, 1)
		keepRuns(t, b, r)
		r = m.run(config("none", "q4_0"), repetition+1, 1)
		r.Error = "it is broken"
		keepRuns(t, b, r)
	}
	r, err := compared(t, a, b, "-metrics", "generating,accuracy", "-where", "kv=f16,kv=q8_0")
	var status interface{ ExitStatus() int }
	if err == nil || errors.As(err, &status) {
		t.Errorf("worse, and the exit status is to be 1: %v", err)
	}
	got := map[string]string{}
	for _, c := range r.Changes {
		got[c.Metric+" "+c.Cell["kv"]] = c.Verdict
		if c.Pairs != 0 || c.Exact != (c.Metric == "accuracy") {
			t.Errorf("%+v", c)
		}
	}
	if got["generating q8_0"] != worse || got["generating f16"] != "" || got["accuracy f16"] != worse || got["accuracy q8_0"] != worse {
		t.Errorf("%v", got)
	}
	text, _ := printed(t, "compare", a, b)
	for _, want := range []string{"THE MACHINE DIFFERS: bench before, another, bench after", "THE MACHINE'S CLOCK WAS DIFFERENT", "fedcba987654",
		"Worked before, and every run fails after:\n- cache type q4_0: it is broken", "Only after:\n- cache type f32", "exact: "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not there:\n%s", want, text)
		}
	}
	if r, _ := compared(t, a, b, "-b", "commit=fedcba", "-metrics", "generating"); r.B.Runs != 16 {
		t.Errorf("of the commit fedcba… there are %d runs", r.B.Runs)
	}
}

func TestCompareTellsThatRepetitionsAreFew(t *testing.T) {
	dir := t.TempDir()
	keepRuns(t, dir, programs(newMeasured(), 3, 2)...)
	text, err := printed(t, "compare", dir, "-a", "program=base", "-b", "program=new", "-metrics", "generating")
	if err == nil || !strings.Contains(text, "too few repetitions to tell (3 against 3)") {
		t.Errorf("%v:\n%s", err, text)
	}
}
