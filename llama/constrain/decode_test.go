package constrain_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/llama/constrain"
)

// everyKind has fields of the kinds that programs ask for.
type everyKind struct {
	Name     string             `json:"name"`
	Small    int8               `json:"small"`
	Unsigned uint16             `json:"unsigned"`
	Count    int                `json:"count"`
	Large    uint64             `json:"large"`
	Half     float32            `json:"half"`
	Ratio    float64            `json:"ratio"`
	Yes      bool               `json:"yes"`
	Tags     []string           `json:"tags"`
	Pair     [2]int             `json:"pair"`
	Scores   map[string]int32   `json:"scores"`
	Optional *int               `json:"optional,omitempty"`
	When     time.Time          `json:"when"`
	Until    *time.Time         `json:"until"`
	Level    slog.Level         `json:"level"`
	Big      big.Int            `json:"big"`
	Part     big.Rat            `json:"part"`
	Real     big.Float          `json:"real"`
	Number   json.Number        `json:"number"`
	Raw      json.RawMessage    `json:"raw"`
	Any      any                `json:"any"`
	Inner    struct{ A, B int } `json:"inner"`
}

// everyText has fields of types that write themselves in another way than their Go type.
type everyText struct {
	Address netip.Addr    `json:"address"`
	Quoted  int16         `json:"quoted,string"`
	QuotedP *uint64       `json:"quotedP,string"`
	Shade   shade         `json:"shade"`
	Shades  map[shade]int `json:"shades"`
	ID      id            `json:"id"`
	Count   int           `json:"count"`
	Named
	*Pointed
}

// shade is an enumeration that writes itself as texts.
type shade uint8

func (s shade) String() string { return [...]string{"light", "dark"}[s] } // panics for others

func (s *shade) UnmarshalText(text []byte) error {
	for i, name := range []string{"light", "dark"} {
		if name == string(text) {
			*s = shade(i)
			return nil
		}
	}
	return errors.New("no shade")
}

// id is a UUID, as the packages for these have it.
type id [16]byte

func (i *id) UnmarshalText(text []byte) error {
	if len(text) != 36 {
		return errors.New("no UUID")
	}
	_, err := hex.Decode(i[:], bytes.ReplaceAll(text, []byte("-"), nil))
	return err
}

// tree holds itself, in several ways.
type tree struct {
	Name     string `json:"name"`
	Left     *tree  `json:"left,omitempty"`
	Branches []tree `json:"branches,omitempty"`
	Forest   forest `json:"forest,omitempty"`
}

type forest map[string]tree

// Named and Pointed are embedded.
type Named struct {
	Label string `json:"label"`
	Count string `json:"count"` // hidden by everyText's own
}

type Pointed struct{ X, Y int32 }

// TestDrawnAnswersDecode draws documents of a Go type and reads them into it: numbers have to be in their fields' ranges, times to be times.
func TestDrawnAnswersDecode(t *testing.T) {
	drawnAnswersDecode[everyKind](t)
	drawnAnswersDecode[everyText](t)
}

func drawnAnswersDecode[T any](t *testing.T) {
	tokenizer := pebbleTokenizer(t)
	constraint, err := constrain.JSONFor[T](tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	complete := 0
	for name, draw := range drawings {
		for seed := range uint64(4 * *documents) {
			text, ended, err := newWriter(tokenizer, seed).write(constraint, draw)
			if ended {
				complete++
				err = json.Unmarshal(text, new(T))
			}
			if err != nil {
				t.Errorf("%s, seed %d: %v\n%s", name, seed, err, text)
			}
		}
	}
	if complete == 0 {
		t.Errorf("no document of %T came to its end", *new(T))
	}
}

// TestTypesThatNothingDecodes wants errors that name the field, alike from everything that takes a type.
func TestTypesThatNothingDecodes(t *testing.T) {
	for name, c := range map[string]struct {
		of   any
		want []string
	}{
		"a type with UnmarshalJSON": {struct{ In []struct{ Odd []odd } }{}, []string{"field In of", "field Odd of", "constrain_test.odd decodes itself", "constrain.Schemer"}},
		"an interface with methods": {struct{ Name fmt.Stringer }{}, []string{"field Name of", "interface with methods"}},
		"an interface in a map":     {struct{ M map[string]io.Reader }{}, []string{"field M of", "interface with methods"}},
		"a channel":                 {struct{ C chan int }{}, []string{"field C of", "chan"}},
		"keys that are no strings":  {struct{ M map[bool]int }{}, []string{"field M of", "keys of map[bool]int"}},
		"the option string": {struct {
			N shade `json:",string"`
		}{}, []string{"field N of", "option string"}},
		"an embedded pointer": {struct{ *hidden }{}, []string{"field hidden of", "embedded"}},
		"a promoted method":   {struct{ odd }{}, []string{"decodes itself"}},
	} {
		for _, wide := range []bool{false, true} {
			_, err := constrain.SchemaOfType(reflect.TypeOf(c.of), wide)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: the error is %v, want one with %q", name, err, want)
				}
			}
		}
	}
	if _, err := constrain.Schema[struct {
		Skipped odd `json:"-"`
		chan_   chan int
	}](); err != nil {
		t.Error(err)
	}
	if _, err := constrain.Function[[]int]("f", ""); err == nil {
		t.Error("a function whose arguments are a list")
	}
}

type odd int

func (*odd) UnmarshalJSON([]byte) error { return errors.New("odd") }

type hidden struct{ X int }

// Schemas of types, as a model sees them.
func TestSchemasOfTypes(t *testing.T) {
	for want, of := range map[string]any{
		`{"type":"object","properties":{"Next":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/list"}]}},"required":["Next"],"additionalProperties":false,` +
			`"$defs":{"list":{"type":"object","properties":{"Next":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/list"}]}},"required":["Next"],"additionalProperties":false}}}`: list{},
		`{"type":"string","enum":["light","dark"]}`:       shade(0),
		`{"type":"string","format":"uuid"}`:               id{},
		`{"type":"string"}`:                               word(""),
		`{"type":"integer","minimum":-128,"maximum":127}`: int8(0),
		`{"type":"integer"}`:                              int64(0),
		`{"type":"integer","minimum":0}`:                  uint64(0),
		`{"type":"number"}`:                               float64(0),
	} {
		schema, err := constrain.SchemaOfType(reflect.TypeOf(of), false)
		var got, wanted any
		if err != nil || json.Unmarshal(schema, &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil || !reflect.DeepEqual(got, wanted) {
			t.Errorf("%T: %s, %v, want %s", of, schema, err, want)
		}
	}
}

type list struct{ Next *list }

// word reads itself from some texts, which nobody knows.
type word string

func (w *word) UnmarshalText(text []byte) error { *w = word(text); return nil }

// TestAnyTypeDecodes draws documents of types that are made of others at random, and reads them: nothing of a document is left over.
func TestAnyTypeDecodes(t *testing.T) {
	tokenizer := pebbleTokenizer(t)
	random := rand.New(rand.NewPCG(1, 2))
	complete := 0
	for n := range 12 * *documents {
		of := randomType(random, 3)
		wide := n%2 == 0
		schema, err := constrain.SchemaOfType(of, wide)
		if err != nil {
			t.Fatalf("%v: %v", of, err)
		}
		constraint, _, err := constrain.JSONSchemaWith(tokenizer, schema, constrain.SchemaOptions{Ordered: true})
		if err != nil {
			t.Errorf("%v: %v\n%s", of, err, schema)
			continue
		}
		for name, draw := range drawings {
			text, ended, err := newWriter(tokenizer, uint64(n)).write(constraint, draw)
			if err == nil && ended {
				complete++
				d := json.NewDecoder(bytes.NewReader(text))
				d.DisallowUnknownFields()
				err = d.Decode(reflect.New(of).Interface())
			}
			if err != nil {
				t.Errorf("%s: %v\n%v\n%s\n%s", name, err, of, schema, text)
			}
		}
	}
	if complete == 0 {
		t.Error("no document came to its end")
	}
}

// null is a type as database/sql has them: a struct that knows nothing of JSON.
type null[T any] struct {
	V     T
	Valid bool
}

// leaves are the types that random types are made of.
var leaves = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[int32](), reflect.TypeFor[uint64](), reflect.TypeFor[int](),
	reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[string](), reflect.TypeFor[any](), reflect.TypeFor[[]byte](), reflect.TypeFor[time.Time](),
	reflect.TypeFor[time.Duration](), reflect.TypeFor[netip.Addr](), reflect.TypeFor[netip.AddrPort](), reflect.TypeFor[netip.Prefix](), reflect.TypeFor[net.IP](),
	reflect.TypeFor[big.Int](), reflect.TypeFor[big.Rat](), reflect.TypeFor[big.Float](), reflect.TypeFor[json.Number](), reflect.TypeFor[json.RawMessage](),
	reflect.TypeFor[slog.Level](), reflect.TypeFor[shade](), reflect.TypeFor[id](), reflect.TypeFor[word](), reflect.TypeFor[tree](), reflect.TypeFor[mood](),
	reflect.TypeFor[*percent](), reflect.TypeFor[null[time.Time]](), reflect.TypeFor[null[shade]](), reflect.TypeFor[everyText](),
}

// randomType returns a type of some depth.
func randomType(random *rand.Rand, depth int) reflect.Type {
	leaf := leaves[random.IntN(len(leaves))]
	if depth == 0 {
		return leaf
	}
	inner := func() reflect.Type { return randomType(random, depth-1) }
	switch random.IntN(6) {
	case 0:
		return reflect.PointerTo(inner())
	case 1:
		return reflect.SliceOf(inner())
	case 2:
		return reflect.ArrayOf(random.IntN(3), inner())
	case 3:
		keys := []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[int8](), reflect.TypeFor[uint](), reflect.TypeFor[shade](), reflect.TypeFor[netip.Addr](), reflect.TypeFor[mood]()}
		return reflect.MapOf(keys[random.IntN(len(keys))], inner())
	}
	var fields []reflect.StructField
	for i := range 1 + random.IntN(4) {
		tag := []string{"", `json:"a%d"`, `json:"a%d,omitempty"`, `json:",omitzero"`, `json:"b%d" jsonschema:"what it is"`}[random.IntN(5)]
		f := reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: inner()}
		if strings.Contains(tag, "%d") {
			tag = fmt.Sprintf(tag, i)
		}
		if random.IntN(4) == 0 {
			f.Type = []reflect.Type{reflect.TypeFor[int16](), reflect.TypeFor[*uint64](), reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[float64](), reflect.TypeFor[json.Number]()}[random.IntN(6)]
			tag = fmt.Sprintf(`json:"q%d,string"`, i)
		}
		f.Tag = reflect.StructTag(tag)
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}
