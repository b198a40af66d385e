package chrometrace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// file is a trace as a viewer reads it.
type file struct {
	Events []struct {
		Name  string         `json:"name"`
		Phase string         `json:"ph"`
		At    *float64       `json:"ts"`
		Took  *float64       `json:"dur"`
		PID   *int           `json:"pid"`
		TID   *int           `json:"tid"`
		Args  map[string]any `json:"args"`
	} `json:"traceEvents"`
	Unit string         `json:"displayTimeUnit"`
	Data map[string]any `json:"otherData"`
}

func read(t *testing.T, trace *Trace) (f file) {
	t.Helper()
	var text bytes.Buffer
	if err := Write(&text, trace); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&text)
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		t.Fatalf("%v in %s", err, text.String())
	}
	return f
}

func TestWrite(t *testing.T) {
	const us = time.Microsecond
	f := read(t, &Trace{
		Processes: []Process{{Name: "empty"}, {
			Name:     "model \"a\" <b>",
			Tracks:   []Track{{Name: "thread", Spans: []Span{{Name: "inner", Began: 2 * us, Took: 1500}, {Name: "outer", Began: 1 * us, Took: 5 * us, Args: map[string]int{"rows": 3}}}}, {Name: "idle"}},
			Counters: []Counter{{"slots", []Sample{{4 * us, map[string]int{"n": 7}}}}},
		}},
		Notes: map[string]string{"model": "a"},
	})
	var got []string
	for _, e := range f.Events {
		if e.At == nil || e.PID == nil || e.TID == nil {
			t.Fatalf("%+v lacks what every event has", e)
		}
		line := fmt.Sprintf("%s %s %v %d.%d", e.Phase, e.Name, *e.At, *e.PID, *e.TID)
		if e.Took != nil {
			line += fmt.Sprint(" for ", *e.Took)
		}
		if len(e.Args) > 0 {
			line += fmt.Sprint(" ", e.Args)
		}
		got = append(got, line)
	}
	want := []string{
		"M process_name 0 1.0 map[name:empty]", "M process_sort_index 0 1.0 map[sort_index:1]",
		`M process_name 0 2.0 map[name:model "a" <b>]`, "M process_sort_index 0 2.0 map[sort_index:2]",
		"M thread_name 0 2.1 map[name:thread]", "M thread_sort_index 0 2.1 map[sort_index:1]",
		"X outer 1 2.1 for 5 map[rows:3]", "X inner 2 2.1 for 1.5",
		"M thread_name 0 2.2 map[name:idle]", "M thread_sort_index 0 2.2 map[sort_index:2]",
		"C slots 4 2.0 map[n:7]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if f.Unit != "ns" || f.Data["model"] != "a" {
		t.Errorf("unit %q, data %v", f.Unit, f.Data)
	}
}

// TestSpansOfALaneAreNested gives spans that overlap: they must be shared out among lanes.
func TestSpansOfALaneAreNested(t *testing.T) {
	for _, c := range []struct {
		name  string
		flat  bool
		spans [][2]time.Duration // from, to
		want  string             // the lanes, each span by its index
	}{
		{"none", false, nil, "[[]]"},
		{"one after the other", false, [][2]time.Duration{{0, 5}, {5, 9}, {9, 9}, {12, 13}}, "[[0 1 2 3]]"},
		{"nested", false, [][2]time.Duration{{3, 4}, {0, 9}, {2, 9}, {2, 5}}, "[[1 2 3 0]]"},
		{"equal", false, [][2]time.Duration{{0, 4}, {0, 4}}, "[[0 1]]"},
		{"crossing", false, [][2]time.Duration{{0, 5}, {3, 8}, {4, 5}, {6, 9}, {8, 9}}, "[[0 2 3 4] [1]]"},
		{"flat", true, [][2]time.Duration{{0, 9}, {2, 3}, {2, 4}, {3, 4}, {9, 10}}, "[[0 4] [2] [1 3]]"},
	} {
		track := Track{Flat: c.flat}
		for i, s := range c.spans {
			track.Spans = append(track.Spans, Span{Name: fmt.Sprint(i), Began: s[0], Took: s[1] - s[0]})
		}
		var got [][]string
		for _, lane := range track.lanes() {
			names := []string{}
			for _, s := range lane {
				names = append(names, s.Name)
			}
			got = append(got, names)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
	f := read(t, &Trace{Processes: []Process{{Tracks: []Track{{Name: "t", Spans: []Span{{"a", 0, 5, nil}, {"b", 3, 5, nil}}}}}}})
	var names []any
	for _, e := range f.Events {
		if e.Name == "thread_name" {
			names = append(names, e.Args["name"])
		}
	}
	if !slices.Equal(names, []any{"t", "t (2)"}) {
		t.Errorf("the lanes are called %v", names)
	}
}

// broken fails after some bytes.
type broken struct{ left int }

var errBroken = errors.New("disk full")

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestWriteTellsErrors(t *testing.T) {
	trace := &Trace{Processes: []Process{{Name: strings.Repeat("long", 1<<16)}, {Name: "b"}}, Notes: 1}
	if err := Write(&broken{1 << 10}, trace); !errors.Is(err, errBroken) {
		t.Errorf("a full disk: %v", err)
	}
	trace.Processes[1].Tracks = []Track{{Spans: []Span{{Args: func() {}}}}}
	if err := Write(new(bytes.Buffer), trace); err == nil {
		t.Error("arguments that are no JSON: no error")
	}
}
