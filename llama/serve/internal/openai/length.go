package openai

import (
	"fmt"

	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// length is a parameter that bounds an answer, in tokens.
type length struct {
	name  string
	value *int
}

// lengthOf returns the bound that parameters give, or 0. -1 is no bound, too. If several are given, they must agree.
func lengthOf(parameters ...length) (most int, err error) {
	before := ""
	for _, p := range parameters {
		switch {
		case p.value == nil || *p.value == -1:
			continue
		case *p.value < 1:
			return 0, wire.Invalid(p.name, "%s is %d; it must be 1 or more, or -1 for no bound", p.name, *p.value)
		case before != "" && *p.value != most:
			return 0, wire.Invalid(p.name, "%s is %d, and %s is %d: give one of them", p.name, *p.value, before, most)
		}
		most, before = *p.value, p.name
	}
	return most, nil
}

// countOf returns how many answers a request asks for, which may be most.
func countOf(n *int, most int) (int, error) {
	if n == nil {
		return 1, nil
	}
	if *n < 1 || *n > most {
		return 0, wire.Invalid("n", "n is %d; it must be 1 to %d", *n, most)
	}
	return *n, nil
}

// place returns the place of a list's element.
func place(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }
