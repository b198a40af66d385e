package read

import (
	"strings"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
)

// draft is a draft of JSON Schema. Later ones are larger.
type draft uint8

const (
	draft3 draft = iota + 3
	draft4
	_ // draft 5 is draft 4
	draft6
	draft7
	draft2019
	draft2020
)

// drafts are the drafts as "$schema" names them. Any other schema is of the latest one.
var drafts = []struct {
	name string
	draft
}{
	{"draft-03", draft3}, {"draft-04", draft4}, {"draft-05", draft4}, {"draft-06", draft6}, {"draft-07", draft7}, {"2019-09", draft2019},
}

// draftOf returns the draft that a schema says it is of; other is the draft of one that says nothing.
func draftOf(v *document.Value, other draft) draft {
	named := v.Get("$schema")
	if named == nil || named.Kind != document.Text {
		return other
	}
	for _, d := range drafts {
		if strings.Contains(named.Text, d.name) {
			return d.draft
		}
	}
	return draft2020
}

// refAlone reports whether the other keywords next to $ref are ignored.
func (d draft) refAlone() bool { return d <= draft7 }

// identity returns the URI that a schema gives itself, or "". Up to draft 4 the keyword is id, a name like any other later.
func (d draft) identity(v *document.Value) string {
	name := "$id"
	if d <= draft4 {
		name = "id"
	}
	id := v.Get(name)
	if id == nil || id.Kind != document.Text || strings.HasPrefix(id.Text, "#") || d.refAlone() && v.Get("$ref") != nil {
		return ""
	}
	return strings.TrimSuffix(id.Text, "#")
}

// anchors calls yield with the names that a schema gives itself within its resource. Before $anchor, these are fragments in its $id.
func (d draft) anchors(v *document.Value, yield func(name string)) {
	if d.refAlone() && v.Get("$ref") != nil {
		return
	}
	name := func(keyword string, fragment bool) {
		a := v.Get(keyword)
		if a == nil || a.Kind != document.Text {
			return
		}
		if name, ok := strings.CutPrefix(a.Text, "#"); ok == fragment {
			yield(name)
		}
	}
	switch {
	case d <= draft4:
		name("id", true)
	case d <= draft7:
		name("$id", true)
	case d >= draft2020:
		name("$dynamicAnchor", false)
		fallthrough
	default:
		name("$anchor", false)
	}
}
