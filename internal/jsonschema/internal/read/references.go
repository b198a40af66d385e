package read

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
)

// resolve returns the schema that a reference names.
func (c *reader) resolve(s *Schema, keyword, ref string) *Schema {
	c.Spend(1 + len(ref)/longBase)
	u, err := url.Parse(ref)
	if err != nil {
		limits.Fail("%s: %q is no URI: %v", s.Path, ref, err)
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
	limits.Fail("%s: the reference %q leads nowhere", s.Path, ref)
	return nil
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

// pointer follows a JSON pointer.
func pointer(v *document.Value, path *document.Place, p string) (*document.Value, *document.Place) {
	for token := range strings.SplitSeq(p[1:], "/") {
		name := strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		path = path.At(name)
		if v.Kind == document.Array {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v.Items) {
				return nil, nil
			}
			v = v.Items[i]
			continue
		}
		if v = v.Get(name); v == nil {
			return nil, nil
		}
	}
	return v, path
}
