// Package effort says how much a test tries. All tests together take a few minutes if each tries a sample; the environment
// variable ANTIGRAVITY_EVAL asks for more:
//
//	long   what .ci/run has time for when it is the test's turn: minutes
//	all    everything, such as each question of an evaluation: as long as it takes
package effort

import "os"

const variable = "ANTIGRAVITY_EVAL"

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
