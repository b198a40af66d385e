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

// Read reads the schemas of the document v. It returns all of them, and the one at the top.
func Read(v *document.Value, m *limits.Meter, ledger *Ledger) (all *Schemas, top *Schema) {
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
	top = c.read(v, c.whole, nil)
	c.readAll()
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
	case v.Kind != document.Object:
		limits.Fail("%q is neither an object nor true nor false: it is no schema", s.Path)
	}
	c.Spend(len(v.Members))
	if ref := v.Get("$ref"); ref != nil && s.in.draft.refAlone() && ref.Kind == document.Text {
		s.Ref = append(s.Ref, c.resolve(s, "$ref", ref.Text))
		s.Applicators = s.Ref
		return
	}
	s.Trivial = true
	for _, m := range v.Members {
		if k, ok := keywords[m.Name]; ok && k.since <= s.in.draft && s.in.draft <= k.until {
			s.Trivial = false
			k.read(c, s, v, m.Value, s.Path.At(m.Name))
		}
	}
	if s.If == nil {
		s.Then, s.Else = nil, nil
	}
}
