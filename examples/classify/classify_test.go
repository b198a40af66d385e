package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// classify runs the program and returns the lines that it writes.
func classify(t *testing.T, stdin string, args ...string) (lines []line, err error) {
	t.Helper()
	var out, notes strings.Builder
	err = run(t.Context(), args, strings.NewReader(stdin), &out, &notes)
	for text := range strings.Lines(out.String()) {
		var one line
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		lines = append(lines, one)
	}
	return lines, err
}

func TestLinesHaveLabels(t *testing.T) {
	lines, err := classify(t, "good wood\n\nbad wood\n", "-model", fixture.Path(t, "families/cls-bert"))
	if err != nil || len(lines) != 2 || lines[1].Text != "bad wood" {
		t.Fatalf("%+v, %v", lines, err)
	}
	for _, one := range lines {
		sum := 0.0
		for i, l := range one.Labels {
			if sum += float64(l.Score); i > 0 && l.Score > one.Labels[i-1].Score {
				t.Errorf("%+v is not sorted", one.Labels)
			}
		}
		if len(one.Labels) != 4 || math.Abs(sum-1) > 1e-5 {
			t.Errorf("%+v", one)
		}
	}
}

func TestLongTextsAreErrorsOfTheirs(t *testing.T) {
	lines, err := classify(t, "good wood\n"+strings.Repeat("wood ", 500)+"\nbad wood\n", "-model", fixture.Path(t, "families/cls-bert"))
	if err == nil || len(lines) != 3 || lines[1].Error == "" || lines[1].Labels != nil || lines[0].Labels == nil || lines[2].Labels == nil {
		t.Errorf("%+v, %v", lines, err)
	}
}

func TestFoldersHaveEntities(t *testing.T) {
	dir := t.TempDir()
	texts := map[string]string{"a.txt": "How much wood? 東京 is the capital.", "sub/b.txt": strings.Repeat("quick brown fox ", 200), ".hidden": "no", "image": "a\x00b"}
	for name, text := range texts {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := classify(t, "", "-model", fixture.Path(t, "families/tok-bert"), dir)
	if err != nil || len(lines) != 2 || lines[0].File != filepath.Join(dir, "a.txt") || lines[0].Text != "" {
		t.Fatalf("%+v, %v", lines, err)
	}
	for i, name := range []string{"a.txt", "sub/b.txt"} {
		for _, e := range lines[i].Entities {
			if e.Text != texts[name][e.Start:e.End] || e.Label == "O" {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
}

func TestWaysOfLongTextsAndWords(t *testing.T) {
	text := strings.Repeat("quick brown fox ", 200)
	for args, want := range map[string]string{"cls-bert": "tokens", "cls-bert -long mean": "", "cls-bert -long best": "", "tok-bert -join first": "", "tok-bert -join none": "", "tok-bert -join path": "", "tok-bert -join x": "", "cls-bert -long x": ""} {
		name, rest, _ := strings.Cut(args, " ")
		lines, err := classify(t, text+"\n", append([]string{"-model", fixture.Path(t, "families/"+name)}, strings.Fields(rest)...)...)
		if wrong := want != "" || strings.HasSuffix(args, "x"); (err != nil) != wrong && rest != "-join path" {
			t.Errorf("%s: %v", args, err)
		}
		if want != "" && (len(lines) != 1 || !strings.Contains(lines[0].Error, want)) {
			t.Errorf("%s: %+v", args, lines)
		}
		if err == nil && rest != "-join path" && (len(lines) != 1 || len(lines[0].Labels)+len(lines[0].Entities) == 0) {
			t.Errorf("%s: %+v", args, lines)
		}
	}
}

func TestLabelsOfOnesOwn(t *testing.T) {
	model := fixture.Path(t, "families/cls-modernbert")
	for _, args := range [][]string{nil, {"-any"}} {
		lines, err := classify(t, "The match ended.\n", append(args, "-model", model, "-labels", "sports, politics ,wood")...)
		if err != nil || len(lines) != 1 || len(lines[0].Labels) != 3 {
			t.Fatalf("%+v, %v", lines, err)
		}
		sum := 0.0
		for _, l := range lines[0].Labels {
			sum += float64(l.Score)
		}
		if one := math.Abs(sum-1) < 1e-5; one != (args == nil) {
			t.Errorf("%v: scores add up to %g", args, sum)
		}
	}
	if _, err := classify(t, "a\n", "-model", fixture.Path(t, "families/cls-bert"), "-labels", "a"); err == nil || !strings.Contains(err.Error(), "entailment") {
		t.Errorf("a model without entailment: %v", err)
	}
	for _, args := range [][]string{{}, {"-model", fixture.Path(t, "families/enc-bert")}, {"-model", model, "-labels", "a", "-hypothesis", "b"}} {
		if _, err := classify(t, "a\n", args...); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
