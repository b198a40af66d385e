package jsonschema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// compile returns a machine for a schema.
func compile(schema string, o jsonschema.Options) (*grammar.Machine, error) {
	l := jsonexpr.New()
	g := grammar.New(l.Arena)
	var err error
	if g.Start, _, err = jsonschema.Compile([]byte(schema), l, g, o); err != nil {
		return nil, err
	}
	return grammar.NewMachine(g), nil
}

// accepts reports whether a text is one of the machine's.
func accepts(m *grammar.Machine, text string) bool {
	s := m.Start()
	for i := range len(text) {
		if s = m.Next(s, text[i]); s == grammar.Dead {
			return false
		}
	}
	return m.Accepts(s)
}

// schemas writes random schemas about values that documents draws.
type schemas struct {
	*rand.Rand
	refs []string // what references may lead to
}

// whole writes a schema of some draft, with definitions.
func (r *schemas) whole(depth int) string {
	r.refs = nil
	first := r.schema(max(depth-1, 0))
	r.refs = []string{"#/$defs/d0"}
	second := r.schema(max(depth-1, 0))
	r.refs = append(r.refs, "#/$defs/d1")
	schema := r.schema(depth)
	if schema == "true" || schema == "false" {
		return schema
	}
	draft := r.pick("", "", `"$schema":"http://json-schema.org/draft-06/schema#",`, `"$schema":"http://json-schema.org/draft-07/schema#",`,
		`"$schema":"https://json-schema.org/draft/2019-09/schema",`, `"$schema":"https://json-schema.org/draft/2020-12/schema",`)
	return fmt.Sprintf(`{%s"$defs":{"d0":%s,"d1":%s},%s`, draft, first, second, schema[1:])
}

// within writes a schema that has a name, or seems to have one, and definitions that a reference in it may lead to.
func (r *schemas) within(depth int) string {
	refs := r.refs
	r.refs = nil // these would lead to the definitions here
	defer func() { r.refs = refs }()
	return fmt.Sprintf(`{%q:"http://x.test/%d","$defs":{"d0":%s,"d1":%s},"$ref":%q}`, r.pick("id", "$id"), r.IntN(1e9), r.schema(depth), r.schema(depth), r.pick(refs...))
}

func (r *schemas) pick(list ...string) string { return list[r.IntN(len(list))] }

func (r *schemas) list(depth, least, most int) string {
	n := least + r.IntN(most-least+1)
	all := make([]string, n)
	for i := range all {
		all[i] = r.schema(depth)
	}
	return "[" + strings.Join(all, ",") + "]"
}

func (r *schemas) name() string  { return r.pick(`"a"`, `"b"`, `"c"`) }
func (r *schemas) names() string { return r.pick(`["a"]`, `["b"]`, `["a","b"]`, `["c","a"]`) }
func (r *schemas) count() string { return r.pick("0", "1", "2") }

// schema writes a schema.
func (r *schemas) schema(depth int) string {
	if depth == 0 {
		if len(r.refs) > 0 && r.IntN(6) == 0 {
			return fmt.Sprintf(`{"$ref":%q}`, r.pick(r.refs...))
		}
		return r.pick("true", `{"type":"string"}`, `{"type":"integer"}`, `{"const":1}`, `{"const":{"a":1}}`, `{"enum":["x",2,null,[1]]}`, `{"minimum":2}`, `{"maxLength":1}`,
			`{"pattern":"^x"}`, `{"multipleOf":2}`, `{"type":["array","null"]}`, `{"required":["a"]}`, `{"minItems":1}`, "false", `{"type":"object"}`, `{"propertyNames":false}`,
			`{"type":["object","null"],"propertyNames":{"maxLength":1,"minLength":2},"minProperties":1}`)
	}
	sub := func() string { return r.schema(depth - 1) }
	var parts []string
	have := map[string]bool{}
	for range 1 + r.IntN(3) {
		var key, value string
		switch r.IntN(26) {
		case 0:
			key, value = "type", r.pick(`"object"`, `"array"`, `["object","array"]`, `"string"`, `["integer","object"]`)
		case 1, 2, 3:
			key, value = "properties", fmt.Sprintf(`{%s:%s}`, r.name(), sub())
			if r.IntN(2) == 0 {
				value = fmt.Sprintf(`{"a":%s,"b":%s}`, sub(), sub())
			}
		case 4, 5:
			key, value = "required", r.names()
		case 6:
			key, value = "additionalProperties", sub()
		case 7:
			key, value = "patternProperties", fmt.Sprintf(`{%s:%s}`, r.pick(`"^a"`, `"b|d"`, `"."`), sub())
		case 8:
			key, value = "propertyNames", r.pick(`{"enum":["a","b"]}`, `{"pattern":"^[a-c]$"}`, `{"maxLength":0}`, "false", `{"type":"number"}`,
				`{"minLength":2,"maxLength":1}`, `{"not":{}}`, `{"enum":["x"]}`)
			if r.IntN(2) == 0 && !have["minProperties"] { // and perhaps there are not as many names
				have["minProperties"] = true
				parts = append(parts, `"minProperties":1`)
			}
		case 9:
			key, value = r.pick("maxProperties", "minItems", "maxItems"), r.count()
		case 10:
			key, value = "minProperties", r.pick("0", "1")
		case 11:
			key, value = "items", sub()
		case 12:
			key, value = "prefixItems", r.list(depth-1, 1, 2)
		case 13:
			key, value = "contains", sub()
		case 14:
			key, value = r.pick("minContains", "maxContains"), r.count()
		case 15, 16:
			key, value = "anyOf", r.list(depth-1, 1, 3)
		case 17:
			key, value = "allOf", r.list(depth-1, 1, 2)
		case 18, 19:
			key, value = "oneOf", r.list(depth-1, 1, 3)
		case 20:
			key, value = "not", sub()
		case 21:
			parts = append(parts, `"then":`+sub(), `"else":`+sub())
			have["then"], have["else"] = true, true
			key, value = "if", sub()
		case 22:
			key, value = r.pick("dependentSchemas", "unevaluatedProperties", "unevaluatedItems"), sub()
			if key == "dependentSchemas" {
				value = fmt.Sprintf(`{%s:%s}`, r.name(), value)
			}
		case 24, 25:
			if len(r.refs) == 0 {
				continue
			}
			if key, value = "$ref", fmt.Sprintf("%q", r.pick(r.refs...)); r.IntN(3) == 0 {
				key, value = r.pick("not", "items", "additionalProperties"), r.within(depth-1)
			}
		case 23:
			key, value = "dependentRequired", fmt.Sprintf(`{%s:%s}`, r.name(), r.names())
		}
		if !have[key] {
			have[key] = true
			parts = append(parts, fmt.Sprintf("%q:%s", key, value))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// value writes a value.
func (r *schemas) value(depth int) string {
	if depth == 0 || r.IntN(5) == 0 {
		return r.pick("1", "2", "3", `"x"`, `"yy"`, "null", "true", "[1]", "{}", "[]", "-4")
	}
	var parts []string
	if r.IntN(3) == 0 {
		for range r.IntN(4) {
			parts = append(parts, r.value(depth-1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		if r.IntN(2) == 0 {
			parts = append(parts, fmt.Sprintf("%q:%s", name, r.value(depth-1)))
		}
	}
	r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return "{" + strings.Join(parts, ",") + "}"
}

// judge returns another validator of a schema.
func judge(t *testing.T, schema string) *validator.Schema {
	t.Helper()
	parsed, err := validator.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(schema, err)
	}
	v := validator.NewCompiler()
	if err := v.AddResource("s.json", parsed); err != nil {
		t.Fatal(schema, err)
	}
	s, err := v.Compile("s.json")
	if err != nil {
		t.Fatal(schema, err)
	}
	return s
}

// No document is accepted that another validator finds invalid. A valid one is refused only if a schema demands some member without knowing
// its name: such members come last.
func TestRandomSchemas(t *testing.T) {
	effort.Turn(t, 8)
	const documents = 40
	count := effort.Of(400, 1000, 5000)
	r := &schemas{Rand: rand.New(rand.NewPCG(1, 2))}
	unsupported, valid, refused := 0, 0, 0
	for i := range count {
		schema := r.whole(1 + i%3)
		judge := judge(t, schema)
		m, err := compile(schema, jsonschema.Options{AnyOrder: true})
		var u *jsonschema.UnsupportedError
		nothing := false
		if errors.As(err, &u) {
			unsupported++
			continue
		} else if err != nil {
			if nothing = strings.Contains(err.Error(), "no value satisfies"); !nothing {
				t.Errorf("%s: %v", schema, err)
				continue
			}
		}
		for range documents {
			text := r.value(3)
			var x any
			if err := json.Unmarshal([]byte(text), &x); err != nil {
				t.Fatal(text, err)
			}
			want := judge.Validate(x) == nil
			if want {
				valid++
			}
			switch got := !nothing && accepts(m, text); {
			case got && !want:
				t.Errorf("%s\naccepts %s", schema, text)
			case want && !got:
				if refused++; nothing || !strings.Contains(schema, `"not"`) && !strings.Contains(schema, `"oneOf"`) && !strings.Contains(schema, `"if"`) {
					t.Errorf("%s\nrefuses %s", schema, text)
				}
			}
		}
		if m != nil && m.Err() != nil {
			t.Errorf("%s: %v", schema, m.Err())
		}
	}
	t.Logf("%d schemas of %d are not supported; of %d valid documents %d are refused", unsupported, count, valid, refused)
	if unsupported > count/8 || valid < 10*count || refused > valid/500 {
		t.Error("too much is refused")
	}
}

var hugePower = regexp.MustCompile(`[0-9][eE][+-]?[0-9]{4,}`)

// A text that is drawn byte by byte can always be completed, and is then valid.
func TestRandomDocuments(t *testing.T) {
	effort.Turn(t, 8)
	const count, documents, longest = 300, 8, 300
	r := &schemas{Rand: rand.New(rand.NewPCG(3, 4))}
	complete := 0
	for i := range count {
		schema := r.whole(1 + i%3)
		judge := judge(t, schema)
		m, err := compile(schema, jsonschema.Options{AnyOrder: i%2 == 0})
		if err != nil {
			continue
		}
		for range documents {
			var text []byte
			for s := m.Start(); len(text) < longest; {
				if m.Accepts(s) && (r.IntN(4) == 0 || m.First(s) == regular.Class{}) {
					if hugePower.Match(text) { // the other validator would take its time
						break
					}
					complete++
					x, err := validator.UnmarshalJSON(bytes.NewReader(text))
					if err != nil {
						t.Errorf("%s\nallows %q: %v", schema, text, err)
					} else if err := judge.Validate(x); err != nil {
						t.Errorf("%s\nallows %s: %v", schema, text, err)
					}
					break
				}
				first := m.First(s)
				next := first.Bytes(nil)
				if len(next) == 0 {
					t.Errorf("%s\nis stuck after %q", schema, text)
					break
				}
				b := next[r.IntN(len(next))]
				for _, c := range []byte(`"]},:`) { // which end something, soon
					if r.IntN(3) == 0 && first.Has(c) {
						b = c
					}
				}
				text = append(text, b)
				if s = m.Next(s, b); s == grammar.Dead {
					t.Errorf("%s\nallows %q, and then not", schema, text)
					break
				}
			}
		}
	}
	if complete < count {
		t.Errorf("%d documents only", complete)
	}
	t.Logf("%d documents are complete", complete)
}
