package jsonschema

import (
	"strconv"
	"strings"
)

// reader reads the schemas of a text.
type reader struct {
	*meter
	*schemas
	*resources
	known  map[schemaKey]*schema
	unread []*schema
}

// read returns the schema that a value is, at a path of the text. What it says is read later, by readAll, so that no chain of references
// is a chain of calls.
func (c *reader) read(v *value, in *resource, path *place) *schema {
	key := schemaKey{v, in}
	if s, ok := c.known[key]; ok {
		return s
	}
	if len(c.list) >= maxSchemas {
		fail("the schema has more than %d schemas in it", maxSchemas)
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
func (c *reader) schemasOf(s *schema, v *value, path *place) []*schema {
	if v.kind != array {
		fail("%s is not an array of schemas", path)
	}
	list := make([]*schema, len(v.items))
	for i, item := range v.items {
		list[i] = c.read(item, s.in, path.at(strconv.Itoa(i)))
	}
	return list
}

// strings reads an array of strings.
func (c *reader) strings(v *value, path *place) []string {
	if v.kind != array {
		fail("%s is not an array of strings", path)
	}
	var list []string
	seen := make(map[string]bool, len(v.items))
	for _, item := range v.items {
		if item.kind != text {
			fail("%s has something in it that is not a string", path)
		}
		if !seen[item.text] {
			seen[item.text] = true
			list = append(list, item.text)
		}
	}
	return list
}

// count reads a number that counts something.
func (c *reader) count(s *schema, v *value, path *place) int {
	r := rational(v)
	if r == nil || !r.IsInt() || r.Sign() < 0 {
		fail("%s is not a count", path)
	}
	if name := path.token; !r.Num().IsInt64() || r.Num().Int64() > maxCounted {
		if strings.HasPrefix(name, "min") {
			c.unsupported(s, name, "nothing is counted to more than %d", maxCounted)
			return 0
		}
		return maxCounted
	}
	return int(r.Num().Int64())
}

// maxCounted is the largest count that is kept; a larger least count cannot be promised, a larger highest one is never reached.
const maxCounted = 1 << 24
