//go:build ignore

// Extract makes schemas.json.gz of the OpenAPI document that OpenAI publishes:
//
//	git clone https://github.com/openai/openai-openapi
//	git -C openai-openapi show f85dbe2:openapi.json | go run extract.go
//
// It keeps the schemas that are named below and those that they refer to, as the definitions of one JSON Schema (draft 2020-12), and
// of each schema only what decides whether a document fits. What OpenAPI writes in its own way is translated: see translate.
package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
)

// roots are the schemas that our answers and requests are compared with. ResponseStreamEvent refers to those of all events.
var roots = []string{
	"CreateChatCompletionRequest", "CreateChatCompletionResponse", "CreateChatCompletionStreamResponse",
	"CreateCompletionRequest", "CreateCompletionResponse",
	"CreateEmbeddingRequest", "CreateEmbeddingResponse",
	"CreateResponse", "Response", "ResponseStreamEvent",
	"ListModelsResponse", "Model", "ErrorResponse",
}

// kind is the kind of value that a keyword has.
type kind int

const (
	dropped kind = iota // not part of the check
	plain               // kept as it is
	one                 // a schema, or a boolean
	list                // schemas
	named               // schemas by name
	special             // OpenAPI's own, or an older draft's: translate knows it
)

// keywords are those of the document. One that is not here ends the program: it may be one that matters.
var keywords = map[string]kind{
	"type": plain, "enum": plain, "required": plain, "minimum": plain, "maximum": plain, "minLength": plain, "maxLength": plain,
	"minItems": plain, "maxItems": plain, "maxProperties": plain, "pattern": plain,
	"items": one, "additionalProperties": one, "propertyNames": one,
	"allOf": list, "anyOf": list, "oneOf": list,
	"properties": named,
	"$ref":       special, "nullable": special, "discriminator": special, "$recursiveRef": special, "$recursiveAnchor": special,
	"description": dropped, "title": dropped, "default": dropped, "example": dropped, "format": dropped, "deprecated": dropped,
	"x-oaiMeta": dropped, "x-oaiTypeLabel": dropped, "x-oaiExpandable": dropped, "x-oaiSupportedSDKs": dropped,
	"x-stainless-const": dropped, "x-stainless-skip": dropped,
}

type schema = map[string]any

// extractor holds the document's schemas, and those that were translated.
type extractor struct {
	published  map[string]schema
	translated map[string]any
}

func main() {
	log.SetFlags(0)
	var document struct {
		Info       struct{ Version string }
		Components struct{ Schemas map[string]schema }
	}
	decoder := json.NewDecoder(os.Stdin)
	decoder.UseNumber() // numbers stay as they are written
	if err := decoder.Decode(&document); err != nil {
		log.Fatal("reading the OpenAPI document: ", err)
	}
	e := &extractor{published: document.Components.Schemas, translated: map[string]any{}}
	for _, name := range roots {
		e.add(name)
	}
	text, err := json.Marshal(schema{
		"$schema":  "https://json-schema.org/draft/2020-12/schema",
		"$comment": "made by extract.go of https://github.com/openai/openai-openapi, version " + document.Info.Version + ", MIT licence",
		"$defs":    e.translated,
	})
	if err != nil {
		log.Fatal(err)
	}
	file, err := os.Create("schemas.json.gz")
	if err != nil {
		log.Fatal(err)
	}
	packed, _ := gzip.NewWriterLevel(file, gzip.BestCompression)
	if _, err := packed.Write(text); err != nil {
		log.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		log.Fatal(err)
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d schemas, %d bytes\n", len(e.translated), len(text))
}

// add translates the published schema of a name, and the schemas that it refers to.
func (e *extractor) add(name string) {
	if _, done := e.translated[name]; done {
		return
	}
	s, ok := e.published[name]
	if !ok {
		log.Fatalf("the document has no schema %s", name)
	}
	e.translated[name] = nil // begun: schemas refer to themselves
	e.translated[name] = e.translate(s, name)
}

// translate returns a schema in the terms of JSON Schema; component is the named schema that it is part of.
//
//   - nullable, which JSON Schema lacks, becomes an alternative null.
//   - A union with a discriminator becomes a row of conditions. It accepts the same documents, and a validator's error is then about the
//     branch that was meant, and not about fifty others.
//   - Any other oneOf becomes anyOf: published branches overlap (a message of a response's input fits two of them), which no client minds.
//   - $recursiveRef, of the draft of 2019, becomes a reference to the component.
func (e *extractor) translate(s schema, component string) any {
	out := schema{}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		value := s[key]
		k, known := keywords[key]
		if !known {
			log.Fatalf("%s: the keyword %q is not in the table of keywords", component, key)
		}
		switch k {
		case plain:
			out[key] = value
		case one:
			out[key] = e.sub(value, component)
		case named:
			properties := schema{}
			for name, sub := range value.(schema) {
				properties[name] = e.sub(sub, component)
			}
			out[key] = properties
		case list:
			if key == "oneOf" {
				key = "anyOf"
			}
			branches := []any{}
			for _, branch := range value.([]any) {
				branches = append(branches, e.sub(branch, component))
			}
			out[key] = branches
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		name := e.target(ref)
		e.add(name)
		out["$ref"] = "#/$defs/" + name
	}
	if _, ok := s["$recursiveRef"]; ok {
		out["$ref"] = "#/$defs/" + component
	}
	if d, ok := s["discriminator"].(schema); ok {
		e.tellApart(out, s, d["propertyName"].(string))
	}
	if s["nullable"] == true {
		return schema{"anyOf": []any{out, schema{"type": "null"}}}
	}
	return out
}

// sub translates a schema within another, or a boolean in its place.
func (e *extractor) sub(value any, component string) any {
	if s, ok := value.(schema); ok {
		return e.translate(s, component)
	}
	return value
}

// target returns the component that a reference names.
func (e *extractor) target(ref string) string {
	name, ok := strings.CutPrefix(ref, "#/components/schemas/")
	if !ok {
		log.Fatalf("%s refers to no component", ref)
	}
	return name
}

// tellApart puts conditions in the place of out's branches, where each branch of the union s has values of the property of its own.
func (e *extractor) tellApart(out, s schema, property string) {
	branches, _ := s["oneOf"].([]any)
	if branches == nil {
		branches, _ = s["anyOf"].([]any)
	}
	var all, conditions []any
	for i, branch := range branches {
		values := e.values(branch, property)
		if len(values) == 0 || slices.ContainsFunc(values, func(v any) bool { return slices.Contains(all, v) }) {
			return
		}
		all = append(all, values...)
		conditions = append(conditions, schema{
			"if":   schema{"required": []any{property}, "properties": schema{property: schema{"enum": values}}},
			"then": out["anyOf"].([]any)[i],
		})
	}
	if len(all) == 0 {
		return
	}
	delete(out, "anyOf")
	out["type"] = "object"
	out["required"] = []any{property}
	out["properties"] = schema{property: schema{"enum": all}}
	out["allOf"] = conditions
}

// values returns the values that a property must have in every document of a schema, or nil if the schema leaves it open or out.
func (e *extractor) values(value any, property string) []any {
	s, _ := value.(schema)
	if ref, ok := s["$ref"].(string); ok {
		return e.values(e.published[e.target(ref)], property)
	}
	parts, _ := s["allOf"].([]any)
	for _, part := range parts {
		if values := e.values(part, property); values != nil {
			return values
		}
	}
	properties, _ := s["properties"].(schema)
	definition, _ := properties[property].(schema)
	required, _ := s["required"].([]any)
	values, _ := definition["enum"].([]any)
	if s["type"] != "object" || !slices.Contains(required, any(property)) || definition["nullable"] == true {
		return nil
	}
	return values
}
