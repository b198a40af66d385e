package precise

import (
	"testing"
	"time"
)

// TestNow reads the time again and again: the least step is less than what a token of a small model takes.
func TestNow(t *testing.T) {
	least := time.Hour
	before, system := Now(), time.Now()
	for range 1000 {
		now := Now()
		step := now.Sub(before)
		if step < 0 {
			t.Fatalf("the time goes back by %v", -step)
		}
		if step > 0 {
			least = min(least, step)
		}
		before = now
	}
	if least > 50*time.Microsecond {
		t.Errorf("the least step is %v", least)
	}
	if apart := before.Sub(system); apart < -time.Second || Since(before) < 0 {
		t.Errorf("%v after the system's time", apart)
	}
}

func TestNowAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _ = Since(Now()) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
