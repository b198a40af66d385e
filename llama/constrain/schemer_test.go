package constrain_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

type mood string

func (mood) JSONSchema() []byte { return []byte(`{"enum": ["happy", "sad"]}`) }

type percent int8

func (*percent) JSONSchema() []byte { return []byte(`{"minimum": -1000, "maximum": 100}`) }

// host reads itself from a text.
type host struct{ netip.Addr }

func (host) JSONSchema() []byte { return []byte(`{"type": "string", "format": "ipv4"}`) }

// embedding has a type that gives itself a schema, and is not it.
type embedding struct {
	mood
	N int
}

type broken int

func (broken) JSONSchema() []byte { return []byte(`{"minimum": `) }

// What types say about themselves counts wherever they stand, and never allows more than the Go type holds.
func TestSchemer(t *testing.T) {
	tok := pebbleTokenizer(t)
	for _, test := range []struct {
		name             string
		make             func(*llama.Tokenizer) (llama.Constraint, error)
		allowed, refused []string
	}{
		{"an enumeration", constrain.JSONFor[mood], []string{`"happy"`, `"sad"`}, []string{`"angry"`, `1`, `null`}},
		{"in a list", constrain.JSONFor[[]mood], []string{`[]`, `["sad","sad"]`}, []string{`["angry"]`}},
		{"a pointer", constrain.JSONFor[*mood], []string{`"happy"`, `null`}, []string{`"angry"`}},
		{"names and values of a map", constrain.JSONFor[map[mood]percent], []string{`{"sad":3}`, `{}`}, []string{`{"angry":3}`, `{"sad":101}`}},
		{"bounds, within the Go type's", constrain.JSONFor[percent], []string{`-128`, `100`}, []string{`-129`, `101`, `"1"`}},
		{"a type that decodes itself", constrain.JSONFor[struct{ H host }], []string{`{"H":"127.0.0.1"}`}, []string{`{"H":"::1"}`, `{"H":{}}`}},
		{"the method of an embedded type", constrain.JSONFor[embedding], []string{`{"N":1}`}, []string{`"happy"`}},
	} {
		c, err := test.make(tok)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		for _, text := range test.allowed {
			if !accepts(t, tok, c, text) {
				t.Errorf("%s: %s is refused", test.name, text)
			}
		}
		for _, text := range test.refused {
			if accepts(t, tok, c, text) {
				t.Errorf("%s: %s is allowed", test.name, text)
			}
		}
	}
	schema, err := constrain.Schema[struct {
		M mood     `json:"m" jsonschema:"how it is"`
		P *percent `json:"p"`
	}]()
	const want = `{"type": "object", "properties": {"m": {"type": "string", "description": "how it is", "enum": ["happy", "sad"]}, ` +
		`"p": {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": -128, "maximum": 127, "allOf": [{"minimum": -1000, "maximum": 100}]}]}}, ` +
		`"required": ["m", "p"], "additionalProperties": false}`
	if err != nil || string(schema) != want {
		t.Errorf("Schema: %v\n%s, want\n%s", err, schema, want)
	}
}

// An error names the field that it is about.
func TestSchemerErrors(t *testing.T) {
	tok := pebbleTokenizer(t)
	for name, test := range map[string]struct {
		make func(*llama.Tokenizer) (llama.Constraint, error)
		want []string
	}{
		"an option in a tag": {constrain.JSONFor[struct {
			Inner struct {
				Mood string `jsonschema:"enum=happy,enum=sad"`
			}
		}], []string{"field Inner of", "field Mood of", "enum=happy", "constrain.Schemer"}},
		"no schema":                  {constrain.JSONFor[struct{ B broken }], []string{"field B of", "JSONSchema of constrain_test.broken"}},
		"a type that decodes itself": {constrain.JSONFor[struct{ H odd }], []string{"field H of", "constrain.Schemer"}},
	} {
		_, err := test.make(tok)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q in it", name, err, want)
			}
		}
	}
}
