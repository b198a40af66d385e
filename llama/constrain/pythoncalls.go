package constrain

import (
	"fmt"
	"regexp"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
	"github.com/antigravity-go/antigravity/llama"
)

// keyword is a name that can be written before = in Python.
var keyword = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// pythonArguments returns the symbols of a function's arguments as Python's keyword arguments, for example
//
//	city="Rome", days=3, exact=True
//
// Values are literals: JSON with True, False and None, and with strings that mean the same in both.
func (w *callWriter) pythonArguments(schema []byte, o jsonschema.Options) ([]grammar.Symbol, error) {
	parameters, err := w.parameters(schema)
	if err != nil {
		return nil, err
	}
	l, r := w.language.Python(), w.language.Arena
	// first is what may stand from a parameter on if none has been written before it, and next if one has been.
	var first, next []grammar.Symbol
	for i := len(parameters) - 1; i >= 0; i-- {
		p := parameters[i]
		if !keyword.MatchString(p.name) {
			return nil, fmt.Errorf("%w: the name of the property %q cannot be written before = in Python", llama.ErrUnsupported, p.name)
		}
		o.At, o.Types = p.at, nil
		value, err := w.schema(schema, l, o)
		if err != nil {
			return nil, fmt.Errorf("properties[%q]: %w", p.name, err)
		}
		written := func(before string) []grammar.Symbol {
			return append([]grammar.Symbol{grammar.Text(r.Literal(before + p.name + "=")), value}, next...)
		}
		begins, follows := grammar.Alternatives{written("")}, grammar.Alternatives{written(", ")}
		if !p.required {
			begins, follows = append(begins, first), append(follows, next)
		}
		first, next = []grammar.Symbol{grammar.Call(w.grammar.Add(begins), 0)}, []grammar.Symbol{grammar.Call(w.grammar.Add(follows), 0)}
	}
	return first, nil
}
