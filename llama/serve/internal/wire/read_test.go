package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// request is a request with a field of each kind.
type request struct {
	Name     string          `json:"name" wire:"required"`
	inner                    // embedded
	Flag     *bool           `json:"flag"`
	Count    int             `json:"count"`
	Seed     *int64          `json:"seed"`
	Scale    float32         `json:"scale"`
	Names    []string        `json:"names"`
	Bias     map[string]int  `json:"bias"`
	Parts    []part          `json:"parts"`
	Tokens   []int           `json:"tokens"`
	Any      json.RawMessage `json:"any"`
	Choice   *choice         `json:"choice"`
	Word     word            `json:"word"`
	Hidden   string          `json:"-"`
	NameLess string
}

type inner struct {
	Depth int `json:"depth"`
}

// part is an object within a request, with a rule of its own.
type part struct {
	Type string `json:"type" wire:"required"`
	Text string `json:"text"`
}

func (part) Rules() Rules {
	return Rules{"mark": Ignored(), "refusal": Refused("it is refused", `""`)}
}

// choice reads itself.
type choice struct{ word string }

func (c *choice) UnmarshalJSON(data []byte) error {
	switch json.Unmarshal(data, &c.word); c.word {
	case "":
		return errors.New("it is no word")
	case "place":
		return Invalid("[2].role", "it is a wizard")
	case "member":
		return Invalid("member", "it is wrong")
	}
	return nil
}

// word is a string, or the only element of a list of them.
type word string

func (w *word) ReadJSON(place string, value json.RawMessage) error {
	if value[0] != '[' {
		return Decode(place, value, (*string)(w))
	}
	var list []string
	if err := Decode(place, value, &list); err != nil {
		return err
	}
	if len(list) != 1 {
		return Invalid(place, "%s has %d words; it must have 1", place, len(list))
	}
	*w = word(list[0])
	return nil
}

var rules = Rules{"user": Ignored(), "store": Refused("nothing is stored", "false"), "old": Refused("")}

func TestParse(t *testing.T) {
	yes, seed := true, int64(1)<<62
	for _, c := range []struct {
		body string
		want request
	}{
		{`{"name":"a"}`, request{Name: "a"}},
		{` { "name" : "\u0061\n" , "depth":3 } `, request{Name: "a\n", inner: inner{3}}},
		{`{"name":"a","flag":true,"count":3,"scale":0.5,"names":["b","c"],"bias":{"5":-1}}`,
			request{Name: "a", Flag: &yes, Count: 3, Scale: 0.5, Names: []string{"b", "c"}, Bias: map[string]int{"5": -1}}},
		{`{"name":"a","seed":4611686018427387904}`, request{Name: "a", Seed: &seed}},
		{`{"name":"a","count":3.0}`, request{Name: "a", Count: 3}},
		{`{"name":"a","count":3e2}`, request{Name: "a", Count: 300}},
		{`{"name":"a","flag":null,"count":null,"names":null,"parts":null,"user":null,"old":null}`, request{Name: "a"}},
		{`{"name":"a","tokens":[1, 2 ,-3]}`, request{Name: "a", Tokens: []int{1, 2, -3}}},
		{`{"name":"a","tokens":[1.0` + strings.Repeat(",0", maxElements) + `]}`, request{Name: "a", Tokens: append([]int{1}, make([]int, maxElements)...)}},
		{`{"name":"a","tokens":[1.0,2e1]}`, request{Name: "a", Tokens: []int{1, 20}}},
		{`{"name":"a","tokens":[]}`, request{Name: "a", Tokens: []int{}}},
		{`{"name":"a","names":[],"bias":{}}`, request{Name: "a", Names: []string{}, Bias: map[string]int{}}},
		{`{"name":"a","user":{"any":"thing"},"store":false}`, request{Name: "a"}},
		{`{"name":"a","parts":[{"type":"t","text":null,"mark":1,"refusal":""}]}`, request{Name: "a", Parts: []part{{Type: "t"}}}},
		{`{"name":"a","any":{"x":[1,null]}}`, request{Name: "a", Any: json.RawMessage(`{"x":[1,null]}`)}},
		{`{"name":"a","choice":"auto"}`, request{Name: "a", Choice: &choice{"auto"}}},
		{`{"name":"a","word":"auto"}`, request{Name: "a", Word: "auto"}},
		{`{"name":"a","word":[ "auto" ]}`, request{Name: "a", Word: "auto"}},
		{`{"name":"\ud800"}`, request{Name: "\ufffd"}}, // half a character, as JSON.stringify writes it
	} {
		var got request
		if err := Parse([]byte(c.body), rules, &got); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v, want %+v", c.body, got, err, c.want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	deep := func(n int) string {
		return `{"name":"a","any":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	long := strings.Repeat("long", 1000)
	for _, c := range []struct{ body, code, param, message string }{
		{`{"name":"a","names":[""` + strings.Repeat(`,""`, maxElements) + `]}`, "invalid_value", "names", "more than 16384 elements"},
		{`{"name":"a","parts":[{"type":"t"}` + strings.Repeat(`,{"type":"t"}`, maxElements) + `]}`, "invalid_value", "parts", "more than 16384 elements"},

		// Bodies that are no JSON object.
		{``, "invalid_json", "", "has no body"},
		{" \n\t", "invalid_json", "", "has no body"},
		{`[]`, "invalid_json", "", "must be a JSON object"},
		{`"name"`, "invalid_json", "", "must be a JSON object"},
		{`{"name":"a"`, "invalid_json", "", "at byte 11: unexpected end"},
		{`{"name":"a",}`, "invalid_json", "", "at byte 13"},
		{`{"name":"a"} {}`, "invalid_json", "", "at byte 14"},
		{`{"name":"a"}x`, "invalid_json", "", "at byte 13"},
		{`{name:"a"}`, "invalid_json", "", "at byte 2"},
		{`{'name':'a'}`, "invalid_json", "", "at byte 2"},
		{`{"name":"a` + "\n" + `"}`, "invalid_json", "", "at byte 11"},
		{`{"count":01}`, "invalid_json", "", "at byte 11"},
		{`{"count":NaN}`, "invalid_json", "", "at byte 10"},
		{"{\"name\":\"\xff\"}", "invalid_json", "", "UTF-8"},
		{"\ufeff" + `{"name":"a"}`, "invalid_json", "", "must be a JSON object"},
		{deep(maxDepth), "invalid_json", "", "deeper than 100"},
		{strings.Repeat(`{"a":`, 1<<16), "invalid_json", "", "deeper than 100"},
		// Names.
		{`{"name":"a","nmae":1}`, "unknown_parameter", "nmae", "nmae"},
		{`{"name":"a","Name":"b"}`, "unknown_parameter", "Name", "Name"},
		{`{"name":"a","Hidden":"b"}`, "unknown_parameter", "Hidden", "Hidden"},
		{`{"name":"a","NameLess":"b"}`, "unknown_parameter", "NameLess", "NameLess"},
		{`{"name":"a","nmae":null}`, "unknown_parameter", "nmae", "nmae"},
		{`{"name":"a","parts":[{"type":"t"},{"type":"t","Text":""}]}`, "unknown_parameter", "parts[1].Text", "parts[1].Text"},
		{`{"name":"a","` + long + `":1}`, "unknown_parameter", long[:120] + "…", "…"},
		{`{"name":"a","name":"a"}`, "invalid_value", "name", "given twice"},
		{`{"name":"a","n\u0061me":"a"}`, "invalid_value", "name", "given twice"},
		{`{"name":"a","any":{"x":[0,{"\"":1, "y":[], "\"":2}]}}`, "invalid_value", `any.x[1]."`, "given twice"},
		{`{"name":"a","user":[{"x":1,"x":1}]}`, "invalid_value", "user[0].x", "given twice"},
		{`{}`, "missing_required_parameter", "name", "must be a string"},
		{`{"name":null}`, "missing_required_parameter", "name", "must be a string"},
		{`{"name":"a","parts":[{"type":"t"},{"text":"x"}]}`, "missing_required_parameter", "parts[1].type", "must be a string"},
		// Types.
		{`{"name":1}`, "invalid_type", "name", "must be a string, not a number"},
		{`{"name":{}}`, "invalid_type", "name", "must be a string, not an object"},
		{`{"name":"a","flag":"true"}`, "invalid_type", "flag", "must be true or false, not a string"},
		{`{"name":"a","count":"3"}`, "invalid_type", "count", "must be a whole number, not a string"},
		{`{"name":"a","count":1.5}`, "invalid_type", "count", "count is 1.5; it must be a whole number"},
		{`{"name":"a","count":1e400}`, "invalid_type", "count", "count is 1e400; it must be a whole number"},
		{`{"name":"a","seed":9223372036854775808}`, "invalid_type", "seed", "of 64 bits"},
		{`{"name":"a","scale":1e39}`, "invalid_type", "scale", "scale is 1e39; it must be a number, of 32 bits"},
		{`{"name":"a","scale":[]}`, "invalid_type", "scale", "must be a number, not an array"},
		{`{"name":"a","names":"b"}`, "invalid_type", "names", "must be an array, not a string"},
		{`{"name":"a","names":["b",null]}`, "invalid_type", "names[1]", "must be a string, not null"},
		{`{"name":"a","names":["b",["c"]]}`, "invalid_type", "names[1]", "must be a string, not an array"},
		{`{"name":"a","bias":[]}`, "invalid_type", "bias", "must be an object, not an array"},
		{`{"name":"a","bias":{"5":null}}`, "invalid_type", "bias.5", "must be a whole number, not null"},
		{`{"name":"a","bias":{"5":true}}`, "invalid_type", "bias.5", "must be a whole number, not true"},
		{`{"name":"a","parts":{}}`, "invalid_type", "parts", "must be an array, not an object"},
		{`{"name":"a","parts":[[]]}`, "invalid_type", "parts[0]", "must be an object, not an array"},
		{`{"name":"a","tokens":[1,null]}`, "invalid_type", "tokens[1]", "must be a whole number, not null"},
		{`{"name":"a","tokens":[1,"2"]}`, "invalid_type", "tokens[1]", "must be a whole number, not a string"},
		{`{"name":"a","tokens":[1,[2]]}`, "invalid_type", "tokens[1]", "must be a whole number, not an array"},
		// What reads itself.
		{`{"name":"a","choice":""}`, "invalid_value", "choice", "choice: it is no word"},
		{`{"name":"a","choice":"place"}`, "invalid_value", "choice[2].role", "choice[2].role: it is a wizard"},
		{`{"name":"a","choice":"member"}`, "invalid_value", "choice.member", "choice.member: it is wrong"},
		{`{"name":"a","word":[]}`, "invalid_value", "word", "word has 0 words"},
		{`{"name":"a","word":["b",1]}`, "invalid_type", "word[1]", "word[1] must be a string, not a number"},
		// Rules.
		{`{"name":"a","store":true}`, "unsupported_parameter", "store", "store is not supported: nothing is stored"},
		{`{"name":"a","old":0}`, "unsupported_parameter", "old", "old is not supported"},
		{`{"name":"a","parts":[{"type":"t","refusal":"no"}]}`, "unsupported_parameter", "parts[0].refusal", "parts[0].refusal is not supported"},
	} {
		var into request
		e, ok := errors.AsType[*Error](Parse([]byte(c.body), rules, &into))
		if !ok || e.Status != http.StatusBadRequest || e.Code != c.code || e.Param != c.param || !strings.Contains(e.Message, c.message) {
			t.Errorf("%.100s: got %+v, want code %s, param %s and %q in the message", c.body, e, c.code, c.param, c.message)
		}
	}
	var into request
	if err := Parse([]byte(deep(maxDepth-1)), rules, &into); err != nil {
		t.Errorf("nested %d deep: %v", maxDepth, err)
	}
}

func TestReadBody(t *testing.T) {
	body := []byte(`{"name":"abcdef"}`)
	for _, c := range []struct {
		limit  int64
		body   *http.Request
		status int
	}{
		{int64(len(body)), httptest.NewRequest("POST", "/", bytes.NewReader(body)), 0},
		{int64(len(body)) - 1, httptest.NewRequest("POST", "/", bytes.NewReader(body)), http.StatusRequestEntityTooLarge},
		{1 << 20, httptest.NewRequest("POST", "/", iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(body)))), http.StatusBadRequest},
	} {
		_, err := Body(httptest.NewRecorder(), c.body, c.limit, free)
		if e, ok := errors.AsType[*Error](err); c.status == 0 && err != nil || c.status != 0 && (!ok || e.Status != c.status || e.Message == "") {
			t.Errorf("limit %d: %v, want status %d", c.limit, err, c.status)
		}
	}
}

func TestNames(t *testing.T) {
	got := Names(&request{}, rules)
	slices.Sort(got)
	want := []string{"any", "bias", "choice", "count", "depth", "flag", "name", "names", "old", "parts", "scale", "seed", "store", "tokens", "user", "word"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFirst(t *testing.T) {
	for array, want := range map[string]byte{`[]`: 0, "[ \n]": 0, `[1]`: '1', ` [ "x"]`[1:]: '"', "[\t[]]": '[', `[null]`: 'n'} {
		if got := FirstByte(json.RawMessage(array)); got != want {
			t.Errorf("%q: got %q, want %q", array, got, want)
		}
	}
}

// FuzzParse checks that accepted texts are valid JSON, that nothing panics, and that each error says something.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"name":"a","parts":[{"type":"t","mark":1}],"any":{"x":[1,{"y":"\\\""}]},"bias":{"5":-1e0}}`))
	f.Add([]byte(`{"name":"a","user":{"x" : 1, "x":2}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var into request
		err := Parse(body, rules, &into)
		if e, ok := errors.AsType[*Error](err); err != nil && (!ok || e.Status != http.StatusBadRequest || e.Message == "") {
			t.Fatalf("%q: %v", body, err)
		}
		if err == nil && !json.Valid(body) {
			t.Fatalf("%q is read, and is not JSON", body)
		}
	})
}

func ExampleParse() {
	var in struct {
		Temperature float32 `json:"temperature"`
	}
	fmt.Println(Parse([]byte(`{"temprature":1}`), Rules{"user": Ignored()}, &in))
	// Output: there is no parameter "temprature"
}

// BenchmarkParse reads a conversation of some messages.
func BenchmarkParse(b *testing.B) {
	type message struct {
		Role    string `json:"role" wire:"required"`
		Content string `json:"content"`
		Name    string `json:"name"`
	}
	body := []byte(`{"model":"m","messages":[{"role":"system","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"c"},` +
		`{"role":"user","content":"d"}],"temperature":1,"stream":true}`)
	b.ReportAllocs()
	for b.Loop() {
		var in struct {
			Model       string    `json:"model"`
			Messages    []message `json:"messages" wire:"required"`
			Temperature *float32  `json:"temperature"`
			Stream      bool      `json:"stream"`
			N           *int      `json:"n"`
			Stop        []string  `json:"stop"`
		}
		if err := Parse(body, nil, &in); err != nil {
			b.Fatal(err)
		}
	}
}
