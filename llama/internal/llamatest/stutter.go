package llamatest

import (
	"regexp"
	"testing"
)

// packagePrefix finds the names of packages that an error's text begins with, or one of the errors that it wraps.
var packagePrefix = regexp.MustCompile(`(?:^|: )(llama|kvcache|eviction|backend|tensor|quant|gguf|safetensors|bpe|chat|jinja|mmap): `)

// CheckStutter fails when an error names a package twice.
func CheckStutter(t testing.TB, text string) {
	t.Helper()
	seen := map[string]bool{}
	for _, match := range packagePrefix.FindAllStringSubmatch(text, -1) {
		if seen[match[1]] {
			t.Errorf("an error names %s twice: %s", match[1], text)
		}
		seen[match[1]] = true
	}
}
