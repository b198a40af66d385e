package read

import (
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
)

// reader reads the schemas of a text.
type reader struct {
	*limits.Meter
	*Schemas
	*resources
	known  map[schemaKey]*Schema
	unread []*Schema
}

// read returns the schema that a value is, at a path of the text. Its keywords are read later, by readAll, so that no chain of references
// is a chain of calls.
func (c *reader) read(v *document.Value, in *resource, path *document.Place) *Schema {
	key := schemaKey{v, in}
	if s, ok := c.known[key]; ok {
		return s
	}
	if len(c.List) >= maxSchemas {
		limits.Fail(path, "the schema has more than %d schemas in it", maxSchemas)
	}
	s := c.newSchema(path, c.resourceOf(v, in, path))
	s.value = v
	c.known[key] = s
	c.unread = append(c.unread, s)
	return s
}

// maxSchemas bounds the schemas of a text.
const maxSchemas = 200_000

// schemasOf reads an array of schemas.
func (c *reader) schemasOf(s *Schema, v *document.Value, path *document.Place) []*Schema {
	if v.Kind != document.Array {
		limits.Fail(path, "%s is not an array of schemas", path)
	}
	list := make([]*Schema, len(v.Items))
	for i, item := range v.Items {
		list[i] = c.read(item, s.in, path.At(strconv.Itoa(i)))
	}
	return list
}

// strings reads an array of strings.
func (c *reader) strings(v *document.Value, path *document.Place) []string {
	if v.Kind != document.Array {
		limits.Fail(path, "%s is not an array of strings", path)
	}
	var list []string
	seen := make(map[string]bool, len(v.Items))
	for _, item := range v.Items {
		if item.Kind != document.Text {
			limits.Fail(path, "%s has something in it that is not a string", path)
		}
		if !seen[item.Text] {
			seen[item.Text] = true
			list = append(list, item.Text)
		}
	}
	return list
}

// count reads a number that counts something.
func (c *reader) count(s *Schema, v *document.Value, path *document.Place) int {
	r := document.Rational(v)
	if r == nil || !r.IsInt() || r.Sign() < 0 {
		limits.Fail(path, "%s is not a count", path)
	}
	if name := path.Token; !r.Num().IsInt64() || r.Num().Int64() > maxCounted {
		if strings.HasPrefix(name, "min") {
			c.Unsupported(s, name, "nothing is counted to more than %d", maxCounted)
			return 0
		}
		return maxCounted
	}
	return int(r.Num().Int64())
}

// maxCounted is the largest count that is kept; a larger least count cannot be promised, a larger highest one is never reached.
const maxCounted = 1 << 24
