// Package read is the first step of a compilation: the values of a document become schemas.
//
// A Schema has a field for what each keyword says, in whatever draft it is written, and pointers to the schemas below it. A reference is a
// schema in Ref: it is resolved here, so that later steps know nothing of URIs, anchors and drafts. Which keywords there are is a table,
// keywords. Of
//
//	{"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"], "$defs": {"n": {"type": "integer"}}}
//
// the schemas are, by their ID:
//
//	0  true
//	1  Types: objects, Properties: a is 2, Required: a
//	2  Ref: 3
//	3  Types: integers
//
// Later steps add schemas that no text has (Schemas.Add), such as that of one value of an enumeration.
package read

import (
	"net/url"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
)

// Options say which schema of a document is read.
type Options struct {
	At    string  // its JSON pointer
	Types TypeSet // its values must be of these types; 0: no demand
}

// Read reads the schemas of the document v. It returns all of them, and the one that o names.
func Read(v *document.Value, o Options, m *limits.Meter, ledger *Ledger) (all *Schemas, top *Schema) {
	all = &Schemas{Meter: m, ledger: ledger}
	c := &reader{Meter: m, Schemas: all, known: map[schemaKey]*Schema{}, resources: &resources{
		Meter: m, inner: map[schemaKey]*resource{}, uris: map[string]int{},
		byURI: map[string]*resource{}, anchors: map[anchorKey]anchor{}, dynamic: map[string]int{},
	}}
	draft, base := draftOf(v, draft2020), &url.URL{}
	if id := draft.identity(v); id != "" {
		if u, err := url.Parse(id); err == nil {
			u.Fragment, u.RawFragment = "", ""
			base = u
		}
	}
	c.whole = c.newResource(base, v, nil, draft)
	c.Always = c.Add(&Schema{in: c.whole}, func(s *Schema) { s.Trivial = true })
	var at *document.Place
	if o.At != "" {
		if v, at = v.At(o.At, nil); v == nil {
			limits.Fail(at, "there is no schema at %q", o.At)
		}
	}
	top = c.read(v, c.whole, at)
	c.readAll()
	if o.Types != 0 && top.Types != o.Types {
		within := top
		top = c.Add(within, func(s *Schema) { s.Types, s.AllOf, s.Applicators = o.Types, []*Schema{within}, []*Schema{within} })
	}
	return all, top
}

// readAll reads what the schemas say that were found, and those below them.
func (c *reader) readAll() {
	for len(c.unread) > 0 {
		s := c.unread[0]
		c.unread, c.Here = c.unread[1:], s
		c.readKeywords(s)
		c.link(s)
		if c.ledger.loose[spot{s.value, s.in.root}] {
			c.leaveOut(s)
		}
	}
}

// readKeywords reads what s says.
func (c *reader) readKeywords(s *Schema) {
	v := s.value
	switch {
	case v.Kind == document.Boolean:
		s.Never, s.Trivial = !v.Truth, v.Truth
		if s.Never {
			s.Types = 0
		}
		return
	case c.ledger.dropped[v] != "":
		s.Trivial = true
		c.Unsupported(s, "", "%s", c.ledger.dropped[v])
		return
	case v.Kind != document.Object && c.ledger.Lossy:
		s.Trivial = true
		if v.Kind != document.Null && (v.Kind != document.Array || len(v.Items) > 0) { // as if it was not there
			c.Unsupported(s, "", "it is neither an object nor true nor false")
		}
		return
	case v.Kind != document.Object:
		limits.Fail(s.Path, "%q is neither an object nor true nor false: it is no schema", s.Path)
	}
	c.Spend(len(v.Members))
	s.Trivial = true
	if ref := v.Get("$ref"); ref != nil && s.in.draft.refAlone() && ref.Kind == document.Text {
		c.readKeyword(s, keywords["$ref"], "$ref", ref)
		return
	}
	for _, m := range v.Members {
		if k, ok := keywords[m.Name]; ok && k.since <= s.in.draft && s.in.draft <= k.until {
			c.readKeyword(s, k, m.Name, m.Value)
		}
	}
	if s.If == nil {
		s.Then, s.Else = nil, nil
	}
}

// readKeyword reads a keyword of s. In lossy mode, one that is wrong is left out, and one that says nothing is passed over: null, a
// type "", and the empty array that some languages write for an empty object.
func (c *reader) readKeyword(s *Schema, k keyword, name string, v *document.Value) {
	path := s.Path.At(name)
	if !c.ledger.Lossy {
		s.Trivial = false
		k.read(c, s, s.value, v, path)
		return
	}
	empty := v.Kind == document.Array && len(v.Items) == 0 || v.Kind == document.Object && len(v.Members) == 0
	if v.Kind == document.Null && name != "const" || name == "type" && v.Kind == document.Text && v.Text == "" {
		return
	}
	before := *s
	if mistake := limits.Mistake(func() { s.Trivial = false; k.read(c, s, s.value, v, path) }); mistake != nil {
		id, users := s.ID, s.users
		*s = before
		if s.ID, s.users = id, users; !empty {
			c.Unsupported(s, name, "%s", mistake.Reason)
		}
	}
}
