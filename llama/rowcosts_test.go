package llama

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
	if b := bucketOf(1 << 30); b >= len(rowCosts{}.buckets) {
		t.Errorf("bucket %d", b)
	}
}

// TestRowCostsBetweenMeasurements estimates passes that lie between, below and above those that were measured.
func TestRowCostsBetweenMeasurements(t *testing.T) {
	var c rowCosts
	if c.of(5) != 0 {
		t.Errorf("%v without a measurement", c.of(5))
	}
	c.note(4, 40*time.Millisecond)
	if c.of(2) != 20*time.Millisecond || c.of(4) != 40*time.Millisecond || c.of(8) != 50*time.Millisecond {
		t.Errorf("one measurement: %v, %v, %v", c.of(2), c.of(4), c.of(8))
	}
	c.note(16, 100*time.Millisecond)
	c.note(4, 40*time.Millisecond) // while the other falls a little
	c.note(16, 100*time.Millisecond)
	if near := func(got, want time.Duration) bool { return (got - want).Abs() < time.Millisecond }; !near(c.of(10), 70*time.Millisecond) ||
		!near(c.of(16), 100*time.Millisecond) || c.latest != 100*time.Millisecond {
		t.Errorf("between two: %v, %v", c.of(10), c.of(16))
	}
}

// TestRowsBesideAnswers fills passes up on a machine whose rows cost more and more.
func TestRowsBesideAnswers(t *testing.T) {
	machine := func(rows int) time.Duration { return 10*time.Millisecond + time.Duration(rows)*time.Millisecond }
	var c rowCosts
	for _, rows := range []int{1, 4, 256} {
		c.note(rows, machine(rows))
	}
	for range 40 { // each pass is measured, and the next one goes by that
		n := 1 + c.beside(1, 256)
		c.note(n, machine(n))
	}
	if n := c.beside(1, 256); n < 10 || n > 16 { // (10+1)·9/4 = 24.75 ms: 14 rows in all
		t.Errorf("%d rows go beside one answer's", n)
	}
	if n := c.beside(1, 3); n != 3 {
		t.Errorf("%d rows where 3 are wanted", n)
	}
	c = rowCosts{}
	c.note(1, time.Millisecond)
	c.note(2, time.Hour)
	if n := c.beside(1, 256); n != leastBeside {
		t.Errorf("%d rows where each takes too long: prompts must go on", n)
	}
}

// TestRowCostsForget measures a number of rows while the machine is busy, which does not come up again for that reason.
func TestRowCostsForget(t *testing.T) {
	var c rowCosts
	c.note(1, 10*time.Millisecond)
	c.note(8, time.Second)
	passes := 0
	for c.of(8) > 30*time.Millisecond {
		c.note(1, 10*time.Millisecond)
		if passes++; passes > 2000 {
			t.Fatalf("after %d passes of one row 8 rows still seem to take %v", passes, c.of(8))
		}
	}
	if passes < 100 {
		t.Errorf("after %d passes what was measured is forgotten", passes)
	}
	c.note(8, 30*time.Millisecond)
	for range 8 {
		c.note(8, time.Second)
		c.note(8, 30*time.Millisecond)
		c.note(8, 30*time.Millisecond)
	}
	if c.of(8) > 80*time.Millisecond {
		t.Errorf("passes that are held up now and then seem to take %v", c.of(8))
	}
}

// TestRareRowsDoNotLookCheap measures a number of rows now and then, between many passes of one row: its estimate hardly falls below
// what it was measured to take. That of another number, which was measured once, falls no further than to what one row takes.
func TestRareRowsDoNotLookCheap(t *testing.T) {
	var c rowCosts
	c.note(16, 8*time.Millisecond)
	for round := range 60 {
		c.note(4, 4*time.Millisecond)
		for range 50 {
			c.note(1, time.Millisecond)
		}
		if got := c.of(4); round > 0 && got < 3900*time.Microsecond || got > 4*time.Millisecond {
			t.Fatalf("round %d: 4 rows, which take 4 ms each time, seem to take %v", round, got)
		}
	}
	if got := c.of(16); got < time.Millisecond || got > 2*time.Millisecond {
		t.Errorf("16 rows, which took 8 ms 3000 passes ago, seem to take %v, want little more than one row", got)
	}
}
