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
	Tool    string // the name of the function that the schema belongs to; "": no function
	Keyword string // "uniqueItems"; "": the schema as a whole, which is wrong or has no value
	Path    string // the JSON pointer, in the schema, of the schema that has the keyword: "/properties/tags"; "" is the whole schema
	Reason  string
}

// Error names the keyword, its place and the reason.
func (e *UnsupportedError) Error() string {
	of := ""
	if e.Tool != "" {
		of = fmt.Sprintf(" of the function %q", e.Tool)
	}
	if e.Keyword == "" {
		return fmt.Sprintf("the schema at %q%s cannot be kept: %s", e.Path, of, e.Reason)
	}
	return fmt.Sprintf("the keyword %q at %q%s cannot be promised: %s", e.Keyword, e.Path, of, e.Reason)
}

// unsupported returns the error as this package has it.
func unsupported(e *jsonschema.UnsupportedError) *UnsupportedError {
	return &UnsupportedError{Keyword: e.Keyword, Path: e.Path, Reason: e.Reason}
}

// compileSchema adds the rules of a schema to g, and returns the symbol of its values and, in lossy mode, the parts that were left out.
func compileSchema(schema []byte, l *jsonexpr.Language, g *grammar.Grammar, o jsonschema.Options) (grammar.Symbol, []*UnsupportedError, error) {
	symbol, omitted, err := jsonschema.Compile(schema, l, g, o)
	var u *jsonschema.UnsupportedError
	if errors.As(err, &u) {
		err = unsupported(u)
	}
	var left []*UnsupportedError
	for _, u := range omitted {
		left = append(left, unsupported(u))
	}
	return symbol, left, err
}
