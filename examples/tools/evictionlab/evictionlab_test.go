package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
)

func evictionlab(t testing.TB, args ...string) (string, error) {
	t.Helper()
	var out, notes bytes.Buffer
	err := run(t.Context(), args, nil, &out, &notes)
	return out.String(), err
}

// measured runs the program on the repository's questions.
func measured(t *testing.T, args ...string) (rows []row) {
	t.Helper()
	out, err := evictionlab(t, append([]string{"-json"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(out))
	for d.More() {
		var r row
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// reference reads what an independent implementation in PyTorch has measured: 30 questions, weights and cache of F32.
func reference(t *testing.T) (rows []row) {
	t.Helper()
	f, err := os.Open("testdata/reference.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	for d.More() {
		var r row
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// everything reports whether hours do not matter.
func everything() bool { return effort.All() }

// TestAgreesWithTheReference compares all thirty questions of a skill at one budget with the reference. If ANTIGRAVITY_EVAL is "all", it
// compares all skills at all budgets.
func TestAgreesWithTheReference(t *testing.T) {
	skills, budgets := "needle_late50", "0.25"
	if everything() {
		skills = "needle50,needle150,needle300,needle600,needle900,needle_late50,needle_late150,needle_late300,needle_late600,needle_late900"
		budgets = "0.5,0.25,0.1"
	}
	compare(t, 0.1, "-skills", skills, "-budgets", budgets, "-n", "30")
}

// TestAgreesOnLongerNotes compares ten questions with the reference's thirty, hence the wider bound.
func TestAgreesOnLongerNotes(t *testing.T) {
	compare(t, 0.2, "-skills", "needle150", "-budgets", "0.25", "-n", "10")
}

func compare(t *testing.T, bound float64, args ...string) {
	t.Helper()
	if asm.Tier() == "generic" && !everything() {
		t.Skip("the portable kernels would take minutes")
	}
	want := reference(t)
	args = append(args, "-model", fixture.Path(t, "pebble/hf"), "-policies", "none,sliding,snapkv,h2o,tova,keydiff")
	for _, got := range measured(t, args...) {
		i := slices.IndexFunc(want, func(r row) bool {
			return r.Skill == got.Skill && r.Policy == got.Policy && r.Budget == got.Budget
		})
		if i < 0 {
			t.Errorf("the reference has no %s of %s at %v", got.Policy, got.Skill, got.Budget)
			continue
		}
		if math.Abs(got.Accuracy-want[i].Accuracy) > bound+0.001 { // the reference is rounded
			t.Errorf("%s, %s at %v: accuracy %.3f of %d questions, the reference has %.3f",
				got.Skill, got.Policy, got.Budget, got.Accuracy, got.Questions, want[i].Accuracy)
		}
	}
}

// TestTakingTurnsChangesNothing compares policies that share a prompt with each one alone.
func TestTakingTurnsChangesNothing(t *testing.T) {
	args := []string{"-skills", "needle_late50", "-n", "3", "-budgets", "0.5"}
	policies := []string{"snapkv", "pyramidkv", "ada", "h2o", "tova", "keydiff", "expected", "kvzip"}
	together := measured(t, append(args, "-policies", strings.Join(policies, ","))...)
	for i, policy := range policies {
		alone := measured(t, append(args, "-policies", policy)...)
		if got, want := together[i].Accuracy, alone[0].Accuracy; got != want {
			t.Errorf("%s: accuracy %v beside the others, %v alone", policy, got, want)
		}
	}
}

func TestDuringPromptBoundsThePeak(t *testing.T) {
	rows := measured(t, "-skills", "needle300", "-n", "2", "-budgets", "0.25,0.1", "-policies", "none,sliding,snapkv,pyramidkv,ada,h2o,tova,keydiff,kvzip", "-during-prompt")
	whole := rows[0].PeakCacheBytes
	for _, r := range rows[1:] {
		if limit := float64(whole) * r.Budget * 1.5; float64(r.PeakCacheBytes) > limit {
			t.Errorf("%s at %v: the peak is %d bytes: more than 1.5 of the budget's part of %d", r.Policy, r.Budget, r.PeakCacheBytes, whole)
		}
	}
}

// TestShortPromptsHaveABudgetThatWorks evicts from prompts so short that a tenth of one is two or three tokens.
func TestShortPromptsHaveABudgetThatWorks(t *testing.T) {
	if rows := measured(t, "-skills", "capital", "-n", "1", "-budgets", "0.1", "-during-prompt"); len(rows) != len(eviction.Names()) {
		t.Errorf("%d rows, want one for each of %v", len(rows), eviction.Names())
	}
}

func TestQuantisedCachesTakeLess(t *testing.T) {
	rows := measured(t, "-skills", "capital", "-n", "4", "-policies", "none", "-kv-type", "f32,f16,q8_0,q4_0")
	for i, r := range rows {
		if r.Accuracy != 1 {
			t.Errorf("%s cache: accuracy %v without any eviction", r.KV, r.Accuracy)
		}
		if i > 0 && r.PeakCacheBytes >= rows[i-1].PeakCacheBytes {
			t.Errorf("%s cache takes %d bytes, %s %d", r.KV, r.PeakCacheBytes, rows[i-1].KV, rows[i-1].PeakCacheBytes)
		}
	}
}

func TestTableAndDrawings(t *testing.T) {
	for _, c := range []struct {
		kind  string
		check func(data []byte) bool
	}{
		{".svg", func(b []byte) bool {
			return bytes.Contains(b, []byte("keydiff")) && bytes.Contains(b, []byte("</svg>"))
		}},
		{".html", func(b []byte) bool {
			return bytes.Contains(b, []byte("<pre>capital")) && bytes.Contains(b, []byte("</svg>"))
		}},
		{".png", func(b []byte) bool { _, err := png.Decode(bytes.NewReader(b)); return err == nil }},
	} {
		t.Run(c.kind, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "plot"+c.kind)
			out, err := evictionlab(t, "-skills", "capital,animal", "-n", "1", "-policies", "none,sliding,keydiff",
				"-budgets", "0.9,0.5", "-kv-type", "f16,q8_0", "-plot", path)
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil || !c.check(data) {
				t.Errorf("%v: not the drawing that was asked for: %.200q", err, data)
			}
			if !strings.Contains(out, "capital, f16 cache") || !strings.Contains(out, "animal, q8_0 cache") {
				t.Errorf("table:\n%s", out)
			}
		})
	}
}

func TestGroupsCountQuestions(t *testing.T) {
	g := groups([]row{
		{Skill: "needle50", KV: "f32", Policy: "sliding", Budget: 0.5, Accuracy: 1, Questions: 10, PeakCacheBytes: 5, Seconds: 1},
		{Skill: "needle_late50", KV: "f32", Policy: "sliding", Budget: 0.5, Accuracy: 0, Questions: 10},
		{Skill: "needle900", KV: "f32", Policy: "sliding", Budget: 0.5, Accuracy: 0, Questions: 30, PeakCacheBytes: 7, Seconds: 2},
		{Skill: "needle900", KV: "f16", Policy: "sliding", Budget: 0.5, Accuracy: 1, Questions: 30},
	})
	if len(g) != 3 {
		t.Fatalf("%d groups, want needle and needle_late of f32, and needle of f16", len(g))
	}
	s, _ := g[0].score("sliding", 0.5)
	if want := (row{Accuracy: 0.25, Questions: 40, PeakCacheBytes: 7, Seconds: 3}); s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
}

func TestMistakes(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		args  []string
		usage bool
		want  string
	}{
		{"no such policy", []string{"-policies", "lru"}, true, "keydiff"},
		{"a budget above 1", []string{"-budgets", "2"}, true, "at most 1"},
		{"a budget that is no number", []string{"-budgets", "NaN"}, true, "above 0"},
		{"no such cache", []string{"-kv-type", "q4_k"}, true, "q8_0"},
		{"no questions", []string{"-n", "0"}, true, "at least 1"},
		{"nothing to compare", []string{"-policies", ","}, true, "-policies"},
		{"no such kind of drawing", []string{"-plot", "x.gif"}, true, ".svg"},
		{"no such file", []string{"-questions", "no/such.jsonl"}, false, "no/such.jsonl"},
		{"no questions in the file", []string{"-questions", empty}, false, `"needle300"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := evictionlab(t, c.args...)
			if err == nil {
				t.Fatal("no error")
			}
			var usage *cli.UsageError
			if !strings.Contains(err.Error(), c.want) || errors.As(err, &usage) != c.usage {
				t.Errorf("error %q (a usage error: %v), want one that has %q (%v)", err, !c.usage, c.want, c.usage)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	for _, looks := range []int{0, 100, 240, 260} { // loading takes 210
		err := run(countdown.New(t.Context(), looks), []string{"-n", "2", "-skills", "needle300"}, nil, new(bytes.Buffer), new(bytes.Buffer))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("at look %d: %v", looks, err)
		}
	}
}
