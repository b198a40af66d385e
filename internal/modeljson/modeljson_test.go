package modeljson_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/antigravity-go/antigravity/internal/modeljson"
)

type inner struct {
	Factor float64 `json:"factor"`
}

type embedded struct {
	Window *int `json:"window" whole:"4.0"`
}

type outer struct {
	Layers int     `json:"layers"`
	Name   string  `json:"name"`
	Rope   *inner  `json:"rope"`
	List   []inner `json:"list"`
	Raw    json.RawMessage
	embedded
}

func TestUnmarshal(t *testing.T) {
	four := 4
	for text, want := range map[string]*outer{
		`{"layers":4}`:                                {Layers: 4},
		`{"layers":4,"Layers":9}`:                     {Layers: 4},
		`{"Layers":4,"LAYERS":5}`:                     {},
		`{"layers":4.0}`:                              nil,
		`{"window":"4.0"}`:                            nil,
		`{"window":4.01}`:                             nil,
		`{"window":.0}`:                               nil,
		`{"layers":4.5}`:                              nil,
		"{\"name\":\"caf\xe9\"}":                      nil,
		`{"layers":NaN}`:                              nil,
		`{"layers":"4.0"}`:                            nil,
		`{"layers":1,"x":NaN}`:                        {Layers: 1},
		`{"x":[-Infinity,{"y":Infinity}],"layers":1}`: {Layers: 1},
		`{"name":"a NaN, \" 4.0 \\"}`:                 {Name: `a NaN, " 4.0 \`},
		`{"rope":{"factor":2.0,"Factor":3}}`:          {Rope: &inner{2}},
		`{"rope":{"Factor":3}}`:                       {Rope: &inner{}},
		`{"rope":null}`:                               {},
		`{"list":[{"factor":1.5},{"FACTOR":2},{"factor":3}]}`: {List: []inner{{1.5}, {}, {3}}},
		`{"window":4.0}`:           {embedded: embedded{&four}},
		`{"Raw":{"Layers":4}}`:     {Raw: json.RawMessage(`{"Layers":4}`)},
		`{"layers":1e3,"name":""}`: nil, // encoding/json's own rule
		`{"layers":4`:              nil,
		`{"name":"open`:            nil,
		`[]`:                       nil,
		`nan`:                      nil,
		``:                         nil,
	} {
		var got outer
		err := modeljson.Unmarshal([]byte(text), &got)
		if want == nil && err == nil || want != nil && (err != nil || !reflect.DeepEqual(&got, want)) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// FuzzUnmarshal reads anything: what encoding/json reads is read, to the same values if no key differs in its case alone.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"layers":4.0,"x":[NaN,"\""],"rope":{"factor":-1e9}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var any, again map[string]any
		if json.Unmarshal(data, &any) != nil {
			return
		}
		if err := modeljson.Unmarshal(data, &again); err != nil || !reflect.DeepEqual(any, again) {
			t.Errorf("%q: %v, %v, %v", data, any, again, err)
		}
		var o outer
		_ = modeljson.Unmarshal(data, &o)
	})
}
