// Package linear is for tests that something takes linear time. They compare two durations, and never look at seconds.
package linear

import (
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
)

const (
	parts  = 16 // into how many parts Check divides the work
	margin = 8  // how many times as long the work may take at once as in parts
	rounds = 8  // how often Check measures before it fails
)

// Check fails a test where work takes time that grows faster than n: for n at once it may take 8 times as long as for n in 16
// parts, where a quadratic algorithm takes 16 times as long. It takes the best of several rounds, as other programs may run
// beside the test, and ends with the first that will do.
func Check(t *testing.T, n int, work func(n int)) {
	t.Helper()
	var inParts, atOnce time.Duration
	for round := range rounds {
		inParts = best(round, inParts, timed(parts, n/parts, work))
		atOnce = best(round, atOnce, timed(1, n, work))
		if atOnce <= margin*inParts {
			return
		}
	}
	t.Errorf("%d bytes took %v in %d parts, and %v at once; at most %v would be right", n, inParts, parts, atOnce, margin*inParts)
}

// best returns the shorter of the best duration so far, which there is after round 0, and another one.
func best(round int, a, b time.Duration) time.Duration {
	if round == 0 {
		return b
	}
	return min(a, b)
}

// timed returns how long it takes to do the work for n a number of times.
func timed(times, n int, work func(n int)) time.Duration {
	start := precise.Now()
	for range times {
		work(n)
	}
	return precise.Since(start)
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
