package jsonschema

import (
	"bytes"
	"encoding/json"

	"github.com/antigravity-go/antigravity/internal/strictjson"
)

// Tidy returns a schema without the keywords that say nothing, as programs write those that they have no value for:
//
//	{"type": "", "properties": null}                  {}
//	{"type": "object", "properties": []}              {"type": "object", "properties": {}}
//	{"properties": {"a": null}, "required": null}     {"properties": {"a": {}}}
//
// It is for those that read schemas as they are: chat templates, package admits and the writers of arguments in llama/constrain. A lossy
// Compile needs no tidy schema: package read passes over such keywords itself, at any depth, and notes those that are wrong otherwise.
//
// An empty array is PHP's for an empty object, and an empty enum is one that nobody filled in. Values stay as they are, that of const for example,
// and so does a text that is no JSON. The result may share the schema's memory.
func Tidy(schema []byte) []byte {
	if !bytes.Contains(schema, []byte("null")) && !bytes.Contains(schema, []byte(`""`)) && !bytes.ContainsRune(schema, '[') {
		return schema
	}
	tidy, err := tidySchema(schema, maxTidy)
	if err != nil {
		return schema
	}
	return tidy
}

// maxTidy is how deep Tidy looks: each level reads the text once more.
const maxTidy = 64

// position is what a keyword has as its value.
type position uint8

const (
	inSchema position = iota + 1 // a schema, or a list of schemas
	inNames                      // schemas by name
	inValue                      // a value, which may be null
)

// positions are those of the keywords that do not have a plain value.
var positions = map[string]position{
	"items": inSchema, "additionalItems": inSchema, "prefixItems": inSchema, "contains": inSchema, "unevaluatedItems": inSchema,
	"additionalProperties": inSchema, "unevaluatedProperties": inSchema, "propertyNames": inSchema,
	"not": inSchema, "if": inSchema, "then": inSchema, "else": inSchema, "allOf": inSchema, "anyOf": inSchema, "oneOf": inSchema,
	"properties": inNames, "patternProperties": inNames, "dependentSchemas": inNames, "$defs": inNames, "definitions": inNames,
	"const": inValue, "default": inValue, "example": inValue,
}

// tidySchema is Tidy of a schema, or of a list of schemas, for some levels.
func tidySchema(value []byte, levels int) ([]byte, error) {
	r := strictjson.Lenient(value)
	if levels--; levels < 0 {
		return value, nil
	}
	switch r.Next() {
	case 'n':
		return []byte("{}"), nil
	case '[':
		return tidyList(r, levels)
	case '{':
		return tidyMembers(r, func(name string, value []byte) ([]byte, error) {
			kind := positions[name]
			switch text := string(bytes.TrimSpace(value)); {
			case kind == inValue:
				return value, nil
			case text == "null", name == "type" && (text == `""` || text == "[]"), name == "enum" && text == "[]":
				return nil, nil
			case kind == inNames && text == "[]":
				return []byte("{}"), nil
			case kind == inNames:
				return tidyNames(value, levels)
			case kind == inSchema:
				return tidySchema(value, levels)
			}
			return value, nil
		})
	}
	return value, nil
}

// tidyNames is Tidy of schemas by name.
func tidyNames(value []byte, levels int) ([]byte, error) {
	r := strictjson.Lenient(value)
	if r.Next() != '{' {
		return value, nil
	}
	return tidyMembers(r, func(_ string, value []byte) ([]byte, error) { return tidySchema(value, levels) })
}

// tidyList is Tidy of each schema of a list.
func tidyList(r *strictjson.Reader, levels int) ([]byte, error) {
	var out bytes.Buffer
	err := r.Array(func() error {
		value, err := r.Value()
		if err != nil {
			return err
		}
		if value, err = tidySchema(value, levels); err != nil {
			return err
		}
		separate(&out, '[')
		out.Write(value)
		return nil
	})
	return closed(&out, "[]"), err
}

// tidyMembers returns an object with those members that tidy does not return nil for.
func tidyMembers(r *strictjson.Reader, tidy func(name string, value []byte) ([]byte, error)) ([]byte, error) {
	var out bytes.Buffer
	err := r.Object(func(name []byte) error {
		key, err := json.Marshal(string(name))
		if err != nil {
			return err
		}
		text := string(name)
		value, err := r.Value()
		if err == nil {
			value, err = tidy(text, value)
		}
		if err != nil || value == nil {
			return err
		}
		separate(&out, '{')
		out.Write(key)
		out.WriteByte(':')
		out.Write(value)
		return nil
	})
	return closed(&out, "{}"), err
}

// separate begins the list or object of a buffer, or writes a comma.
func separate(out *bytes.Buffer, open byte) {
	if out.Len() == 0 {
		out.WriteByte(open)
	} else {
		out.WriteByte(',')
	}
}

// closed returns the list or object of a buffer; ends are its first and its last byte.
func closed(out *bytes.Buffer, ends string) []byte {
	if out.Len() == 0 {
		return []byte(ends)
	}
	out.WriteByte(ends[1])
	return out.Bytes()
}
