// Package foreground measures how generating affects the program that a person is looking at. A task has work to do in each frame of a
// display. It runs alone and while a model generates, with various numbers of threads and niceness.
//
// Three processes take part. Run, in the first, is the experiment; it starts the frames (Frames) and the generation (Generate) as processes
// of their own, as an application and its helper would be, and stands by.
package foreground

import (
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// Plan says what the task in the foreground does.
type Plan struct {
	Frame  time.Duration `json:"frame"`  // from the beginning of a frame to that of the next
	Work   time.Duration `json:"work"`   // how long a frame's work takes alone
	Frames int           `json:"frames"` // how many frames there are
	Units  int           `json:"units"`  // of work in a frame; 0: find out how many take Work
}

// FrameTimes is how a task's frames went. Times are in milliseconds.
type FrameTimes struct {
	Frames int `json:"frames"`
	Missed int `json:"missed"` // frames with work that ended after the next frame began, or could not even begin by then
	Units  int `json:"units"`  // of work in a frame

	// Times from a frame's beginning to the end of its work.
	Median  float64 `json:"median"`
	P99     float64 `json:"p99"`
	Longest float64 `json:"longest"`

	// Times from a frame's beginning until the task, which slept before, ran.
	WakeMedian  float64 `json:"wake_median"`
	WakeP99     float64 `json:"wake_p99"`
	WakeLongest float64 `json:"wake_longest"`
}

// Share is the part of the frames that were missed.
func (m *FrameTimes) Share() float64 { return float64(m.Missed) / float64(max(m.Frames, 1)) }

// clock is time as the task sees it.
type clock interface {
	now() time.Duration
	// sleepUntil returns at a time or, as machines are, somewhat later.
	sleepUntil(t time.Duration)
}

// run lets the frames pass. Each is due at its own time, however late the one before it was: a task that counted from the end of its work
// would leave out just the frames that it was too late for. If a frame's whole time has passed, it is dropped, as a display drops it. A
// dropped frame counts as missed, with the time until the work before it ended.
func (p *Plan) run(c clock, work func()) FrameTimes {
	took, woke := make([]float64, 0, p.Frames), make([]float64, 0, p.Frames)
	missed := 0
	began := c.now() + p.Frame
	for i := range p.Frames {
		due := began + time.Duration(i)*p.Frame
		if before := c.now(); before < due {
			c.sleepUntil(due)
			woke = append(woke, milliseconds(c.now()-due))
		} else if before >= due+p.Frame {
			missed++
			took = append(took, milliseconds(before-due))
			continue
		}
		work()
		end := c.now() - due
		if end > p.Frame {
			missed++
		}
		took = append(took, milliseconds(end))
	}
	slices.Sort(took)
	slices.Sort(woke)
	return FrameTimes{
		Frames: p.Frames, Missed: missed, Units: p.Units,
		Median: statistics.Quantile(took, 0.5), P99: statistics.Quantile(took, 0.99), Longest: statistics.Quantile(took, 1),
		WakeMedian: statistics.Quantile(woke, 0.5), WakeP99: statistics.Quantile(woke, 0.99), WakeLongest: statistics.Quantile(woke, 1),
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
