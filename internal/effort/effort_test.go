package effort

import (
	"flag"
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

// TestTurn gives each test its turn once in n runs. It names no test of this package, so that -run is not asked.
func TestTurn(t *testing.T) {
	defer func(run string) { flag.Set("test.run", run) }(flag.Lookup("test.run").Value.String())
	flag.Set("test.run", "")
	t.Setenv(variable, "")
	ran := 0
	for number := range 4 {
		t.Setenv(turn, strconv.Itoa(number))
		t.Run("of four", func(t *testing.T) {
			name := t.Name()
			Turn(named{t, name[:len("TestTurn/of_four")]}, 4)
			ran++
		})
	}
	if ran != 1 {
		t.Errorf("the test had its turn %d times in 4 runs", ran)
	}
	t.Setenv(variable, "long")
	Turn(t, 1<<30)
}

// named is a test with another name: a second subtest of the same name gets a number.
type named struct {
	testing.TB
	name string
}

func (n named) Name() string { return n.name }
