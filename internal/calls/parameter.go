package calls

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Schemas says what the functions on offer take, for formats that write texts without quotes: is 12345 a number or a text?
type Schemas interface {
	// Takes reports whether a parameter of a function may have a value: nil, a bool, a json.Number, a string, a []any or a map[string]any.
	Takes(function, parameter string, value any) bool
	// TakesText reports whether a parameter may have some text.
	TakesText(function, parameter string) bool
}

// maxParameter bounds the name of a parameter between tags, in bytes.
const maxParameter = 256

// fresh reports whether a parameter may come now: it has a name, and it has not come yet.
func (c *call) fresh(key string) bool { return key != "" && !slices.Contains(c.keys, key) }

// parameter writes a parameter as JSON. Its value was written between tags: a text stands there as it is, and other values are JSON, or
// true, false and null in Python's spelling. The function's schema decides:
//
//	schema               between the tags     value
//	string               12345                "12345"
//	string or null       null, 12345          null, "12345"
//	string or integer    5, x5                5, "x5"
//	integer              5.5                  5.5: neither fits, and a text less so
//
// Without a schema, valid JSON that is no string is JSON, and all else is a text.
func (c *call) parameter(key string, text []byte, schemas Schemas) {
	separator := ""
	if len(c.keys) > 0 {
		separator = ", "
	}
	c.arguments = append(c.arguments, separator...)
	c.keys = append(c.keys, key)
	c.writeString([]byte(key))
	c.arguments = append(c.arguments, ": "...)
	if value, ok := c.jsonValue(key, text, schemas); ok {
		c.arguments = append(c.arguments, value...)
	} else {
		c.writeString(text)
	}
}

// jsonValue returns a value between tags as JSON. ok is false if it is a text.
func (c *call) jsonValue(key string, text []byte, schemas Schemas) (value []byte, ok bool) {
	value = bytes.TrimSpace(text)
	if word, ok := pythonWords[string(value)]; ok {
		value = []byte(word)
	}
	var decoded any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if !json.Valid(value) || d.Decode(&decoded) != nil {
		return nil, false
	}
	quoted, isString := decoded.(string)
	switch {
	case schemas == nil:
		return value, !isString
	case isString:
		return value, !schemas.Takes(c.name, key, string(text)) && (schemas.Takes(c.name, key, quoted) || !schemas.TakesText(c.name, key))
	}
	return value, schemas.Takes(c.name, key, decoded) || !schemas.TakesText(c.name, key)
}

// pythonWords are JSON's words as Python spells them.
var pythonWords = map[string]string{"True": "true", "False": "false", "None": "null"}

// writeString writes a text as a JSON string.
func (c *call) writeString(text []byte) {
	c.arguments = append(c.arguments, '"')
	for _, b := range bytes.ToValidUTF8(text, []byte("\uFFFD")) {
		c.writeByte(b)
	}
	c.arguments = append(c.arguments, '"')
}
