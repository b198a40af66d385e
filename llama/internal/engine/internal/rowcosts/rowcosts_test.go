package rowcosts

import (
	"testing"
	"time"
)

func TestBucketsOfRows(t *testing.T) {
	for rows := 1; rows <= 2000; rows++ {
		b := bucketOf(rows)
		if from := rowsOf(b); from > rows || rowsOf(b+1) <= rows || rows > from+from/4 {
			t.Fatalf("%d rows are in the bucket of %d to %d rows", rows, from, rowsOf(b+1)-1)
		}
	}
	if b := bucketOf(1 << 30); b >= len(passCosts{}) {
		t.Errorf("bucket %d", b)
	}
}

// TestRowCostsBetweenMeasurements estimates passes that lie between, below and above those that were measured.
func TestRowCostsBetweenMeasurements(t *testing.T) {
	var c Costs
	if c.Of(5) != 0 {
		t.Errorf("%v without a measurement", c.Of(5))
	}
	c.Note(4, 0, 40*time.Millisecond)
	if c.Of(2) != 20*time.Millisecond || c.Of(4) != 40*time.Millisecond || c.Of(8) != 50*time.Millisecond {
		t.Errorf("one measurement: %v, %v, %v", c.Of(2), c.Of(4), c.Of(8))
	}
	c.Note(16, 0, 100*time.Millisecond)
	c.Note(4, 0, 40*time.Millisecond) // while the other falls a little
	c.Note(16, 0, 100*time.Millisecond)
	if near := func(got, want time.Duration) bool { return (got - want).Abs() < time.Millisecond }; !near(c.Of(10), 70*time.Millisecond) ||
		!near(c.Of(16), 100*time.Millisecond) || c.Latest != 100*time.Millisecond {
		t.Errorf("between two: %v, %v", c.Of(10), c.Of(16))
	}
}

// TestRowsBesideAnswers fills passes up on machines with dear and cheap rows, also while a prompt's rows become dearer.
func TestRowsBesideAnswers(t *testing.T) {
	var c Costs
	row, jump := time.Millisecond, time.Duration(0)
	pass := func(most int) (n int, took time.Duration) {
		n = c.Beside(most)
		took = 10*time.Millisecond + jump + time.Duration(1+n)*row
		c.Note(1+n, n, took)
		return n, took
	}
	for _, step := range []struct {
		row, jump time.Duration
		least     int
		most      int
	}{
		{time.Millisecond, 0, 11, 14},                             // 11 ms with one row: 24.75 ms allow 13
		{time.Millisecond / 4, 0, 48, 60},                         // rows become cheap
		{4 * time.Millisecond, 0, leastBeside, leastBeside},       // and dear
		{time.Millisecond, 0, 11, 14},                             // and as they were
		{time.Millisecond, 5 * time.Millisecond, 6, 9},            // the first row of a prompt costs more
		{time.Millisecond, time.Second, leastBeside, leastBeside}, // nothing is allowed
	} {
		row, jump = step.row, step.jump
		for range 10 {
			c.Note(1, 0, 11*time.Millisecond)
		}
		most := 0
		for i := range 200 {
			n, _ := pass(256)
			if i > 60 && (n < step.least || n > step.most) {
				t.Fatalf("%+v: %d rows go beside one answer's in pass %d", step, n, i)
			}
			most = max(most, n)
		}
		if n, _ := pass(3); n != 3 {
			t.Errorf("%d rows where 3 are wanted", n)
		}
	}
}

// TestRowCostsForget measures a number of rows while the machine is busy, which does not come up again for that reason.
func TestRowCostsForget(t *testing.T) {
	var c Costs
	c.Note(1, 0, 10*time.Millisecond)
	c.Note(8, 0, time.Second)
	passes := 0
	for c.Of(8) > 30*time.Millisecond {
		c.Note(1, 0, 10*time.Millisecond)
		if passes++; passes > 2000 {
			t.Fatalf("after %d passes of one row 8 rows still seem to take %v", passes, c.Of(8))
		}
	}
	if passes < 100 {
		t.Errorf("after %d passes what was measured is forgotten", passes)
	}
	c.Note(8, 0, 30*time.Millisecond)
	for range 8 {
		c.Note(8, 0, time.Second)
		c.Note(8, 0, 30*time.Millisecond)
		c.Note(8, 0, 30*time.Millisecond)
	}
	if c.Of(8) > 80*time.Millisecond {
		t.Errorf("passes that are held up now and then seem to take %v", c.Of(8))
	}
}

// TestRareRowsDoNotLookCheap measures a number of rows now and then, between many passes of one row: its estimate hardly falls below
// what it was measured to take. That of another number, which was measured once, falls no further than to what one row takes.
func TestRareRowsDoNotLookCheap(t *testing.T) {
	var c Costs
	c.Note(16, 0, 8*time.Millisecond)
	for round := range 60 {
		c.Note(4, 0, 4*time.Millisecond)
		for range 50 {
			c.Note(1, 0, time.Millisecond)
		}
		if got := c.Of(4); round > 0 && got < 3900*time.Microsecond || got > 4*time.Millisecond {
			t.Fatalf("round %d: 4 rows, which take 4 ms each time, seem to take %v", round, got)
		}
	}
	if got := c.Of(16); got < time.Millisecond || got > 2*time.Millisecond {
		t.Errorf("16 rows, which took 8 ms 3000 passes ago, seem to take %v, want little more than one row", got)
	}
}

// TestAnswersCostTogether makes a machine slower and faster again, while passes of two rows are measured seldom: the share that the second row adds
// stays believable all the time, and is right again after few measurements.
func TestAnswersCostTogether(t *testing.T) {
	var c Costs
	share := func() float64 { return float64(c.OfAnswers(2))/float64(c.OfAnswers(1)) - 1 }
	pace := 1.
	pass := func(rows int, took float64) { c.Note(rows, 0, time.Duration(took*pace*float64(time.Millisecond))) }
	for range 20 {
		pass(1, 10)
		pass(2, 14)
	}
	for _, pace = range []float64{1, 2, 1, 3, 0.5, 1} {
		for range 40 {
			pass(1, 10)
		}
		if s := share(); s < -0.1 || s > 1.2 {
			t.Errorf("%g times as slow, before two rows are measured: the second one adds %.2f", pace, s)
		}
		for range 12 {
			pass(2, 14)
			for range 5 {
				pass(1, 10)
			}
		}
		if s := share(); s < 0.2 || s > 0.5 {
			t.Errorf("%g times as slow: the second row adds %.2f, want about 0.4", pace, s)
		}
	}
}

// TestPromptsAreNoAnswers measures prompts, which need no logits of their rows: they make rows of answers look neither cheap nor dear.
func TestPromptsAreNoAnswers(t *testing.T) {
	var c Costs
	for range 10 {
		c.Note(1, 0, 10*time.Millisecond)
		c.Note(4, 0, 20*time.Millisecond)
		c.Note(4, 4, 11*time.Millisecond)
		c.Note(2, 1, 50*time.Millisecond)
	}
	if one, two, four := c.OfAnswers(1), c.OfAnswers(2), c.OfAnswers(4); one != 10*time.Millisecond || four != 20*time.Millisecond || two <= one || two >= four {
		t.Errorf("rows of answers take %v, %v and %v", one, two, four)
	}
}
