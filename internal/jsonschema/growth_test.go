package jsonschema_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
	"github.com/antigravity-go/antigravity/internal/regular"
)

var growth = flag.Int("growth", 1, "by how much TestGrowth's schemas are larger than usual")

// rep repeats a text n times; each, n texts with a comma between them, has the number of each in place of § and the next one in place of §+.
func rep(n int, s string) string { return strings.Repeat(s, n) }

func each(n int, s string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		strings.NewReplacer("§+", fmt.Sprint(i+1), "§", fmt.Sprint(i)).WriteString(&b, s)
	}
	return b.String()
}

// nest puts a schema into itself, n times: s has the inner one in place of @.
func nest(n int, s, innermost string) string {
	before, after, _ := strings.Cut(s, "@")
	return rep(n, before) + innermost + rep(n, after)
}

// chain is n definitions that each have the next one, in a form of s, below the text top; the last one is end.
func chain(n int, top, s, end string) string {
	return `{` + top + `,"$defs":{` + each(n, `"d§":`+s) + fmt.Sprintf(`,"d%d":%s}}`, n, end)
}

// family is schemas that grow.
type family struct {
	name   string
	schema func(n int) string
	deep   bool // n is a depth, which has a bound
	square bool // the constraint of the schema grows with the square of n: only its bound can be seen
	lossy  bool
}

const next, titled = `{"$ref":"#/$defs/d§+"}`, `{"$ref":"#/$defs/d§+","title":"t"}`

// families has each keyword in size, in depth and in number, and pairs of them that took for ever.
var families = []family{
	{name: "enum of integers", schema: func(n int) string { return `{"enum":[` + each(n, "§") + `]}` }},
	{name: "enum of fractions", schema: func(n int) string { return `{"enum":[` + each(n, "§.5") + `]}` }},
	{name: "enum of strings", schema: func(n int) string { return `{"enum":[` + each(n, `"w§"`) + `]}` }},
	{name: "enum of arrays", schema: func(n int) string { return `{"enum":[` + each(n, "[§]") + `]}` }},
	{name: "enum of objects", schema: func(n int) string { return `{"enum":[` + each(n, `{"a":§}`) + `]}` }},
	{name: "enum of objects with properties", schema: func(n int) string {
		return `{"enum":[` + each(n, `{"a":§}`) + `],"properties":{"a":{"minimum":3}},"required":["a"]}`
	}},
	{name: "enum within bounds", schema: func(n int) string { return `{"enum":[` + each(n, "§") + `],"minimum":5,"multipleOf":2}` }},
	{name: "enum with enum", schema: func(n int) string {
		return `{"enum":[` + each(n, `"w§"`) + `],"allOf":[{"enum":[` + each(n, `"w§+"`) + `]}]}`
	}},
	{name: "const with uniqueItems", schema: func(n int) string { return `{"const":[` + each(n, "§") + `],"uniqueItems":true}` }},
	{name: "const with contains", schema: func(n int) string {
		return `{"const":[` + each(n, "§") + `],"contains":{"minimum":3},"items":{"type":"integer"}}`
	}},
	{name: "const with prefixItems", schema: func(n int) string {
		return `{"const":[` + each(n, "§") + `],"prefixItems":[` + each(n, `{"const":§}`) + `]}`
	}},
	{name: "const with properties", schema: func(n int) string {
		return `{"const":{` + each(n, `"p§":§`) + `},"properties":{` + each(n, `"p§":{"const":§}`) + `},"required":[` + each(min(n, 2000), `"p§"`) + `]}`
	}},
	{name: "const with patternProperties", schema: func(n int) string {
		return `{"const":{` + each(n, `"p§":§`) + `},"patternProperties":{"^p":{"type":"integer"}},"propertyNames":{"maxLength":9}}`
	}},
	{name: "const with dependentRequired", schema: func(n int) string {
		return `{"const":{` + each(n, `"p§":§`) + `,"x":1},"dependentRequired":{` + each(n, `"p§":["x"]`) + `}}`
	}},
	{name: "const of a long text", schema: func(n int) string { return `{"const":"` + rep(10*n, "x") + `"}` }},
	{name: "const in depth", deep: true, schema: func(n int) string { return `{"const":` + nest(n, "[@]", "") + `}` }},
	{name: "anyOf of numbers", schema: func(n int) string { return `{"anyOf":[` + each(n, `{"const":§}`) + `]}` }},
	{name: "anyOf of strings", schema: func(n int) string { return `{"anyOf":[` + each(n, `{"const":"w§"}`) + `]}` }},
	{name: "anyOf of objects", schema: func(n int) string { return `{"anyOf":[` + each(n, `{"const":{"a":§}}`) + `]}` }},
	{name: "anyOf of schemas", schema: func(n int) string {
		return `{"anyOf":[` + each(n, `{"type":"object","properties":{"p§":{"type":"string"}}}`) + `]}`
	}},
	{name: "anyOf of patterns", square: true, schema: func(n int) string { return `{"anyOf":[` + each(n, `{"type":"string","pattern":"^a§"}`) + `]}` }},
	{name: "oneOf of numbers", schema: func(n int) string { return `{"oneOf":[` + each(n, `{"const":§,"title":"t§"}`) + `]}` }},
	{name: "oneOf of strings", schema: func(n int) string { return `{"oneOf":[` + each(n, `{"const":"w§","title":"t§"}`) + `]}` }},
	{name: "oneOf of kinds", schema: func(n int) string {
		return `{"oneOf":[` + each(n, `{"type":"object","properties":{"kind":{"const":"k§"}},"required":["kind"]}`) + `]}`
	}},
	{name: "oneOf of objects", schema: func(n int) string { return `{"oneOf":[` + each(n, `{"required":["p§"]}`) + `]}` }},
	{name: "allOf of bounds", schema: func(n int) string { return `{"allOf":[` + each(n, `{"minimum":§}`) + `]}` }},
	{name: "allOf of properties", schema: func(n int) string { return `{"allOf":[` + each(n, `{"properties":{"p§":{"minimum":§}}}`) + `]}` }},
	{name: "allOf of one property", schema: func(n int) string { return `{"allOf":[` + each(n, `{"properties":{"p":{"minimum":§}}}`) + `]}` }},
	{name: "allOf of enums", schema: func(n int) string { return `{"allOf":[` + each(n, `{"enum":["§","x","y"]}`) + `]}` }},
	{name: "allOf of anyOfs", schema: func(n int) string {
		return `{"type":"object","allOf":[` + each(n, `{"anyOf":[{"required":["p§"]},{"required":["q§"]}]}`) + `]}`
	}},
	{name: "not of numbers", schema: func(n int) string { return `{"not":{"enum":[` + each(n, "§") + `]}}` }},
	{name: "not of strings", schema: func(n int) string { return `{"not":{"enum":[` + each(n, `"w§"`) + `]}}` }},
	{name: "not of objects", schema: func(n int) string { return `{"not":{"enum":[` + each(n, `{"a":§}`) + `]}}` }},
	{name: "not of required", schema: func(n int) string { return `{"not":{"required":[` + each(n, `"p§"`) + `]}}` }},
	{name: "not in depth", deep: true, schema: func(n int) string { return nest(n, `{"not":@}`, `{"type":"null"}`) }},
	{name: "type of many", schema: func(n int) string { return `{"type":["null"` + rep(n, `,"string"`) + `]}` }},
	{name: "properties", schema: func(n int) string { return `{"properties":{` + each(n, `"p§":{"minimum":§}`) + `}}` }},
	{name: "properties in depth", deep: true, schema: func(n int) string { return nest(n, `{"properties":{"p":@}}`, "true") }},
	{name: "properties with long names in depth", deep: true, schema: func(n int) string { return nest(n/2, `{"properties":{"`+rep(n, "x")+`":@}}`, "true") }},
	{name: "required", schema: func(n int) string { return `{"required":[` + each(n, `"p§"`) + `],"type":"object"}` }},
	{name: "required properties", schema: func(n int) string {
		return `{"properties":{` + each(n, `"p§":{"type":"integer"}`) + `},"required":[` + each(n, `"p§"`) + `]}`
	}},
	{name: "additionalProperties in depth", deep: true, schema: func(n int) string { return nest(n, `{"additionalProperties":@}`, "true") }},
	{name: "additionalProperties beside properties", schema: func(n int) string {
		return `{"properties":{` + each(n, `"p§":true`) + `},"additionalProperties":{"type":"null"},"minProperties":1}`
	}},
	{name: "patternProperties", schema: func(n int) string { return `{"patternProperties":{` + each(n, `"^p§":{"minimum":§}`) + `}}` }},
	{name: "patternProperties beside properties", schema: func(n int) string {
		return `{"properties":{` + each(n, `"p§":true`) + `},"patternProperties":{"^a":{"type":"null"},"^b":false},"additionalProperties":false}`
	}},
	{name: "propertyNames", schema: func(n int) string { return `{"propertyNames":{"enum":[` + each(n, `"p§"`) + `]}}` }},
	{name: "propertyNames beside properties", schema: func(n int) string {
		return `{"propertyNames":{"pattern":"^p"},"properties":{` + each(n, `"p§":true`) + `}}`
	}},
	{name: "dependentRequired", schema: func(n int) string { return `{"dependentRequired":{` + each(n, `"p§":["p§+"]`) + `}}` }},
	{name: "dependentSchemas", schema: func(n int) string {
		return `{"dependentSchemas":{` + each(n, `"p§":{"properties":{"q":{"minimum":§}}}`) + `}}`
	}},
	{name: "dependentSchemas in depth", deep: true, schema: func(n int) string { return nest(n, `{"dependentSchemas":{"p":@}}`, "true") }},
	{name: "dependencies", schema: func(n int) string { return `{"dependencies":{` + each(n, `"p§":["q"]`) + `}}` }},
	{name: "minProperties", schema: func(n int) string {
		return fmt.Sprintf(`{"minProperties":%d,"properties":{%s}}`, n/2, each(n, `"p§":true`))
	}},
	{name: "maxProperties", schema: func(n int) string {
		return fmt.Sprintf(`{"maxProperties":%d,"properties":{%s}}`, n/2, each(n, `"p§":true`))
	}},
	{name: "prefixItems", schema: func(n int) string { return `{"prefixItems":[` + each(n, `{"minimum":§}`) + `]}` }},
	{name: "prefixItems in depth", deep: true, schema: func(n int) string { return nest(n, `{"prefixItems":[@]}`, "true") }},
	{name: "items in depth", deep: true, schema: func(n int) string { return nest(n, `{"items":@}`, "true") }},
	{name: "items by number", schema: func(n int) string {
		return fmt.Sprintf(`{"minItems":%d,"maxItems":%d,"items":{"type":"null"}}`, n, 2*n)
	}},
	{name: "contains in depth", deep: true, schema: func(n int) string { return nest(n, `{"contains":@}`, `{"const":1}`) }},
	{name: "contains by number", schema: func(n int) string { return fmt.Sprintf(`{"contains":{"const":1},"minContains":%d}`, n) }},
	{name: "contains beside prefixItems", schema: func(n int) string {
		return `{"contains":{"type":"integer"},"prefixItems":[` + each(n, `{"enum":[§,"x"]}`) + `]}`
	}},
	{name: "uniqueItems", schema: func(n int) string {
		return `{"type":"array","uniqueItems":true,"items":{"enum":[` + each(n, "§") + `]}}`
	}},
	{name: "minLength and maxLength", schema: func(n int) string { return fmt.Sprintf(`{"minLength":%d,"maxLength":%d}`, n, 2*n) }},
	{name: "pattern", schema: func(n int) string { return `{"pattern":"^` + rep(n, "ab") + `$"}` }},
	{name: "pattern with maxLength", schema: func(n int) string { return fmt.Sprintf(`{"pattern":"^[ab]*c","maxLength":%d}`, n) }},
	{name: "format", square: true, schema: func(n int) string { return `{"anyOf":[` + each(n, `{"format":"date-time","minLength":§}`) + `]}` }},
	{name: "minimum with digits", schema: func(n int) string { return `{"minimum":` + rep(n, "9") + `}` }},
	{name: "multipleOf", schema: func(n int) string { return fmt.Sprintf(`{"type":"integer","multipleOf":%d}`, n) }},
	{name: "multipleOf many", schema: func(n int) string { return `{"allOf":[` + each(n, `{"multipleOf":§+}`) + `]}` }},
	{name: "refs by pointer", schema: func(n int) string {
		return `{"properties":{` + each(n, `"p§":{"$ref":"#/$defs/d§"}`) + `},"$defs":{` + each(n, `"d§":{"minimum":§}`) + `}}`
	}},
	{name: "refs by anchor", schema: func(n int) string {
		return `{"properties":{` + each(n, `"p§":{"$ref":"#a§"}`) + `},"$defs":{` + each(n, `"d§":{"$anchor":"a§","minimum":§}`) + `}}`
	}},
	{name: "refs by id", square: true, schema: func(n int) string {
		return `{"$id":"http://x.test/` + rep(n, "y") + `/z","properties":{` + each(n, `"p§":{"$ref":"a§"}`) + `},"$defs":{` + each(n, `"d§":{"$id":"a§","minimum":§}`) + `}}`
	}},
	{name: "refs to one enum", schema: func(n int) string {
		return `{"allOf":[` + each(n, `{"$ref":"#/$defs/e","title":"t§"}`) + `],"$defs":{"e":{"enum":[` + each(n, `"w§"`) + `]}}}`
	}},
	{name: "ids in depth", deep: true, square: true, schema: func(n int) string { return nest(n, `{"$id":"`+rep(n, "y")+`/","items":@}`, `{"type":"null"}`) }},
	{name: "chain of refs", schema: func(n int) string { return chain(n, `"$ref":"#/$defs/d0"`, next, "true") }},
	{name: "chain of anchors", schema: func(n int) string {
		return `{"$ref":"#a0","$defs":{` + each(n, `"d§":{"$anchor":"a§","$ref":"#a§+"}`) + fmt.Sprintf(`,"d":{"$anchor":"a%d"}}}`, n)
	}},
	{name: "chain of properties", schema: func(n int) string {
		return chain(n, `"$ref":"#/$defs/d0"`, `{"properties":{"p":`+next+`},"required":["p"]}`, "true")
	}},
	{name: "chain of allOf", schema: func(n int) string { return chain(n, `"$ref":"#/$defs/d0"`, `{"allOf":[`+next+`,`+titled+`]}`, "true") }},
	{name: "chain of anyOf", schema: func(n int) string { return chain(n, `"$ref":"#/$defs/d0"`, `{"anyOf":[`+next+`,`+titled+`]}`, "true") }},
	{name: "const over a chain of allOf", schema: func(n int) string {
		return chain(n, `"const":{},"$ref":"#/$defs/d0"`, `{"allOf":[`+next+`,`+titled+`]}`, "true")
	}},
	{name: "const over a chain of anyOf", schema: func(n int) string {
		return chain(n, `"const":{},"$ref":"#/$defs/d0"`, `{"anyOf":[`+next+`,`+titled+`]}`, "true")
	}},
	{name: "const over a chain of oneOf", schema: func(n int) string {
		return chain(n, `"const":{},"$ref":"#/$defs/d0"`, `{"oneOf":[`+next+`,{"type":"null","allOf":[`+titled+`]}]}`, "true")
	}},
	{name: "lossy chain of not", lossy: true, schema: func(n int) string {
		return chain(n, `"not":{"$ref":"#/$defs/d0"}`, `{"allOf":[`+next+`,`+titled+`]}`, `{"type":"null","pattern":"(a)\\1"}`)
	}},
	{name: "lossy patterns", lossy: true, schema: func(n int) string {
		return `{"properties":{` + each(n, `"p§":{"pattern":"(a)\\1§"}`) + `}}`
	}},
	{name: "lossy patterns in nots", lossy: true, schema: func(n int) string {
		return `{"properties":{` + each(n, `"p§":{"not":{"pattern":"(a)\\1§"}}`) + `}}`
	}},
	{name: "if in depth", deep: true, schema: func(n int) string { return nest(n, `{"if":{"type":"string"},"then":{"minLength":1},"else":@}`, "true") }},
	{name: "if in number", schema: func(n int) string {
		return `{"allOf":[` + each(n, `{"if":{"required":["p§"]},"then":{"required":["q§"]}}`) + `]}`
	}},
	{name: "if over a const", schema: func(n int) string {
		return `{"const":{},"allOf":[` + each(n, `{"if":{"required":["p§"]},"else":{"maxProperties":§}}`) + `]}`
	}},
	{name: "unevaluatedProperties", schema: func(n int) string {
		return `{"allOf":[` + each(n, `{"properties":{"p§":true}}`) + `],"unevaluatedProperties":false}`
	}},
	{name: "unevaluatedItems", schema: func(n int) string {
		return `{"allOf":[` + each(n, `{"prefixItems":[{"minimum":§}]}`) + `],"unevaluatedItems":false}`
	}},
	{name: "allOf in depth", deep: true, schema: func(n int) string { return nest(n, `{"allOf":[@,{"minimum":1}]}`, "true") }},
	{name: "anyOf in depth", deep: true, square: true, schema: func(n int) string { return nest(n, `{"anyOf":[@,{"minimum":1}]}`, "true") }},
	{name: "oneOf in depth", deep: true, schema: func(n int) string { return nest(n, `{"oneOf":[@,{"type":"string"}]}`, `{"type":"null"}`) }},
}

// spending is what a compilation took.
type spending struct {
	steps, bytes int
	took         time.Duration
	err          error
}

// Whatever keyword grows, the work and the memory of a compilation grow with it and not with its square, or stop at their bounds.
func TestGrowth(t *testing.T) {
	effort.Turn(t, 8)
	const mostBytes = 256 << 20
	most := 600_000 // for a quick look at those that stop at their bound
	if *growth > 1 {
		most = 6_000_000
	}
	measure := func(f family, n int) (s spending) {
		schema := f.schema(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		budget := jsonschema.NewBudget(t.Context())
		budget.Limit(most)
		l := jsonexpr.New()
		_, _, s.err = jsonschema.Compile([]byte(schema), l, grammar.New(l.Arena), jsonschema.Options{Lossy: f.lossy, AnyOrder: true, Budget: budget})
		s.took = time.Since(began)
		runtime.ReadMemStats(&after)
		s.steps, s.bytes = budget.Spent(), int(after.TotalAlloc-before.TotalAlloc)
		return s
	}
	for _, f := range families {
		if *only != "" && f.name != *only {
			continue
		}
		n := 100 * *growth
		if f.deep {
			n = 50
		}
		small := measure(f, n)
		large := small
		if !errors.As(small.err, new(*jsonschema.UnsupportedError)) { // which stopped at its bound, as it does when it is larger
			large = measure(f, 4*n)
		}
		t.Logf("%-40s %8d → %8d steps, %9d → %9d bytes, %8v → %8v %.90v", f.name, small.steps, large.steps, small.bytes, large.bytes, small.took.Round(time.Microsecond), large.took.Round(time.Microsecond), large.err)
		if large.steps > most+most/10 || large.bytes > mostBytes {
			t.Errorf("%s of %d: %d steps and %d bytes", f.name, 4*n, large.steps, large.bytes)
		}
		var u *jsonschema.UnsupportedError
		if errors.As(large.err, &u) || errors.Is(large.err, regular.ErrTooComplex) {
			continue
		}
		if large.err != nil && !strings.Contains(large.err.Error(), "deep") && !strings.Contains(large.err.Error(), "no value") {
			t.Errorf("%s of %d: %v", f.name, 4*n, large.err)
		}
		if f.square {
			continue
		}
		if large.steps > 8*small.steps+1000 || large.bytes > 8*small.bytes+1<<20 {
			t.Errorf("%s: %d steps and %d bytes for %d, %d and %d for %d", f.name, small.steps, small.bytes, n, large.steps, large.bytes, 4*n)
		}
	}
}

// ending is a context that ends when it has been asked some times.
type ending struct {
	context.Context
	asked int
}

func (e *ending) Err() error {
	if e.asked--; e.asked < 0 {
		return context.Canceled
	}
	return nil
}

// Whatever a schema makes a compilation do, it ends soon after the context has.
func TestCancel(t *testing.T) {
	effort.Turn(t, 8)
	const asked, atOnce = 5, 1 << 16
	cancelled := 0
	for _, f := range families {
		n := 200
		if f.deep {
			n = 100
		}
		budget := jsonschema.NewBudget(&ending{t.Context(), asked})
		l := jsonexpr.New()
		_, _, err := jsonschema.Compile([]byte(f.schema(n)), l, grammar.New(l.Arena), jsonschema.Options{Lossy: f.lossy, Budget: budget})
		if errors.Is(err, context.Canceled) {
			cancelled++
		}
		if spent := budget.Spent(); spent > (asked+1)*4096+atOnce || spent > (asked+2)*4096 && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %d steps, %v", f.name, spent, err)
		}
	}
	if cancelled < 20 {
		t.Errorf("%d compilations only were long enough to be cancelled", cancelled)
	}
}

// A compilation that begins when the budget is spent, by others that share it, is an error.
func TestSpentBudget(t *testing.T) {
	budget := jsonschema.NewBudget(t.Context())
	budget.Limit(1)
	l := jsonexpr.New()
	_, _, err := jsonschema.Compile([]byte(`{}`), l, grammar.New(l.Arena), jsonschema.Options{Budget: budget})
	if !errors.As(err, new(*jsonschema.UnsupportedError)) {
		t.Errorf("%v", err)
	}
}
