package effort

import (
	"strconv"
	"testing"
)

// TestShare gives each case its turn once in n runs, and all cases if more is asked for.
func TestShare(t *testing.T) {
	for _, n := range []int{1, 3, 5} {
		for i := range 10 {
			times := 0
			for number := range n {
				t.Setenv(turn, strconv.Itoa(number-2))
				if Share(i, n) {
					times++
				}
			}
			if times != 1 {
				t.Errorf("case %d has its turn %d times in %d runs", i, times, n)
			}
		}
	}
	t.Setenv(turn, "100")
	if !Share(1, 3) || Share(2, 3) {
		t.Error("the example is wrong")
	}
	if t.Setenv(turn, ""); !Share(0, 3) || Share(1, 3) {
		t.Error("without a number the first case has no turn")
	}
	if t.Setenv(variable, "long"); !Share(1, 3) {
		t.Error("a long run leaves a case out")
	}
	if Part(1, 3) || !Part(0, 3) {
		t.Error("a long run has more than a part of a table that is too long for it")
	}
	if t.Setenv(variable, "all"); !Share(1, 3) || !Part(1, 3) {
		t.Error("a run of everything leaves a case out")
	}
}
