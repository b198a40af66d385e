package jsonschema

import "github.com/antigravity-go/antigravity/internal/regular"

// keys is a set of names: one; those that match a pattern; those that are not among the properties of a schema and match none of its
// patterns; or those of which a lit is true.
type keys struct {
	kind    keysKind
	name    string
	pattern string
	of      *schema
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
	schemas   []*schema
	named     map[string]bool // the properties of all of them; nil: not asked for
	patterned []*schema       // those that have patterns
}

// fill finds named and patterned.
func (e *evaluation) fill() {
	e.named = map[string]bool{}
	for _, s := range e.schemas {
		for _, p := range s.properties {
			e.named[p.name] = true
		}
		if s.byPattern != nil {
			e.patterned = append(e.patterned, s)
		}
	}
}

// hasKey tells whether a name is in a set.
func (c *facts) hasKey(k keys, name string) bool {
	c.spend(1)
	switch k.kind {
	case keyNamed:
		return k.name == name
	case keyPattern:
		return c.hasString(stringSet{kind: setExpr, expr: c.pattern(k.of, "patternProperties", k.pattern)}, name)
	case keyNames:
		return c.hasString(c.scalarsUnder(k.names).strings, name)
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
	if _, ok := k.of.named[name]; ok {
		return false
	}
	for _, p := range k.of.byPattern {
		if c.hasKey(keys{kind: keyPattern, pattern: p.pattern, of: k.of}, name) {
			return false
		}
	}
	return true
}

// keyLanguage returns the names of a set as canonical strings.
func (c *facts) keyLanguage(k keys) stringSet {
	switch k.kind {
	case keyNamed:
		return just(k.name)
	case keyPattern:
		return stringSet{kind: setExpr, expr: c.pattern(k.of, "patternProperties", k.pattern)}
	case keyNames:
		return c.scalarsUnder(k.names).strings
	}
	all := stringSet{kind: setAll}
	schemas := []*schema{k.of}
	if k.kind == keyUnevaluated {
		schemas = k.by.schemas
	}
	var list []regular.Expr
	for _, s := range schemas {
		for _, p := range s.byPattern {
			list = append(list, c.pattern(s, "patternProperties", p.pattern))
		}
	}
	if len(list) > 0 {
		all = c.notStrings(stringSet{kind: setExpr, expr: c.r.Or(list...)})
	}
	return all
}
