// Package linear is for tests of how long something takes: in proportion, not in seconds.
package linear

import (
	"testing"
	"time"
)

// What Check compares: two sizes, and how far from proportion the times may be. Quadratic time would be grown times as far.
const (
	grown  = 8
	margin = 5
	rounds = 6
)

// Check fails a test where work takes time that grows faster than n: for 8 times as much it may take 40 times as long, where
// a quadratic algorithm takes 64 times. It takes the best of several rounds, as other programs may run beside the test, and
// ends with the first that will do.
func Check(t *testing.T, n int, work func(n int)) {
	t.Helper()
	var small, large time.Duration
	for round := range rounds {
		small, large = best(round, small, timed(n/grown, work)), best(round, large, timed(n, work))
		if large <= margin*grown*small {
			return
		}
	}
	t.Errorf("%d bytes took %v, %d bytes took %v; at most %v would be right", n/grown, small, n, large, margin*grown*small)
}

func best(round int, a, b time.Duration) time.Duration {
	if round == 0 {
		return b
	}
	return min(a, b)
}

func timed(n int, work func(n int)) time.Duration {
	start := time.Now()
	work(n)
	return time.Since(start)
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

func repeat(unit string, n int) string {
	b := make([]byte, 0, n+len(unit))
	for len(b) < n {
		b = append(b, unit...)
	}
	return string(b[:n])
}

// random returns letters in no order.
func random(n int) string {
	b := make([]byte, n)
	state := uint32(1)
	for i := range b {
		state = state*1664525 + 1013904223
		b[i] = 'a' + byte(state>>24)%26
	}
	return string(b)
}
