// Package openapi compares the server's requests and answers with the schemas that OpenAI publishes. Only tests import it.
//
// schemas.json.gz is made by extract.go of openapi.json in https://github.com/openai/openai-openapi, commit
// f85dbe223d40e1a31cba812ab2d755c7e98a92a3 of 2026-08-21, version 2.3.0, which is under the MIT licence (LICENSE in this folder). To renew
// it:
//
//	git -C openai-openapi show COMMIT:openapi.json | go run extract.go
//
// # What a validation proves
//
// A document that fits has all members that a client may count on, and every published member is of a published type. If the schema lists
// values, such as those of finish_reason, the value is one of them.
//
// It does not prove that members have the right meaning, that the events of a stream come in the right order, or that a document has
// nothing but published members: nearly all published schemas allow others, which is how our own ("stats", say) are permitted. A misspelt
// optional member is therefore not found: only tests with real clients find it. Formats (unixtime, uri) are not checked.
package openapi

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schemas.json.gz
var packed []byte

// location names the document in messages; nothing is read from there.
const location = "https://github.com/openai/openai-openapi"

// published holds the definitions, as they are and compiled. It is read once, and not changed after that.
type published struct {
	definitions map[string]any
	compiled    map[string]*jsonschema.Schema
}

var read = sync.OnceValues(func() (*published, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(unpacked)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(location, document); err != nil {
		return nil, err
	}
	p := &published{definitions: document.(map[string]any)["$defs"].(map[string]any), compiled: map[string]*jsonschema.Schema{}}
	for name := range p.definitions {
		if p.compiled[name], err = compiler.Compile(location + "#/$defs/" + name); err != nil {
			return nil, err
		}
	}
	return p, nil
})

// Validate fails a test if a JSON document does not fit the published schema of a name, such as CreateChatCompletionResponse or, for one
// event of a stream, ResponseStreamEvent. The package's documentation says what this proves.
func Validate(t testing.TB, name string, document []byte) {
	t.Helper()
	if err := validate(name, document); err != nil {
		t.Errorf("%v\nin %s", err, document)
	}
}

// validate returns an error if a document does not fit.
func validate(name string, document []byte) error {
	p, err := read()
	if err != nil {
		return fmt.Errorf("reading schemas.json.gz: %w", err)
	}
	schema, ok := p.compiled[name]
	if !ok {
		return fmt.Errorf("there is no published schema %s here: add it to roots in extract.go", name)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return fmt.Errorf("the document is not JSON: %w", err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("the document does not fit %s: %w", name, err)
	}
	return nil
}

// Parameters returns the names of all parameters that the published schema of a request has, such as CreateChatCompletionRequest, sorted.
// It panics if there is no such schema: a test without parameters would prove nothing.
func Parameters(name string) []string {
	p, err := read()
	if err != nil {
		panic("reading schemas.json.gz: " + err.Error())
	}
	definition, ok := p.definitions[name]
	if !ok {
		panic("there is no published schema " + name + " here: add it to roots in extract.go")
	}
	found := map[string]bool{}
	p.collect(definition, found)
	return slices.Sorted(maps.Keys(found))
}

// collect adds to found the properties of a schema and of the schemas that it is put together from.
func (p *published) collect(definition any, found map[string]bool) {
	schema, _ := definition.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	for name := range properties {
		found[name] = true
	}
	if ref, ok := schema["$ref"].(string); ok {
		p.collect(p.definitions[strings.TrimPrefix(ref, "#/$defs/")], found)
	}
	for _, keyword := range []string{"allOf", "anyOf"} {
		parts, _ := schema[keyword].([]any)
		for _, part := range parts {
			p.collect(part, found)
		}
	}
}
