package calls

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Programs describe a function on offer in several ways. They differ in a wrapper, and in the name of the schema of the arguments:
//
//	OpenAI's chat    {"type": "function", "function": {"name": …, "description": …, "parameters": {…}}}
//	its responses    {"type": "function", "name": …, "description": …, "parameters": {…}}
//	MCP's servers    {"name": …, "description": …, "inputSchema": {…}}
//	Anthropic's      {"name": …, "description": …, "input_schema": {…}}
//	Google's         {"name": …, "description": …, "parametersJsonSchema": {…}}

// Offer is a function on offer.
type Offer struct {
	Name        string
	Description string
	Parameters  json.RawMessage // the schema of the arguments; nil: it has no arguments
	Wrapped     json.RawMessage // the function as chat templates want it: as OpenAI's chat has it
}

// schemaKeys are the keys that the schema of the arguments has, and otherSchemas those of schemas of something else.
var (
	schemaKeys   = []string{"parameters", "inputSchema", "input_schema", "parametersJsonSchema", "parameters_json_schema"}
	otherSchemas = []string{"outputSchema", "output_schema", "return", "returns", "response", "responseJsonSchema", "response_json_schema", "annotations", "_meta",
		"metadata", "cache_control"}
)

// ReadOffer reads a function on offer. A schema that it does not know the key of is an error: the function would have no arguments.
func ReadOffer(data []byte) (o Offer, err error) {
	top, err := MembersOf(data)
	if err != nil {
		return o, err
	}
	in := top
	wrapped := top.Get("function")
	isWrapped := wrapped != nil
	if isWrapped {
		if in, err = MembersOf(wrapped); err != nil {
			return o, fmt.Errorf("function: %w", err)
		}
	}
	for key, to := range map[string]*string{"name": &o.Name, "description": &o.Description} {
		if v := in.Get(key); v != nil && json.Unmarshal(v, to) != nil {
			return o, fmt.Errorf("its %q is %.80s, and no string", key, v)
		}
	}
	if o.Name == "" {
		return o, errors.New(`it has no "name"`)
	}
	key, err := schemaKey(in)
	if isWrapped && err == nil {
		if outer, err := schemaKey(top); err != nil || outer != "" {
			return o, errors.Join(err, fmt.Errorf("it has %q beside \"function\", where nothing reads it: it belongs into \"function\"", outer))
		}
	}
	if err != nil {
		return o, err
	}
	o.Parameters = in.Get(key)
	var kind string
	if v := top.Get("type"); v != nil && json.Unmarshal(v, &kind) != nil {
		return o, fmt.Errorf(`its "type" is %.80s, and not "function"`, v)
	}
	if kind != "" && kind != "function" && (kind != "custom" || o.Parameters == nil) {
		return o, fmt.Errorf(`its "type" is %.80q, and not "function": a model calls functions, with arguments in JSON`, kind)
	}
	if o.Wrapped = data; !isWrapped || key != "parameters" && key != "" {
		o.Wrapped, err = o.wrap()
	}
	return o, err
}

// wrap returns the function as OpenAI's chat has it.
func (o *Offer) wrap() (json.RawMessage, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{o.Name, o.Description, o.Parameters}})
	return bytes.TrimSpace(b.Bytes()), err
}

// schemaKey returns the key of the schema of the arguments; "" if there is no schema.
func schemaKey(of Members) (key string, err error) {
	for _, k := range schemaKeys {
		if v := of.Get(k); v == nil || string(v) == "null" {
			continue
		}
		if key != "" {
			return "", fmt.Errorf("it has two schemas of arguments, %q and %q", key, k)
		}
		key = k
	}
	if key != "" {
		return key, nil
	}
	for _, m := range of {
		if m.Name != "function" && !slices.Contains(schemaKeys, m.Name) && !slices.Contains(otherSchemas, m.Name) && isSchema(m.Value) {
			return "", fmt.Errorf("its %q holds a schema, but the schema of the arguments is %s", m.Name, strings.Join(schemaKeys, ", "))
		}
	}
	return "", nil
}

// isSchema reports whether a value looks like a JSON Schema.
func isSchema(v json.RawMessage) bool {
	of, err := MembersOf(v)
	for _, k := range []string{"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "$schema", "$defs"} {
		if of.Get(k) != nil && err == nil {
			return true
		}
	}
	return false
}
