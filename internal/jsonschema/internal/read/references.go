package read

import (
	"net/url"
	"strings"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
)

// resolve returns the schema that a reference names.
func (c *reader) resolve(s *Schema, keyword, ref string) *Schema {
	c.Spend(1 + len(ref)/longBase)
	u, err := url.Parse(ref)
	if err != nil {
		limits.Fail(s.Path, "%s: %q is no URI: %v", s.Path, ref, err)
	}
	target := s.in
	if u.Scheme != "" || u.Host != "" || u.Path != "" || u.RawQuery != "" || u.Opaque != "" {
		c.Spend(len(s.in.uri) / longBase)
		full := s.in.base.ResolveReference(u)
		full.Fragment, full.RawFragment = "", ""
		c.index()
		target = c.byURI[full.String()]
		if target == nil {
			c.Unsupported(s, keyword, "%q is another document", ref)
			return c.Always
		}
	}
	fragment := u.Fragment
	for _, in := range []*resource{target, c.whole} {
		if fragment == "" {
			return c.read(in.root, in, in.path)
		}
		if strings.HasPrefix(fragment, "/") {
			if v, path := in.root.At(fragment, in.path); v != nil {
				return c.read(v, in, path)
			}
			continue
		}
		c.index()
		if a, ok := c.anchors[anchorKey{in.id, fragment}]; ok {
			return c.read(a.v, a.in, a.path)
		}
	}
	if v, path := c.enclosing(s, fragment); v != nil {
		return c.read(v, s.in, path)
	}
	limits.Fail(s.Path, "%s: the reference %q leads nowhere", s.Path, ref)
	return nil
}

// enclosing follows a JSON pointer from the innermost of the parts around s on. In lossy mode, definitions that are not at the top are found
// so: programs that put a whole schema into another one do not rewrite its references.
func (c *reader) enclosing(s *Schema, fragment string) (*document.Value, *document.Place) {
	if !c.ledger.Lossy || !strings.HasPrefix(fragment, "/") {
		return nil, nil
	}
	up := s.Path.String()
	for up != "" {
		up = up[:strings.LastIndexByte(up, '/')]
		c.Spend(1 + len(up)/longBase)
		if v, path := c.whole.root.At(up+fragment, c.whole.path); v != nil {
			return v, path
		}
	}
	return nil, nil
}

// refuseDynamic refuses a reference that may lead to different schemas: there must be only one anchor that it can mean.
func (c *reader) refuseDynamic(s *Schema, keyword, ref string) {
	c.index()
	name := "$recursiveAnchor"
	if keyword == "$dynamicRef" {
		if _, name, _ = strings.Cut(ref, "#"); name == "" || name[0] == '/' {
			return
		}
	}
	if c.dynamic[name] > 1 {
		c.Unsupported(s, keyword, "which schema %q is depends on the way that leads there", ref)
	}
}
