package foreground

import (
	"testing"
	"time"
)

// script is a clock that a test moves.
type script struct {
	t    time.Duration
	late []time.Duration // by how much each sleep is too long; later sleeps are exact
}

func (s *script) now() time.Duration { return s.t }

func (s *script) sleepUntil(t time.Duration) {
	if len(s.late) > 0 {
		t, s.late = t+s.late[0], s.late[1:]
	}
	s.t = max(s.t, t)
}

const ms = time.Millisecond

func TestFrames(t *testing.T) {
	for _, c := range []struct {
		name   string
		works  []time.Duration // of frames that are not dropped; then 4 ms
		late   []time.Duration
		want   FrameTimes // of five frames of 10 ms
		worked int        // frames with their work done
	}{
		{"calm", nil, nil, FrameTimes{Median: 4, P99: 4, Longest: 4}, 5},
		{"just in time", []time.Duration{10 * ms}, nil, FrameTimes{Median: 4, P99: 10, Longest: 10}, 5},
		{"one too long", []time.Duration{12 * ms}, nil, FrameTimes{Missed: 1, Median: 4, P99: 12, Longest: 12}, 5},
		{"late by it, the next is in time still", []time.Duration{16 * ms}, nil, FrameTimes{Missed: 1, Median: 4, P99: 16, Longest: 16}, 5},
		{"late by it, the next is missed too", []time.Duration{17 * ms}, nil, FrameTimes{Missed: 2, Median: 5, P99: 17, Longest: 17}, 5},
		{"a stall drops frames", []time.Duration{35 * ms}, nil, FrameTimes{Missed: 3, Median: 15, P99: 35, Longest: 35}, 3},
		{"a stall to the end", []time.Duration{4 * ms, 100 * ms}, nil, FrameTimes{Missed: 4, Median: 80, P99: 100, Longest: 100}, 2},
		{"woken late", nil, []time.Duration{1 * ms, 7 * ms}, FrameTimes{Missed: 1, Median: 5, P99: 11, Longest: 11, WakeP99: 7, WakeLongest: 7}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := &script{t: 3 * ms, late: c.late}
			worked := 0
			p := Plan{Frame: 10 * ms, Work: 4 * ms, Frames: 5, Units: 7}
			got := p.run(clock, func() {
				took := 4 * ms
				if worked < len(c.works) {
					took = c.works[worked]
				}
				worked++
				clock.t += took
			})
			c.want.Frames, c.want.Units = 5, 7
			if got != c.want || worked != c.worked {
				t.Errorf("%+v, worked in %d frames; want %+v, %d", got, worked, c.want, c.worked)
			}
		})
	}
}

func TestCalibrate(t *testing.T) {
	for _, per := range []time.Duration{100 * time.Nanosecond, time.Microsecond, 50 * time.Microsecond} {
		clock, calls := &script{}, 0
		units := calibrate(clock.now, 8*ms, func(units int) {
			clock.t += time.Duration(units) * per
			if calls++; calls%3 == 1 { // something else ran meanwhile
				clock.t += 5 * ms
			}
		})
		if want := int(8 * ms / per); units < want-1 || units > want {
			t.Errorf("%d units of %v take 8 ms, want %d", units, per, want)
		}
	}
	if units := calibrate((&script{}).now, ms, func(int) {}); units < 1 { // a clock that stands still
		t.Error(units)
	}
}
