package constrain

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/admits"
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
	"github.com/antigravity-go/antigravity/internal/regular"
	"github.com/antigravity-go/antigravity/llama"
)

// taggedArguments returns the symbols of a function's arguments between tags. A text stands as it is, up to its tag's end. For example, Qwen 3.5
// writes
//
//	<parameter=city>
//	Rome
//	</parameter>
//	<parameter=days>
//	3
//	</parameter>
func (w *callWriter) taggedArguments(schema []byte, o jsonschema.Options) ([]grammar.Symbol, error) {
	parameters, err := w.parameters(schema)
	if err != nil {
		return nil, err
	}
	read, err := admits.Parse(schema)
	if err != nil {
		return nil, err
	}
	tags := w.family.Tags
	var all []grammar.Symbol
	for _, p := range parameters {
		if strings.ContainsAny(p.name, "<>\n") || strings.TrimSpace(p.name) != p.name || p.name == "" {
			return nil, fmt.Errorf("%w: the name of the property %q cannot be written in a tag", llama.ErrUnsupported, p.name)
		}
		o.At = p.at
		value, err := w.taggedValue(schema, read, read.Property(p.name), o)
		if err != nil {
			return nil, fmt.Errorf("properties[%q]: %w", p.name, err)
		}
		name := grammar.Text(w.language.Arena.Literal(p.name))
		whole := slices.Concat(w.parts(tags.BeforeName), []grammar.Symbol{name}, w.parts(tags.AfterName), []grammar.Symbol{value}, w.parts(tags.AfterValue))
		if p.required {
			all = append(all, whole...)
			continue
		}
		all = append(all, grammar.Call(w.grammar.Add(grammar.Alternatives{whole, {}}), 0))
	}
	return all, nil
}

// taggedValue returns the symbol of a property's value: a text as it is, or another value as JSON. Whoever reads it takes it for JSON if it is
// JSON that the schema takes, and otherwise for a text. So null, for a schema of a text or null, is null, which fits. part is the property's
// schema as read has it, o.At its place in the schema of the arguments.
func (w *callWriter) taggedValue(schema []byte, read *admits.Schema, part any, o jsonschema.Options) (grammar.Symbol, error) {
	var others []string
	for _, name := range jsonschema.TypeNames() {
		if name != "string" && read.Type(part, name) {
			others = append(others, name)
		}
	}
	if !read.Text(part) {
		o.Types = nil
		return w.schema(schema, w.language, w.spaced(o))
	}
	// A schema may have no text at all, or no other value, in spite of its types. Then it is an error to compile that side alone.
	var ways grammar.Alternatives
	texts, err := w.taggedText(schema, others, o)
	switch {
	case err == nil:
		ways = append(ways, []grammar.Symbol{texts})
	case !isMistake(err):
		return texts, err
	}
	if len(others) > 0 {
		var values grammar.Symbol
		o.Types = others
		values, err = w.schema(schema, w.language, w.spaced(o))
		switch {
		case err == nil:
			ways = append(ways, []grammar.Symbol{values})
		case !isMistake(err):
			return values, err
		}
	}
	if len(ways) == 0 {
		return grammar.Symbol{}, err
	}
	return grammar.Call(w.grammar.Add(ways), 0), nil
}

// isMistake reports whether a schema is wrong, or has no value.
func isMistake(err error) bool {
	var mistake *jsonschema.MistakeError
	return errors.As(err, &mistake)
}

// taggedText returns the symbol of the texts that fit a schema, as they stand between tags. others are the types of other values that fit,
// too: no text is one that is read as such a value and does not fit.
func (w *callWriter) taggedText(schema []byte, others []string, o jsonschema.Options) (grammar.Symbol, error) {
	l, r := w.language.Marked("", w.family.Tags.End), w.language.Arena
	o.Types = []string{"string"}
	symbol, err := w.schema(schema, l, o)
	if err != nil {
		return symbol, err
	}
	texts, ok := symbol.Expr()
	if !ok {
		return symbol, fmt.Errorf("%w: its texts are no regular language", llama.ErrUnsupported)
	}
	taken := regular.None
	if slices.Contains(others, "number") || slices.Contains(others, "integer") {
		taken = r.Or(taken, w.language.Number)
	}
	if slices.Contains(others, "array") || slices.Contains(others, "object") {
		taken = r.Or(taken, r.Concat(r.Class(regular.ClassOf('[', '{')), regular.All))
	}
	if taken != regular.None {
		white := r.Star(r.Class(regular.ClassOf(' ', '\t', '\r', '\n')))
		texts = r.Minus(texts, r.Concat(white, taken, white))
		r.Reach(texts)
	}
	return grammar.Text(texts), nil
}
