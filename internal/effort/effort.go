// Package effort says how much a test tries. All tests together take a few minutes if each tries a sample; the environment
// variable ANTIGRAVITY_EVAL asks for more:
//
//	long   what .ci/run has time for when it is the test's turn: minutes
//	all    everything, such as each question of an evaluation: as long as it takes
package effort

import (
	"flag"
	"hash/fnv"
	"os"
	"strconv"
	"testing"
)

const (
	variable = "ANTIGRAVITY_EVAL"
	turn     = "ANTIGRAVITY_TURN"
)

// Of returns short, or long or all if ANTIGRAVITY_EVAL asks for more.
func Of(short, long, all int) int {
	switch os.Getenv(variable) {
	case "long":
		return long
	case "all":
		return all
	}
	return short
}

// All reports whether everything is to be tried.
func All() bool { return os.Getenv(variable) == "all" }

// Long reports whether more is to be tried than a sample.
func Long() bool { return os.Getenv(variable) == "long" || All() }

// Share reports whether a test tries case i of a table that takes too long for each run: every case if more is asked for, otherwise one in n.
// ANTIGRAVITY_TURN, a number, chooses which one, 0 if it is not set. In .ci/run it comes from the commit's hash, so that all cases have their turn
// in a few commits. For example, Share(i, 3) is true for the cases 1, 4, 7 … if ANTIGRAVITY_TURN is 100.
func Share(i, n int) bool { return Long() || Part(i, n) }

// Part is Share for a table that takes too long for a long run, too: it reports that every case is to be tried only if everything is.
func Part(i, n int) bool {
	number, _ := strconv.Atoi(os.Getenv(turn))
	return All() || i%n == (number%n+n)%n
}

// Turn skips a test that takes seconds and tries variations of what other tests try, too, but for one run in n: the test's name chooses a turn as
// the number of a case does for Share. A test that -run asks for always runs, so that a step of .ci/run which names it has it in each run, and so
// has everybody who looks for a fault.
func Turn(t testing.TB, n int) {
	t.Helper()
	if run := flag.Lookup("test.run"); run != nil && run.Value.String() != "" {
		return
	}
	if i := place(t.Name(), n); !Share(i, n) {
		t.Skipf("it has turn %d of %d: %s chooses, and -run has it at once", i, n, turn)
	}
}

// place is the number of a test's turn.
func place(name string, n int) int {
	sum := fnv.New32a()
	sum.Write([]byte(name))
	return int(sum.Sum32() % uint32(n))
}
