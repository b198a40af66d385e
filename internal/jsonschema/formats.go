package jsonschema

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// formats are those that JSON Schema defines.
var formats = []string{
	"date", "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri", "uri-reference", "iri",
	"iri-reference", "uuid", "uri-template", "json-pointer", "relative-json-pointer", "regex",
}

// formatOf returns the canonical strings of a format, and whether it says anything: unknown formats are annotations.
func (c *compiler) formatOf(s *schema) (regular.Expr, bool) {
	if slices.Contains(formats, s.format) {
		c.unsupported(s, "format", "the format %q is not known yet", s.format)
	}
	return regular.None, false
}
