package timing

import (
	"testing"
	"time"
)

func always() bool { return true }

func unbounded(int) bool { return true }

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		Now()
	}
}

func BenchmarkTime(b *testing.B) {
	base := time.Now()
	for b.Loop() {
		_ = time.Since(base)
	}
}

func BenchmarkNumber(b *testing.B) {
	r := NewRecord(always, unbounded)
	for b.Loop() {
		r.Number(Phase{Operation: "MatMulAdd", Rows: 512, Cols: 256})
	}
}

func BenchmarkAdd(b *testing.B) {
	l := NewRecord(always, unbounded).Lane(0)
	for b.Loop() {
		l.Add(0, 1, 2, 3, 4)
	}
}

// TestClock converts moments in between and outside of those that a clock knows.
func TestClock(t *testing.T) {
	base := time.Now()
	c := clock{{100, base}, {200, base.Add(1000)}, {200, base.Add(1000)}, {400, base.Add(1400)}}
	at := 0
	for _, v := range []struct {
		ticks Ticks
		want  time.Duration
	}{{100, 0}, {150, 500}, {200, 1000}, {300, 1200}, {500, 1600}, {199, 990}, {90, -100}, {400, 1400}} {
		if got := c.time(v.ticks, &at).Sub(base); got != v.want {
			t.Errorf("%d ticks: %v, want %v", v.ticks, got, v.want)
		}
	}
}

// TestSharesHaveTheTimes keeps shares with times that the clock knows too.
func TestSharesHaveTheTimes(t *testing.T) {
	r := NewRecord(always, unbounded)
	l := r.Lane(2)
	phase := Phase{Operation: "sum", Rows: 3}
	type span struct{ before, after time.Time }
	var spans []span
	for i := range 3 * chunkShares {
		s := span{before: time.Now()}
		began := Now()
		l.Add(r.Number(phase), i, 3*chunkShares, began, Now())
		s.after = time.Now()
		spans = append(spans, s)
	}
	shares := r.Shares(2)
	if len(shares) != len(spans) || r.Count() != len(spans) || r.Threads() != 3 || len(r.Shares(1)) != 0 {
		t.Fatalf("%d shares of %d threads, want %d", len(shares), r.Threads(), len(spans))
	}
	const near = 50 * time.Millisecond // a thread may lose its processor while it compares the clocks
	for i, s := range shares {
		if s.Phase != phase || s.Thread != 2 || s.Pieces != i || s.Took < 0 {
			t.Fatalf("share %d is %+v", i, s)
		}
		if i > 0 && s.Began.Before(shares[i-1].Began.Add(shares[i-1].Took)) {
			t.Errorf("share %d began before the one before it had ended", i)
		}
		if s.Began.Before(spans[i].before.Add(-near)) || s.Began.Add(s.Took).After(spans[i].after.Add(near)) {
			t.Errorf("share %d is not within its time", i)
		}
	}
}

// TestRecordIsBounded looks that a thread has its first chunk, and others only as far as they are granted.
func TestRecordIsBounded(t *testing.T) {
	left := 1
	r := NewRecord(always, func(int) bool { left--; return left >= 0 })
	for thread := range 2 {
		l := r.Lane(thread)
		for range 5 * chunkShares {
			l.Add(r.Number(Phase{}), 1, 1, 1, 2)
		}
	}
	if n := r.Count(); n < 3*chunkShares || n > 3*chunkShares+2*stage {
		t.Errorf("%d shares are kept, want three times %d", n, chunkShares)
	}
}

// TestPhasesHaveNumbers looks phases up twice, more than there are numbers for.
func TestPhasesHaveNumbers(t *testing.T) {
	var p phases
	for range 2 {
		for i := range 2 * len(p) {
			phase := Phase{Operation: "sum", Rows: i / 2, Part: []string{"", "half"}[i%2]}
			switch n := p.number(phase); {
			case n == Untold && i < len(p), n != Untold && i >= len(p):
				t.Fatalf("phase %d has the number %d", i, n)
			case n != Untold && p.phase(n) != phase:
				t.Fatalf("phase %d is %+v", i, p.phase(n))
			}
		}
	}
	var none *Record
	if none.Wanted() || none.Lane(0) != nil {
		t.Error("a nil Record wants shares")
	}
}
