// Package chrometrace writes traces in Chrome's Trace Event Format, as a JSON object: what ui.perfetto.dev and chrome://tracing open.
//
// A trace has processes, a process has tracks and counters, a track has spans. The format wants the spans of a track to be disjoint or
// nested, as calls are; Write sees to that, whatever it is given.
package chrometrace

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// Trace is what a file shows. All times are since one moment, such as the beginning of the recording.
type Trace struct {
	Processes []Process
	// Notes are about the trace as a whole. They are encoded as a JSON object; nil: no notes.
	Notes any
}

// Process is a group of tracks and counters.
type Process struct {
	Name     string
	Tracks   []Track // shown in this order
	Counters []Counter
}

// Track is a row of spans, such as a thread's.
type Track struct {
	Name  string
	Spans []Span // in any order
	// Flat says that no span is a part of another one, even if their times would allow it.
	Flat bool
}

// Span is something that took a time.
type Span struct {
	Name  string
	Began time.Duration
	Took  time.Duration
	Args  any // shown with the span; encoded as a JSON object. nil: nothing
}

// end is when the span is over.
func (s *Span) end() time.Duration { return s.Began + s.Took }

// Counter is one or several numbers that change in time.
type Counter struct {
	Name    string
	Samples []Sample // in the order of time
}

// Sample is what the numbers were at a moment, until the next Sample.
type Sample struct {
	At     time.Duration
	Values any // encoded as a JSON object of numbers
}

// event is one element of the format's list of events, of the kinds X (complete), M (metadata) and C (counter).
type event struct {
	Name  string   `json:"name"`
	Phase string   `json:"ph"`
	At    float64  `json:"ts"` // µs
	Took  *float64 `json:"dur,omitempty"`
	PID   int      `json:"pid"`
	TID   int      `json:"tid"`
	Args  any      `json:"args,omitempty"`
}

// Write writes a trace. If spans of a track overlap without being nested, or overlap at all on a Flat track, those that do not fit go to a
// further track, "thread (2)", below it. Processes have the pids 1, 2, …, and the tracks of a process the tids 1, 2, ….
func Write(w io.Writer, t *Trace) error {
	out := &writer{Writer: bufio.NewWriterSize(w, 1<<16)}
	out.encoder = json.NewEncoder(out)
	out.encoder.SetEscapeHTML(false)
	out.text(`{"displayTimeUnit":"ns","traceEvents":[` + "\n")
	for i := range t.Processes {
		out.process(i+1, &t.Processes[i])
	}
	out.text("]")
	if t.Notes != nil {
		out.text(`,"otherData":`)
		out.json(t.Notes)
	}
	out.text("}\n")
	out.note(out.Flush())
	if out.err != nil {
		return fmt.Errorf("write a trace: %w", out.err)
	}
	return nil
}

// writer writes events. err is the first error, after which nothing is written.
type writer struct {
	*bufio.Writer
	encoder *json.Encoder
	events  int
	err     error
}

func (w *writer) note(err error) { w.err = cmp.Or(w.err, err) }

func (w *writer) text(s string) {
	if w.err == nil {
		_, err := w.WriteString(s)
		w.note(err)
	}
}

// json writes a value and a line's end.
func (w *writer) json(v any) {
	if w.err == nil {
		w.note(w.encoder.Encode(v))
	}
}

// event writes an event, a line for each.
func (w *writer) event(e *event) {
	if w.events++; w.events > 1 {
		w.text(",")
	}
	w.json(e)
}

func (w *writer) process(pid int, p *Process) {
	w.metadata("process_name", pid, 0, named{p.Name})
	w.metadata("process_sort_index", pid, 0, sorted{pid})
	tid := 0
	for i := range p.Tracks {
		track := &p.Tracks[i]
		for n, lane := range track.lanes() {
			tid++
			name := track.Name
			if n > 0 {
				name = fmt.Sprintf("%s (%d)", name, n+1)
			}
			w.metadata("thread_name", pid, tid, named{name})
			w.metadata("thread_sort_index", pid, tid, sorted{tid})
			for _, s := range lane {
				took := microseconds(s.Took)
				w.event(&event{Name: s.Name, Phase: "X", At: microseconds(s.Began), Took: &took, PID: pid, TID: tid, Args: s.Args})
			}
		}
	}
	for _, c := range p.Counters {
		for _, s := range c.Samples {
			w.event(&event{Name: c.Name, Phase: "C", At: microseconds(s.At), PID: pid, Args: s.Values})
		}
	}
}

// named and sorted are the arguments of metadata.
type (
	named struct {
		Name string `json:"name"`
	}
	sorted struct {
		Index int `json:"sort_index"`
	}
)

func (w *writer) metadata(kind string, pid, tid int, args any) {
	w.event(&event{Name: kind, Phase: "M", PID: pid, TID: tid, Args: args})
}

// microseconds converts to the format's unit. The nanoseconds are behind the point.
func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// lanes shares the track's spans out among as few lanes as it takes for those of each to be disjoint or, unless the track is Flat, nested;
// the first lane takes what it can. In a lane a span comes before those that are nested in it. There is at least one lane.
func (t *Track) lanes() [][]*Span {
	order := make([]*Span, len(t.Spans))
	for i := range t.Spans {
		order[i] = &t.Spans[i]
	}
	slices.SortStableFunc(order, func(a, b *Span) int { return cmp.Or(cmp.Compare(a.Began, b.Began), cmp.Compare(b.Took, a.Took)) })
	lanes := make([][]*Span, 1)
	open := make([][]time.Duration, 1) // for each lane: when the spans end that the next one may be nested in, the innermost last
next:
	for _, s := range order {
		for i := range lanes {
			for n := len(open[i]); n > 0 && open[i][n-1] <= s.Began; n-- {
				open[i] = open[i][:n-1]
			}
			if n := len(open[i]); n == 0 || !t.Flat && s.end() <= open[i][n-1] {
				lanes[i], open[i] = append(lanes[i], s), append(open[i], s.end())
				continue next
			}
		}
		lanes, open = append(lanes, []*Span{s}), append(open, []time.Duration{s.end()})
	}
	return lanes
}
