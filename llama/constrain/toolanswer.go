package constrain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
	"github.com/antigravity-go/antigravity/llama"
)

// formed returns the symbol of the answers that call nothing and fit ToolOptions.Answer. They are one line, so that nothing within them
// begins a line of its own, as some families' calls do.
func (w *callWriter) formed(tools []json.RawMessage) (symbol grammar.Symbol, err error) {
	schema, o := w.options.Answer.Schema, w.options.Answer.Options
	symbol, left, err := compileSchema(schema, w.language.OneLine(), w.grammar, jsonschema.Options{Lossy: o.Lossy, AnyOrder: !o.Ordered, Budget: w.budget})
	w.left = append(w.left, left...)
	if err != nil {
		return symbol, err
	}
	if mark := w.family.Mark(); mark != "" && !w.family.Quoted() {
		if id, ok := w.tokenizer.ID(mark); !ok || !w.tokenizer.Special(id) {
			return symbol, fmt.Errorf("%w: a string of it could hold a call, since the vocabulary has no token for %q", llama.ErrUnsupported, mark)
		}
	}
	if !w.family.OwnLine() {
		return symbol, nil
	}
	r := callReader{steps: maxSteps}
	for _, data := range tools {
		if f, err := parseTool(data); err == nil {
			r.names = append(r.names, f.Name)
		}
	}
	if json.Unmarshal(schema, &r.root) != nil {
		return symbol, nil // compileSchema has read it
	}
	// Pointers lead elsewhere where parts of the schema have names of their own.
	r.lost = strings.Contains(string(schema), `"$id"`)
	dropped := slices.ContainsFunc(left, func(u *UnsupportedError) bool { return slices.Contains(readKeywords, u.Keyword) })
	if dropped || r.admits(r.root, r.call) {
		return symbol, fmt.Errorf("%w: an object of this schema could be taken for a call of a function; it must not allow a function's name as "+
			`"name" beside an object as "parameters" or "arguments": say which "properties" there are, and "additionalProperties": false`, llama.ErrUnsupported)
	}
	return symbol, nil
}

// callReader finds schemas with values that can be read as calls: JSON objects with the members "name" and "parameters" or "arguments". In
// doubt it answers yes: keywords that it does not know can only forbid more.
type callReader struct {
	root  any      // the whole schema
	names []string // of functions
	lost  bool     // references cannot be followed
	steps int      // how many more schemas may be looked at
}

// readKeywords are the keywords that callReader relies on.
var readKeywords = []string{"$ref", "allOf", "anyOf", "oneOf", "type", "enum", "const", "properties", "additionalProperties", "patternProperties"}

// maxSteps bounds how many schemas are looked at: parts that refer to each other could be looked at for ever.
const maxSteps = 10_000

// longList is how many values of an enumeration, or bytes of a reference, are as much to look at as a schema.
const longList = 64

// admits reports whether a schema may have a value of some kind. may reports it for the keywords of one object.
func (r *callReader) admits(schema any, may func(s map[string]any) bool) bool {
	s, ok := schema.(map[string]any)
	if !ok {
		return schema != false
	}
	if r.steps--; r.steps < 0 {
		return true
	}
	if ref, ok := s["$ref"].(string); ok { // its neighbours count in newer drafts only
		target, ok := r.resolve(ref)
		return !ok || r.admits(target, may)
	}
	each := func(one any) bool { return r.admits(one, may) }
	if all, ok := s["allOf"].([]any); ok && slices.ContainsFunc(all, func(one any) bool { return !each(one) }) {
		return false
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if some, ok := s[keyword].([]any); ok && !slices.ContainsFunc(some, each) {
			return false
		}
	}
	return may(s)
}

// resolve returns what a reference within the schema points to.
func (r *callReader) resolve(ref string) (target any, ok bool) {
	path, ok := strings.CutPrefix(ref, "#")
	r.steps -= len(path) / longList
	if !ok || r.lost || r.steps < 0 || strings.Contains(path, "%") {
		return nil, false
	}
	target = r.root
	if path == "" {
		return target, true
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		s, ok := target.(map[string]any)
		if !ok {
			return nil, false
		}
		if target, ok = s[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]; !ok {
			return nil, false
		}
	}
	return target, true
}

// call reports whether an object may be a call.
func (r *callReader) call(s map[string]any) bool {
	member := func(name string, may func(map[string]any) bool) bool {
		properties, _ := s["properties"].(map[string]any)
		if p, ok := properties[name]; ok {
			return r.admits(p, may)
		}
		_, patterns := s["patternProperties"]
		rest, ok := s["additionalProperties"]
		return patterns || !ok || r.admits(rest, may)
	}
	return r.object(s) && member("name", r.name) && (member("parameters", r.object) || member("arguments", r.object))
}

// object reports whether a value may be an object.
func (r *callReader) object(s map[string]any) bool {
	return ofType(s, "object") && r.listed(s, func(v any) bool { _, ok := v.(map[string]any); return ok })
}

// name reports whether a value may be the name of a function.
func (r *callReader) name(s map[string]any) bool {
	return ofType(s, "string") && r.listed(s, func(v any) bool { name, ok := v.(string); return ok && slices.Contains(r.names, name) })
}

// ofType reports whether the keyword type allows a type, or is absent.
func ofType(s map[string]any, name string) bool {
	switch t := s["type"].(type) {
	case string:
		return t == name
	case []any:
		return slices.Contains(t, any(name))
	}
	return true
}

// listed reports whether enum and const have a value of some kind, or are absent.
func (r *callReader) listed(s map[string]any, is func(any) bool) bool {
	list, ok := s["enum"].([]any)
	if r.steps -= len(list) / longList; ok && !slices.ContainsFunc(list, is) {
		return false
	}
	value, ok := s["const"]
	return !ok || is(value)
}
