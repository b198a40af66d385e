package read

import (
	"net/url"
	"strconv"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
)

// resource is a schema with a URI of its own, in which references are looked up.
type resource struct {
	base  *url.URL
	uri   string // base as a text
	id    int    // of uri: two resources may have the same
	root  *document.Value
	path  *document.Place
	draft draft
}

// schemaKey identifies a schema.
type schemaKey struct {
	v  *document.Value
	in *resource
}

// anchorKey is a name that a schema has in a resource.
type anchorKey struct {
	in   int // resource.id
	name string
}

// anchor is a schema that has a name.
type anchor struct {
	v    *document.Value
	in   *resource
	path *document.Place
}

// resources is all resources of a text.
type resources struct {
	*limits.Meter
	whole *resource
	inner map[schemaKey]*resource // of the schemas below whole
	uris  map[string]int          // the resource.id of each

	indexed bool
	byURI   map[string]*resource
	anchors map[anchorKey]anchor
	dynamic map[string]int // how many $dynamicAnchor there are with a name
}

// longBase is how many bytes of a URI are about as much work as a step.
const longBase = 6

// resourceOf returns the resource that a schema is in: its own if it has a URI.
func (c *resources) resourceOf(v *document.Value, in *resource, path *document.Place) *resource {
	if v.Kind != document.Object || v == in.root {
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
	c.Spend((len(id) + len(in.uri)) / longBase)
	u, err := in.base.Parse(id)
	if err != nil {
		return in
	}
	r := c.newResource(u, v, path, draft)
	c.inner[schemaKey{v, in}] = r
	return r
}

// newResource returns a resource.
func (c *resources) newResource(base *url.URL, root *document.Value, path *document.Place, draft draft) *resource {
	r := &resource{base: base, uri: base.String(), root: root, path: path, draft: draft}
	id, ok := c.uris[r.uri]
	if !ok {
		id = len(c.uris)
		c.uris[r.uri] = id
	}
	r.id = id
	return r
}

// index looks for all resources and anchors of the text.
func (c *resources) index() {
	if c.indexed {
		return
	}
	c.indexed = true
	c.byURI[c.whole.uri] = c.whole
	type part struct {
		v    *document.Value
		in   *resource
		path *document.Place
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
		c.Spend(1 + len(p.v.Items) + len(p.v.Members))
		if p.v.Kind == document.Array {
			for i, item := range p.v.Items {
				todo = append(todo, part{item, p.in, p.path.At(strconv.Itoa(i))})
			}
			continue
		}
		if p.v.Kind != document.Object {
			continue
		}
		in := c.resourceOf(p.v, p.in, p.path)
		if in != p.in {
			if _, ok := c.byURI[in.uri]; !ok {
				c.byURI[in.uri] = in
			}
		}
		in.draft.anchors(p.v, func(name string) {
			key := anchorKey{in.id, name}
			if _, ok := c.anchors[key]; !ok {
				c.anchors[key] = anchor{p.v, in, p.path}
			}
		})
		if a := p.v.Get("$dynamicAnchor"); a != nil {
			c.dynamic[a.Text]++
		}
		if a := p.v.Get("$recursiveAnchor"); a != nil && a.Truth {
			c.dynamic["$recursiveAnchor"]++
		}
		for _, m := range p.v.Members {
			if m.Name != "enum" && m.Name != "const" && m.Name != "default" && m.Name != "examples" {
				todo = append(todo, part{m.Value, in, p.path.At(m.Name)})
			}
		}
	}
}
