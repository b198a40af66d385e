package constrain

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
)

// UnsupportedError says what of a schema cannot be promised.
type UnsupportedError struct {
	Keyword string // "uniqueItems"
	Path    string // the JSON pointer, in the schema, of the schema that has the keyword: "/properties/tags"; "" is the whole schema
	Reason  string
}

// Error names the keyword, its place and the reason.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("the keyword %q at %q cannot be promised: %s", e.Keyword, e.Path, e.Reason)
}

// compileSchema adds the rules of a schema to g, and returns the symbol of its values and, in lossy mode, the parts that were left out.
func compileSchema(schema []byte, l *jsonexpr.Language, g *grammar.Grammar, o jsonschema.Options) (grammar.Symbol, []*UnsupportedError, error) {
	symbol, omitted, err := jsonschema.Compile(schema, l, g, o)
	var u *jsonschema.UnsupportedError
	if errors.As(err, &u) {
		err = (*UnsupportedError)(u)
	}
	var left []*UnsupportedError
	for _, u := range omitted {
		left = append(left, (*UnsupportedError)(u))
	}
	return symbol, left, err
}
