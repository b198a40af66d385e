package jsonschema

import "net/url"

// readSchemas reads the schemas of a text. It returns all of them, and the whole one.
func readSchemas(v *value, m *meter, ledger *Ledger) (all *schemas, top *schema) {
	all = &schemas{meter: m, ledger: ledger}
	c := &reader{meter: m, schemas: all, known: map[schemaKey]*schema{}, resources: &resources{
		meter: m, inner: map[schemaKey]*resource{}, uris: map[string]int{},
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
	c.always = c.add(&schema{in: c.whole}, func(s *schema) { s.trivial = true })
	top = c.read(v, c.whole, nil)
	c.readAll()
	return all, top
}

// readAll reads what the schemas say that were found, and those below them.
func (c *reader) readAll() {
	for len(c.unread) > 0 {
		s := c.unread[0]
		c.unread, c.here = c.unread[1:], s
		c.readKeywords(s)
		c.link(s)
		if c.ledger.loose[spot{s.value, s.in.root}] {
			c.leaveOut(s)
		}
	}
}

// readKeywords reads what s says.
func (c *reader) readKeywords(s *schema) {
	v := s.value
	switch {
	case v.kind == boolean:
		s.never, s.trivial = !v.truth, v.truth
		if s.never {
			s.types = 0
		}
		return
	case v.kind != object:
		fail("%q is neither an object nor true nor false: it is no schema", s.path)
	}
	c.spend(len(v.members))
	if ref := v.get("$ref"); ref != nil && s.in.draft.refAlone() && ref.kind == text {
		s.ref = append(s.ref, c.resolve(s, "$ref", ref.text))
		s.applicators = s.ref
		return
	}
	s.trivial = true
	for _, m := range v.members {
		if k, ok := keywords[m.name]; ok && k.since <= s.in.draft && s.in.draft <= k.until {
			s.trivial = false
			k.read(c, s, v, m.value, s.path.at(m.name))
		}
	}
	if s.cond == nil {
		s.then, s.otherwise = nil, nil
	}
}
