package adk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/antigravity-go/antigravity/llama/with"
)

// schemaOf returns the JSON Schema of a schema of Google's, which is OpenAPI's with names of types in capital letters. Objects have the
// properties that are listed and no others, in the order of PropertyOrdering.
func schemaOf(s *genai.Schema) (json.RawMessage, error) {
	o := object{}
	if err := o.schema(s); err != nil {
		return nil, err
	}
	return o.end(), o.err
}

// object is a JSON object in the making. Its members keep their order.
type object struct {
	text bytes.Buffer
	err  error
}

// add adds a member.
func (o *object) add(name string, value any) {
	key, err := json.Marshal(name)
	text, err2 := json.Marshal(value)
	if err != nil || err2 != nil {
		o.err = errors.Join(o.err, err, err2)
		return
	}
	if o.text.Len() > 0 {
		o.text.WriteByte(',')
	}
	o.text.Write(key)
	o.text.WriteByte(':')
	o.text.Write(text)
}

// end returns the object.
func (o *object) end() json.RawMessage { return json.RawMessage("{" + o.text.String() + "}") }

// annotations are formats that say how Google's programs store a value, and nothing about its text.
var annotations = []string{"", "enum", "int64", "float", "double", "password"}

// schema adds the members of a schema.
func (o *object) schema(s *genai.Schema) error {
	kind := strings.ToLower(string(s.Type))
	switch {
	case s.Type == "" || s.Type == genai.TypeUnspecified:
	case s.Nullable != nil && *s.Nullable:
		o.add("type", []string{kind, "null"})
	default:
		o.add("type", kind)
	}
	if s.Nullable != nil && *s.Nullable && (len(s.AnyOf) > 0 || len(s.Enum) > 0) {
		return &with.UnsupportedError{What: "genai.Schema.Nullable next to AnyOf or Enum", Want: "a type NULL in AnyOf"}
	}
	if s.Title != "" {
		o.add("title", s.Title)
	}
	if s.Description != "" {
		o.add("description", s.Description)
	}
	if s.Default != nil {
		o.add("default", s.Default)
	}
	if s.Example != nil {
		o.add("examples", []any{s.Example})
	}
	if s.Pattern != "" {
		o.add("pattern", s.Pattern)
	}
	if len(s.Enum) > 0 {
		values := make([]any, len(s.Enum))
		for i, v := range s.Enum {
			if values[i] = v; kind == "integer" || kind == "number" {
				values[i] = json.Number(v)
			}
		}
		o.add("enum", values)
	}
	minimum, maximum := s.Minimum, s.Maximum
	if s.Format == "int32" {
		if minimum == nil {
			minimum = new(float64(math.MinInt32))
		}
		if maximum == nil {
			maximum = new(float64(math.MaxInt32))
		}
	} else if !slices.Contains(annotations, s.Format) {
		o.add("format", s.Format)
	}
	addSaid(o, "minimum", minimum)
	addSaid(o, "maximum", maximum)
	addSaid(o, "minLength", s.MinLength)
	addSaid(o, "maxLength", s.MaxLength)
	addSaid(o, "minItems", s.MinItems)
	addSaid(o, "maxItems", s.MaxItems)
	addSaid(o, "minProperties", s.MinProperties)
	addSaid(o, "maxProperties", s.MaxProperties)
	if len(s.AnyOf) > 0 {
		list := make([]json.RawMessage, len(s.AnyOf))
		for i, of := range s.AnyOf {
			var err error
			if list[i], err = schemaOf(of); err != nil {
				return err
			}
		}
		o.add("anyOf", list)
	}
	if s.Items != nil {
		items, err := schemaOf(s.Items)
		if err != nil {
			return err
		}
		o.add("items", items)
	}
	return o.properties(s)
}

// addSaid adds a number, if there is one.
func addSaid[N int64 | float64](o *object, name string, n *N) {
	if n != nil {
		o.add(name, *n)
	}
}

// properties adds the properties of a schema.
func (o *object) properties(s *genai.Schema) error {
	if len(s.Properties) == 0 {
		return nil
	}
	var names []string
	for _, name := range s.PropertyOrdering {
		if s.Properties[name] != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	ordered := len(names)
	for name := range s.Properties {
		if !slices.Contains(names[:ordered], name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[ordered:])
	var all object
	for _, name := range names {
		property, err := schemaOf(s.Properties[name])
		if err != nil {
			return fmt.Errorf("the property %.80q: %w", name, err)
		}
		all.add(name, property)
	}
	o.add("properties", all.end())
	if len(s.Required) > 0 {
		o.add("required", s.Required)
	}
	o.add("additionalProperties", false)
	return all.err
}
