// Package linear is for tests that something takes linear time. They count the statements that run, and never look at a clock:
// TestGrowth compiles the tests that call Check with counters in every block of the module's code, runs them twice, and compares.
package linear

import (
	"os"
	"testing"
)

// parts is into how many parts the work is divided if divided is in the environment.
const parts = 16

// divided is the environment variable with which Check does the work in parts.
const divided = "ANTIGRAVITY_LINEAR_PARTS"

// Check does work for n. TestGrowth has it done in 16 parts of n/16, too, and counts: for an algorithm that takes linear time both
// run each block of code about as often, and for a quadratic one the whole runs some block 16 times as often as the parts.
func Check(t *testing.T, n int, work func(n int)) {
	t.Helper()
	if os.Getenv(divided) == "" {
		work(n)
		return
	}
	for range parts {
		work(n / parts)
	}
}

// Texts returns texts of n bytes each that tokenizers have to work hard on, by name.
func Texts(n int) map[string]string {
	texts := map[string]string{"words": repeat("word by word, ", n), "a random word": random(n)}
	for name, unit := range map[string]string{
		"spaces": " ", "letters": "a", "newlines": "\n", "emoji": "🦙", "family": "👩‍👩‍👧‍👦", "digits": "7", "apostrophes": "'", "equals signs": "=", "hangul": "한",
		"combining marks": "\u0301", "no UTF-8": "\xff", "half characters": "\xf0\x9f", "tabs and line ends": "\t\r\n", "ideographic spaces": "\u3000",
		"space marks": "▁", "half a tag": "<|", "tags": "<|eot_id|>", "tag and space": " <s>", "underscores": "_", "U+FDFA": "\uFDFA",
	} {
		texts[name] = repeat(unit, n)
	}
	return texts
}

// repeat returns n bytes of the unit, again and again; the last one may be cut.
func repeat(unit string, n int) string {
	b := make([]byte, 0, n+len(unit))
	for len(b) < n {
		b = append(b, unit...)
	}
	return string(b[:n])
}

// random returns n letters from a linear congruential generator, always the same.
func random(n int) string {
	b := make([]byte, n)
	state := uint32(1)
	for i := range b {
		state = state*1664525 + 1013904223
		b[i] = 'a' + byte(state>>24)%26
	}
	return string(b)
}
