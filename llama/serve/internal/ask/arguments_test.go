package ask

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestArguments reads what calls in histories have for arguments.
func TestArguments(t *testing.T) {
	for value, want := range map[string]string{
		``: `{}`, `null`: `{}`, `""`: `{}`, `"null"`: `{}`, `{"b":1,"a":2}`: `{"b":1,"a":2}`, `"{\"a\":\"é\"}"`: `{"a":"é"}`, `"\"{\\\"a\\\":1}\""`: `{"a":1}`,
		`"{\"a\":1,\"b\":"`: `{"a":1}`, `"{\"a\":\"x"`: `{"a":"x"}`, `"{\"a\":[1,2"`: `{"a":[1,2]}`, `"{\"a\":{\"b\":[true,"`: `{"a":{"b":[true]}}`, `"{\"a"`: `{}`,
		`"{\"a\":\"x\\"`: `{"a":"x"}`, `"{\"a\":\"x\\u12"`: `{"a":"x"}`, `"{\"a\":tru"`: `{}`, `"{\"a\":1} and more"`: `{"a":1}`, `"{\"a\":1]"`: `{"a":1}`,
		`[1]`: `{"INVALID_JSON":"[1]"}`, `"a=1"`: `{"INVALID_JSON":"a=1"}`, `7`: `{"INVALID_JSON":"7"}`,
	} {
		got, why := Arguments(json.RawMessage(value))
		if string(got) != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
		if whole := want == "{}" && !strings.Contains(value, "{") || json.Valid([]byte(strings.Trim(value, `"`))) && value[0] == '{'; whole && why != "" {
			t.Errorf("%s: %s", value, why)
		}
	}
}

// TestCutObjects cuts objects off after each byte: their complete members stay.
func TestCutObjects(t *testing.T) {
	for _, text := range []string{
		`{"city": "Nai\u00efr\"obi \ud83d\ude00", "days": [1, -2.5e3, {"a": null}], "deep": {"b": {"c": [[], {}, "x"]}}, "last": false}`,
		`{ "a" : [ "]" , "}" ] , "b\\" : "\\" }`,
	} {
		var whole map[string]any
		if err := json.Unmarshal([]byte(text), &whole); err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= len(text); n++ {
			var part map[string]any
			if err := json.Unmarshal(CloseObject(text[:n]), &part); err != nil {
				t.Fatalf("%s: %v: %s", text[:n], err, CloseObject(text[:n]))
			}
			last := ""
			for name := range part {
				if reflect.DeepEqual(part[name], whole[name]) {
					continue
				}
				if last != "" {
					t.Errorf("%s: both %s and %s are cut off", text[:n], last, name)
				}
				last = name
			}
			if n == len(text) && !reflect.DeepEqual(part, whole) {
				t.Errorf("the whole object is %v", part)
			}
		}
	}
}

// Whatever a call has for arguments, the model is shown an object.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`"{\"a\":[1,{\"b\":\"x\\u00`, `{"a":1}`, `"{\"a\":1]}"`, `"[[[["`, `"{\"a\":{\"a\":{"`, `"\"\\\"{}\\\"\""`, `nul`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		object, _ := Arguments(json.RawMessage(value))
		var members map[string]any
		if err := json.Unmarshal(object, &members); err != nil || members == nil {
			t.Fatalf("%q becomes %q: %v", value, object, err)
		}
	})
}
