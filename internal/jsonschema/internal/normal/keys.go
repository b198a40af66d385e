package normal

import (
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// keys is a set of names, in one of four forms: a single name; the names that match a pattern; the names that are not among the properties
// of a schema and match no pattern of it; or the names for which a lit is true.
type keys struct {
	kind    keysKind
	name    string
	pattern string
	of      *read.Schema
	by      *evaluation
	names   lit
}

type keysKind uint8

const (
	keyNamed keysKind = iota
	keyPattern
	keyRest
	keyUnevaluated // those that neither of nor the schemas in by evaluate
	keyNames
)

// evaluation is the schemas that evaluate properties: one that has unevaluatedProperties, and those below it that are true of the same
// value.
type evaluation struct {
	schemas   []*read.Schema
	named     map[string]bool // the properties of all of them; nil: not asked for
	patterned []*read.Schema  // those that have patterns
}

// fill finds named and patterned.
func (e *evaluation) fill() {
	e.named = map[string]bool{}
	for _, s := range e.schemas {
		for _, p := range s.Properties {
			e.named[p.Name] = true
		}
		if s.ByPattern != nil {
			e.patterned = append(e.patterned, s)
		}
	}
}

// hasKey reports whether a name is in a set.
func (c *facts) hasKey(k keys, name string) bool {
	c.Spend(1)
	switch k.kind {
	case keyNamed:
		return k.name == name
	case keyPattern:
		return c.HasString(sets.Strings{Kind: sets.Expr, Expr: c.pattern(k.of, "patternProperties", k.pattern)}, name)
	case keyNames:
		return c.HasString(c.scalarsUnder(k.names).Strings, name)
	case keyUnevaluated:
		if k.by.named == nil {
			k.by.fill()
		}
		if k.by.named[name] {
			return false
		}
		for _, s := range k.by.patterned {
			if !c.hasKey(keys{kind: keyRest, of: s}, name) {
				return false
			}
		}
		return true
	}
	if _, ok := k.of.Named[name]; ok {
		return false
	}
	for _, p := range k.of.ByPattern {
		if c.hasKey(keys{kind: keyPattern, pattern: p.Pattern, of: k.of}, name) {
			return false
		}
	}
	return true
}

// keyLanguage returns the names of a set as canonical strings.
func (c *facts) keyLanguage(k keys) sets.Strings {
	switch k.kind {
	case keyNamed:
		return sets.Just(k.name)
	case keyPattern:
		return sets.Strings{Kind: sets.Expr, Expr: c.pattern(k.of, "patternProperties", k.pattern)}
	case keyNames:
		return c.scalarsUnder(k.names).Strings
	}
	all := sets.Strings{Kind: sets.All}
	schemas := []*read.Schema{k.of}
	if k.kind == keyUnevaluated {
		schemas = k.by.schemas
	}
	var list []regular.Expr
	for _, s := range schemas {
		for _, p := range s.ByPattern {
			list = append(list, c.pattern(s, "patternProperties", p.Pattern))
		}
	}
	if len(list) > 0 {
		all = c.NotStrings(sets.Strings{Kind: sets.Expr, Expr: c.Arena.Or(list...)})
	}
	return all
}
