package jsonschema

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/pattern"
)

// incomplete are the formats of which package pattern has not all strings, so that a string that it lacks may be of the format.
var incomplete = []string{"email", "idn-email", "hostname", "idn-hostname", "uri-template", "regex"}

// formatOf returns the strings of a format, and whether it says anything: unknown formats are annotations.
func (c *compiler) formatOf(s *schema) (stringSet, bool) {
	e, ok := pattern.Format(c.r, s.format)
	if !ok {
		return stringSet{}, false
	}
	set := stringSet{kind: setExpr, expr: e}
	if slices.Contains(incomplete, s.format) {
		set.lacks = s
	}
	return set, true
}
