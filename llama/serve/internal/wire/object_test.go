package wire

import (
	"errors"
	"testing"
)

// letter is a part of a request that reads itself.
type letter struct {
	To    string     `json:"to"`
	Pages []page     `json:"pages"`
	Cover *coverPage `json:"cover"`
}

type page struct {
	Words int `json:"words"`
}

// coverPage reads itself, within a letter.
type coverPage struct {
	Colour string `json:"colour"`
}

func (l *letter) UnmarshalJSON(data []byte) error {
	type plain letter
	return Object("", data, Rules{"stamp": Ignored(), "seal": Refused("there is no wax", `"none"`)}, (*plain)(l))
}

func (c *coverPage) UnmarshalJSON(data []byte) error {
	type plain coverPage
	if err := Object("", data, nil, (*plain)(c)); err != nil {
		return err
	}
	if c.Colour != "red" {
		return Invalid("colour", "it must be red")
	}
	return nil
}

func TestObject(t *testing.T) {
	for _, c := range []struct{ value, param, message string }{
		{`{"to":"Ann","pages":[{"words":3}],"stamp":{"any":1},"seal":"none","cover":null}`, "", ""},
		{`7`, "letter", "letter: it must be an object, not a number"},
		{`{"to":7}`, "letter.to", "letter.to must be a string, not a number"},
		{`{"To":"Ann"}`, "letter.To", `letter.To: there is no parameter "To"`},
		{`{"to":"Ann","to":"Bob"}`, "letter.to", "letter.to is given twice"},
		{`{"seal":"red"}`, "letter.seal", "letter.seal is not supported: there is no wax"},
		{`{"pages":[{"words":"many"}]}`, "letter.pages[0].words", "letter.pages[0].words must be a whole number, not a string"},
		{`{"cover":[]}`, "letter.cover", "letter.cover: it must be an object, not an array"},
		{`{"cover":{"colour":"blue"}}`, "letter.cover.colour", "letter.cover.colour: it must be red"},
		{`{"cover":{"colour":7}}`, "letter.cover.colour", "letter.cover.colour must be a string, not a number"},
	} {
		var into struct {
			Letter letter `json:"letter"`
		}
		err := Parse([]byte(`{"letter":`+c.value+`}`), nil, &into)
		e, _ := errors.AsType[*Error](err)
		switch {
		case c.param == "" && err != nil:
			t.Errorf("%s: %v", c.value, err)
		case c.param == "":
			if into.Letter.To != "Ann" || len(into.Letter.Pages) != 1 || into.Letter.Pages[0].Words != 3 {
				t.Errorf("%s becomes %+v", c.value, into.Letter)
			}
		case e == nil || e.Status != 400 || e.Param != c.param || e.Message != c.message:
			t.Errorf("%s: %+v; want the error %q at %q", c.value, e, c.message, c.param)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct{ place, param, message, wantParam, wantMessage string }{
		{"input", "", "it is empty", "input", "input: it is empty"},
		{"input", "[2]", "it is empty", "input[2]", "input[2]: it is empty"},
		{"[2]", "role", "role is missing", "[2].role", "[2].role is missing"},
		{"[2]", "role", "roles are few", "[2].role", "[2].role: roles are few"},
		{"input", "[2].role", "[2].role: it is missing", "input[2].role", "input[2].role: it is missing"},
	} {
		e := &Error{Status: 404, Code: "code", Param: c.param, Message: c.message}
		if got := e.Within(c.place); got.Param != c.wantParam || got.Message != c.wantMessage || got.Status != 404 || got.Code != "code" {
			t.Errorf("%+v within %q is %+v", e, c.place, got)
		}
		if e.Param != c.param {
			t.Errorf("Within changed its receiver: %+v", e)
		}
	}
}
