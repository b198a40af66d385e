package wire

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

// Whatever is wrong with a value within a request, the error names its place.
func TestObjectListString(t *testing.T) {
	rules := Rules{"cache": Ignored(), "citations": Refused("nothing is cited", "[]")}
	object := func(value json.RawMessage) error {
		var into struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		return Object("a[1]", value, rules, &into)
	}
	list := func(value json.RawMessage) error { _, err := List("a[1]", value); return err }
	text := func(value json.RawMessage) error { _, err := String("a[1]", value); return err }
	for _, c := range []struct {
		read         func(json.RawMessage) error
		value, param string // "": no error
		says         string
	}{
		{object, `{"type":"text","text":"x","cache":{"a":1},"citations":[]}`, "", ""},
		{object, ` {"text":null}`, "", ""},
		{object, `"x"`, "a[1]", "a[1] must be an object, not a string"},
		{object, `null`, "a[1]", "a[1] must be an object, not null"},
		{object, `12`, "a[1]", "a[1] must be an object, not a number"},
		{object, ``, "a[1]", "a[1] must be an object, not nothing"},
		{object, `{"text":1}`, "a[1].text", "a[1].text must be a string, not a number"},
		{object, `{"Text":"x"}`, "a[1].Text", `there is no parameter "a[1].Text"`},
		{object, `{"citations":[1]}`, "a[1].citations", "a[1].citations is not supported: nothing is cited"},
		{list, `[1,null]`, "", ""},
		{list, `{}`, "a[1]", "a[1] must be an array, not an object"},
		{list, `null`, "a[1]", "a[1] must be an array, not null"},
		{text, `"x"`, "", ""},
		{text, `null`, "a[1]", "a[1] must be a string, not null"},
		{text, `true`, "a[1]", "a[1] must be a string, not true"},
		{text, `[]`, "a[1]", "a[1] must be a string, not an array"},
	} {
		err := c.read(json.RawMessage(c.value))
		if c.param == "" {
			if err != nil {
				t.Errorf("%s: %v", c.value, err)
			}
			continue
		}
		if e, ok := err.(*Error); !ok || e.Param != c.param || e.Message != c.says || e.Status != 400 {
			t.Errorf("%s: %#v", c.value, err)
		}
	}
}

// An error is written with the request's id if the interface's shape has a place for it, and the error itself is left as it was.
func TestErrorTellsTheRequest(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set(RequestID, "req_1")
	e := Invalid("a", "a is wrong")
	if err := WriteError(w, e, func(e *Error) any { return map[string]string{"id": e.Request} }); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(w.Body.String()); got != `{"id":"req_1"}` || e.Request != "" {
		t.Errorf("%s, and the error has the id %q", got, e.Request)
	}
}
