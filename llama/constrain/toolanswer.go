package constrain

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/admits"
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
	"github.com/antigravity-go/antigravity/llama"
)

// formed returns the symbol of the answers that call nothing and fit ToolOptions.Answer. They are one line, so that nothing within them
// begins a line of its own, as some families' calls do.
func (w *callWriter) formed(tools []json.RawMessage) (symbol grammar.Symbol, err error) {
	schema, o := w.options.Answer.Schema, w.options.Answer.Options
	symbol, left, err := compileSchema(schema, w.language.OneLine(), w.grammar, jsonschema.Options{Spaces: o.Spaces.or(Free), Lossy: o.Lossy, AnyOrder: !o.Ordered, Budget: w.budget})
	w.left = append(w.left, left...)
	if err != nil {
		return symbol, err
	}
	if mark := w.family.Mark(); mark != "" && !w.family.Quoted() {
		if id, ok := w.tokenizer.ID(mark); !ok || !w.tokenizer.Special(id) {
			return symbol, fmt.Errorf("%w: a string of it could hold a call, since the vocabulary has no token for %q", llama.ErrUnsupported, mark)
		}
	}
	if !w.family.OwnLine() || w.family.Python { // no JSON text has a name and a parenthesis after its first bracket
		return symbol, nil
	}
	read, err := admits.Parse(schema)
	if err != nil {
		return symbol, nil // compileSchema has read it
	}
	r := callReader{Schema: read}
	for _, data := range tools {
		if f, err := parseTool(data); err == nil {
			r.names = append(r.names, f.Name)
		}
	}
	dropped := slices.ContainsFunc(left, func(u *UnsupportedError) bool { return slices.Contains(readKeywords, u.Keyword) })
	if dropped || r.Some(r.Root, r.call) {
		return symbol, fmt.Errorf("%w: an object of this schema could be taken for a call of a function; it must not allow a function's name as "+
			`"name" beside an object as "parameters" or "arguments": say which "properties" there are, and "additionalProperties": false`, llama.ErrUnsupported)
	}
	return symbol, nil
}

// callReader finds schemas with values that can be read as calls: JSON objects with the members "name" and "parameters" or "arguments".
type callReader struct {
	*admits.Schema
	names []string // of functions
}

// readKeywords are the keywords that callReader relies on.
var readKeywords = []string{"$ref", "allOf", "anyOf", "oneOf", "type", "enum", "const", "properties", "additionalProperties", "patternProperties"}

// call reports whether an object may be a call.
func (r *callReader) call(s map[string]any) bool {
	member := func(name string, may func(map[string]any) bool) bool {
		properties, _ := s["properties"].(map[string]any)
		if p, ok := properties[name]; ok {
			return r.Some(p, may)
		}
		_, patterns := s["patternProperties"]
		rest, ok := s["additionalProperties"]
		return patterns || !ok || r.Some(rest, may)
	}
	return r.object(s) && member("name", r.name) && (member("parameters", r.object) || member("arguments", r.object))
}

// object reports whether a value may be an object.
func (r *callReader) object(s map[string]any) bool {
	return admits.OfType(s, "object") && r.Listed(s, func(v any) bool { _, ok := v.(map[string]any); return ok })
}

// name reports whether a value may be the name of a function.
func (r *callReader) name(s map[string]any) bool {
	return admits.OfType(s, "string") && r.Listed(s, func(v any) bool { name, ok := v.(string); return ok && slices.Contains(r.names, name) })
}
