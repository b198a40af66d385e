package jsonschema

import (
	"net/url"
	"strconv"
	"strings"
)

// resource is a schema with a URI of its own, in which references are looked up.
type resource struct {
	base  *url.URL
	uri   string // base as a text
	id    int    // of uri: two resources may have the same
	root  *value
	path  *place
	draft draft
}

// schemaKey identifies a schema.
type schemaKey struct {
	v  *value
	in *resource
}

// anchorKey is a name that a schema has in a resource.
type anchorKey struct {
	in   int // resource.id
	name string
}

// anchor is a schema that has a name.
type anchor struct {
	v    *value
	in   *resource
	path *place
}

// longBase is how many bytes of a URI are about as much work as a step.
const longBase = 6

// resourceOf returns the resource that a schema is in: its own if it has a URI.
func (c *compiler) resourceOf(v *value, in *resource, path *place) *resource {
	if v.kind != object || v == in.root {
		return in
	}
	if r, ok := c.inner[schemaKey{v, in}]; ok {
		return r
	}
	draft := draftOf(v, in.draft)
	id := draft.identity(v)
	if id == "" {
		return in
	}
	c.spend((len(id) + len(in.uri)) / longBase)
	u, err := in.base.Parse(id)
	if err != nil {
		return in
	}
	r := c.newResource(u, v, path, draft)
	c.inner[schemaKey{v, in}] = r
	return r
}

// newResource returns a resource.
func (c *compiler) newResource(base *url.URL, root *value, path *place, draft draft) *resource {
	r := &resource{base: base, uri: base.String(), root: root, path: path, draft: draft}
	id, ok := c.uris[r.uri]
	if !ok {
		id = len(c.uris)
		c.uris[r.uri] = id
	}
	r.id = id
	return r
}

// resolve returns the schema that a reference names.
func (c *compiler) resolve(s *schema, keyword, ref string) *schema {
	c.spend(1 + len(ref)/longBase)
	u, err := url.Parse(ref)
	if err != nil {
		c.fail("%s: %q is no URI: %v", s.path, ref, err)
	}
	target := s.in
	if u.Scheme != "" || u.Host != "" || u.Path != "" || u.RawQuery != "" || u.Opaque != "" {
		c.spend(len(s.in.uri) / longBase)
		full := s.in.base.ResolveReference(u)
		full.Fragment, full.RawFragment = "", ""
		c.index()
		target = c.resources[full.String()]
		if target == nil {
			c.unsupported(s, keyword, "%q is another document", ref)
			return c.always
		}
	}
	fragment := u.Fragment
	for _, in := range []*resource{target, c.whole} {
		if fragment == "" {
			return c.read(in.root, in, in.path)
		}
		if strings.HasPrefix(fragment, "/") {
			if v, path := pointer(in.root, in.path, fragment); v != nil {
				return c.read(v, in, path)
			}
			continue
		}
		c.index()
		if a, ok := c.anchors[anchorKey{in.id, fragment}]; ok {
			return c.read(a.v, a.in, a.path)
		}
	}
	c.fail("%s: the reference %q leads nowhere", s.path, ref)
	return nil
}

// refuseDynamic sees to it that a reference always leads to the same schema: that there is one anchor only that it can mean.
func (c *compiler) refuseDynamic(s *schema, keyword, ref string) {
	c.index()
	name := "$recursiveAnchor"
	if keyword == "$dynamicRef" {
		if _, name, _ = strings.Cut(ref, "#"); name == "" || name[0] == '/' {
			return
		}
	}
	if c.dynamic[name] > 1 {
		c.unsupported(s, keyword, "which schema %q is depends on the way that leads there", ref)
	}
}

// pointer follows a JSON pointer.
func pointer(v *value, path *place, p string) (*value, *place) {
	for token := range strings.SplitSeq(p[1:], "/") {
		name := strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		path = path.at(name)
		if v.kind == array {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v.items) {
				return nil, nil
			}
			v = v.items[i]
			continue
		}
		if v = v.get(name); v == nil {
			return nil, nil
		}
	}
	return v, path
}

// index looks for all resources and anchors of the text.
func (c *compiler) index() {
	if c.indexed {
		return
	}
	c.indexed = true
	c.resources[c.whole.uri] = c.whole
	type part struct {
		v    *value
		in   *resource
		path *place
	}
	seen := map[schemaKey]bool{}
	todo := []part{{c.whole.root, c.whole, nil}}
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		if seen[schemaKey{p.v, p.in}] {
			continue
		}
		seen[schemaKey{p.v, p.in}] = true
		c.spend(1 + len(p.v.items) + len(p.v.members))
		if p.v.kind == array {
			for i, item := range p.v.items {
				todo = append(todo, part{item, p.in, p.path.at(strconv.Itoa(i))})
			}
			continue
		}
		if p.v.kind != object {
			continue
		}
		in := c.resourceOf(p.v, p.in, p.path)
		if in != p.in {
			if _, ok := c.resources[in.uri]; !ok {
				c.resources[in.uri] = in
			}
		}
		in.draft.anchors(p.v, func(name string) {
			key := anchorKey{in.id, name}
			if _, ok := c.anchors[key]; !ok {
				c.anchors[key] = anchor{p.v, in, p.path}
			}
		})
		if a := p.v.get("$dynamicAnchor"); a != nil {
			c.dynamic[a.text]++
		}
		if a := p.v.get("$recursiveAnchor"); a != nil && a.truth {
			c.dynamic["$recursiveAnchor"]++
		}
		for _, m := range p.v.members {
			if m.name != "enum" && m.name != "const" && m.name != "default" && m.name != "examples" {
				todo = append(todo, part{m.value, in, p.path.at(m.name)})
			}
		}
	}
}
