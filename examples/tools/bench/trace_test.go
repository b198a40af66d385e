package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/countdown"
)

// traced is a trace as a viewer reads it: the spans of each track, by the names of the process and of the track.
type traced struct {
	spans    map[string][]tracedSpan
	counters []string
}

type tracedSpan struct {
	name         string
	began, ended time.Duration
	args         map[string]any
}

// readTrace reads a trace's file, in which every event must have what its kind needs.
func readTrace(t *testing.T, path string) traced {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Name string
			Ph   string
			Ts   *float64
			Dur  *float64
			PID  int
			TID  int
			Args map[string]any
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	type id struct{ pid, tid int }
	names := map[id]string{}
	result := traced{spans: map[string][]tracedSpan{}}
	at := func(us float64) time.Duration { return time.Duration(us*1000 + 0.5) }
	for _, e := range file.TraceEvents {
		switch {
		case e.Ts == nil || *e.Ts < 0 || e.PID < 1 || e.Name == "":
			t.Errorf("%+v", e)
		case e.Ph == "M" && e.Name == "process_name":
			names[id{e.PID, 0}] = e.Args["name"].(string)
		case e.Ph == "M" && e.Name == "thread_name":
			names[id{e.PID, e.TID}] = names[id{e.PID, 0}] + "/" + e.Args["name"].(string)
		case e.Ph == "C":
			for _, v := range e.Args {
				if _, ok := v.(float64); !ok {
					t.Errorf("counter %s is %v", e.Name, v)
				}
			}
			if !slices.Contains(result.counters, e.Name) {
				result.counters = append(result.counters, e.Name)
			}
		case e.Ph == "X" && e.Dur != nil && *e.Dur >= 0 && names[id{e.PID, e.TID}] != "":
			name := names[id{e.PID, e.TID}]
			result.spans[name] = append(result.spans[name], tracedSpan{e.Name, at(*e.Ts), at(*e.Ts) + at(*e.Dur), e.Args})
		case e.Ph != "M":
			t.Errorf("%+v", e)
		}
	}
	for name, spans := range result.spans { // disjoint or nested
		var open []tracedSpan
		for _, s := range spans {
			for len(open) > 0 && open[len(open)-1].ended <= s.began {
				open = open[:len(open)-1]
			}
			if n := len(open); n > 0 && s.ended > open[n-1].ended {
				t.Errorf("%s: %v crosses %v", name, s, open[n-1])
			}
			open = append(open, s)
		}
	}
	return result
}

// count returns how many spans have a name that begins with name, on tracks with track in their names.
func (tr traced) count(track, name string) (n int) {
	for key, spans := range tr.spans {
		for _, s := range spans {
			if strings.Contains(key, track) && strings.HasPrefix(s.name, name) {
				n++
			}
		}
	}
	return n
}

func TestTrace(t *testing.T) {
	folder := t.TempDir()
	schema := filepath.Join(folder, "schema.json")
	if err := os.WriteFile(schema, []byte(`{"enum":["first","the second of the two"]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	type counts map[[2]string]int // of a track, and of spans' names
	for _, c := range []struct {
		name     string
		args     []string
		measured []string
		want     counts // -1: some
	}{
		{"alone", []string{"-p", "8", "-n", "6", "-threads", "1"}, []string{"pp8", "pp8", "tg6", "tg6"},
			counts{{"session", "prompt"}: 2, {"session", "choose"}: 12, {"session", "answer"}: 12, {"/passes", "pass of answers"}: 12, {"/passes", "pass of prompts"}: 2,
				{"/passes", "Attend"}: 8 * 14, {"thread 0", "NormMatMul activation"}: 9 * 14, {"thread 1", ""}: 0}},
		{"two threads", []string{"-p", "1024", "-n", "0", "-threads", "2"}, []string{"pp1024", "pp1024"}, counts{{"thread 1", "MatMulAdd"}: -1}},
		{"sessions", []string{"-p", "0", "-n", "6", "-sessions", "3", "-depth", "4"}, []string{"tg6, 3 sessions", "tg6, 3 sessions"},
			counts{{"session", "choose"}: 36, {"session", "answer"}: 36, {"/passes", "pass of answers"}: -1}},
		{"drafts", []string{"-p", "0", "-n", "12", "-draft", "2", "-depth", "4"}, []string{"tg12", "tg12", "tg12, drafts 2", "tg12, drafts 2"},
			counts{{"session", "draft"}: -1, {"session", "choose"}: 48}},
		{"a schema", []string{"-p", "0", "-n", "12", "-schema", schema}, []string{"tg12", "tg12", "tg12+schema", "tg12+schema", "tg12+schema-unforced", "tg12+schema-unforced"},
			counts{{"session", "constraint"}: -1, {"session", "take the only token"}: -1}},
		{"latency", []string{"-p", "64", "-n", "4", "-latency", "-depth", "4"},
			[]string{"answer alone", "prompt alone", "answer beside a prompt", "answer alone", "prompt alone", "answer beside a prompt"}, counts{{"session", "prompt"}: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(folder, strings.ReplaceAll(c.name, " ", "-")+".trace.json")
			var stderr bytes.Buffer
			if err := run(t.Context(), append(c.args, "-r", "2", "-trace", path), nil, new(bytes.Buffer), &stderr); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(stderr.String(), path) {
				t.Errorf("stderr does not name the file: %s", stderr.String())
			}
			tr := readTrace(t, path)
			var measured []string
			for _, s := range tr.spans["program/measured"] {
				measured = append(measured, s.name)
			}
			if !slices.Equal(measured, c.measured) {
				t.Errorf("measured %q, want %q", measured, c.measured)
			}
			for what, want := range c.want {
				if got := tr.count(what[0], what[1]); want >= 0 && got != want || want < 0 && got == 0 {
					t.Errorf("%v: %d, want %d", what, got, want)
				}
			}
			checkOperations(t, tr)
			if !slices.Contains(tr.counters, "rows per second") || !slices.ContainsFunc(tr.counters, func(s string) bool { return strings.HasPrefix(s, "cache slots, session ") }) {
				t.Errorf("counters %q", tr.counters)
			}
		})
	}
}

// checkOperations reports operations of the passes' track that lie in no pass, and passes without operations.
func checkOperations(t *testing.T, tr traced) {
	t.Helper()
	for name, spans := range tr.spans {
		if !strings.HasSuffix(name, "/passes") {
			continue
		}
		var pass tracedSpan
		operations := 1
		for _, s := range spans {
			switch {
			case strings.HasPrefix(s.name, "pass of "):
				if operations == 0 {
					t.Errorf("no operations in %v", pass)
				}
				pass, operations = s, 0
			case s.name == "wait for sessions":
			case s.began < pass.began || s.ended > pass.ended:
				t.Errorf("%v is no part of %v", s, pass)
			default:
				operations++
			}
		}
	}
}

func TestTraceIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	var stderr bytes.Buffer
	if err := run(t.Context(), []string{"-p", "0", "-n", "40", "-r", "1", "-trace", path, "-trace-events", "1000"}, nil, new(bytes.Buffer), &stderr); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stderr.String(), "is missing") {
		t.Errorf("nothing tells that the trace is cut: %s", stderr.String())
	}
	if n := readTrace(t, path).count("/passes", "pass"); n < 3 || n >= 40 {
		t.Errorf("%d passes of 40 are kept", n)
	}
}

// TestTraceOfAnInterruptedRun has the events until the interruption.
func TestTraceOfAnInterruptedRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	ctx := countdown.New(t.Context(), 153) // loading takes 138 looks
	if err := run(ctx, []string{"-p", "128", "-r", "2", "-trace", path}, nil, new(bytes.Buffer), new(bytes.Buffer)); err == nil {
		t.Fatal("not interrupted")
	}
	readTrace(t, path)
	missing := filepath.Join(t.TempDir(), "none", "trace.json")
	if err := run(t.Context(), []string{"-trace", missing}, nil, new(bytes.Buffer), new(bytes.Buffer)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is missing: %v", err)
	}
}
