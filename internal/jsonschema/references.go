package jsonschema

import (
	"net/url"
	"strconv"
	"strings"
)

// resource is a schema with a URI of its own, in which references are looked up.
type resource struct {
	base *url.URL
	root *value
	path string
}

// schemaKey identifies a schema.
type schemaKey struct {
	v  *value
	in *resource
}

// resolve returns the schema that a reference names.
func (c *compiler) resolve(s *schema, keyword, ref string) *schema {
	u, err := url.Parse(ref)
	if err != nil {
		c.fail("%s: %q is no URI: %v", s.path, ref, err)
	}
	target := s.in
	if u.Scheme != "" || u.Host != "" || u.Path != "" || u.RawQuery != "" || u.Opaque != "" {
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
		if a, ok := c.anchors[in.base.String()+"#"+fragment]; ok {
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
func pointer(v *value, path, p string) (*value, string) {
	for _, token := range strings.Split(p[1:], "/") {
		name := strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		path += "/" + token
		if v.kind == array {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v.items) {
				return nil, ""
			}
			v = v.items[i]
			continue
		}
		if v = v.get(name); v == nil {
			return nil, ""
		}
	}
	return v, path
}

// escape writes a name as part of a JSON pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// anchor is a place that has a name.
type anchor struct {
	v    *value
	in   *resource
	path string
}

// index looks for all resources and anchors of the text.
func (c *compiler) index() {
	if c.indexed {
		return
	}
	c.indexed = true
	c.resources[c.whole.base.String()] = c.whole
	type place struct {
		v    *value
		in   *resource
		path string
	}
	seen := map[schemaKey]bool{}
	todo := []place{{c.whole.root, c.whole, ""}}
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		if seen[schemaKey{p.v, p.in}] {
			continue
		}
		seen[schemaKey{p.v, p.in}] = true
		if p.v.kind == array {
			for i, item := range p.v.items {
				todo = append(todo, place{item, p.in, p.path + "/" + strconv.Itoa(i)})
			}
			continue
		}
		if p.v.kind != object {
			continue
		}
		in := p.in
		if id := c.identity(p.v); id != "" && p.v != in.root {
			if u, err := in.base.Parse(id); err == nil {
				in = &resource{base: u, root: p.v, path: p.path}
				if s := c.schemas[schemaKey{p.v, p.in}]; s != nil {
					in = s.in
				}
				if _, ok := c.resources[u.String()]; !ok {
					c.resources[u.String()] = in
				}
			}
		}
		for _, name := range []string{"$anchor", "$dynamicAnchor", "$id", "id"} {
			if a := p.v.get(name); a != nil && a.kind == text && (name[0] == '$' && name[1] != 'i' || strings.HasPrefix(a.text, "#")) {
				key := in.base.String() + "#" + strings.TrimPrefix(a.text, "#")
				if _, ok := c.anchors[key]; !ok {
					c.anchors[key] = anchor{p.v, in, p.path}
				}
			}
		}
		if a := p.v.get("$dynamicAnchor"); a != nil {
			c.dynamic[a.text]++
		}
		if a := p.v.get("$recursiveAnchor"); a != nil && a.truth {
			c.dynamic["$recursiveAnchor"]++
		}
		for _, m := range p.v.members {
			if m.name != "enum" && m.name != "const" && m.name != "default" && m.name != "examples" {
				todo = append(todo, place{m.value, in, p.path + "/" + escape(m.name)})
			}
		}
	}
}
