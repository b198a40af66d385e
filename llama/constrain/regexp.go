package constrain

import (
	"context"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/pattern"
	"github.com/antigravity-go/antigravity/internal/regular"
	"github.com/antigravity-go/antigravity/llama"
)

// Regexp allows the texts that match a regular expression in Go's syntax (package regexp/syntax), from their beginning to their end:
// `[A-Z]{2}-\d+` allows "AB-12" and nothing around it.
//
// An expression that is not valid, or that has an assertion that no automaton can decide, is an error with the place.
func Regexp(t *llama.Tokenizer, expr string) (llama.Constraint, error) {
	return made(compile(context.Background(), t, "regular expression", []byte(expr), func(l *jsonexpr.Language, _ *grammar.Grammar) (grammar.Symbol, error) {
		e, err := pattern.RE2(l.Arena, pattern.Raw, expr)
		if err == nil && !l.Arena.Alive(e) { // assertions that contradict each other: nothing matches
			e = regular.None
		}
		return grammar.Text(e), err
	}))
}
