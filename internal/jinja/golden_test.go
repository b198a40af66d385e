package jinja

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// golden is what Jinja 2 makes of many templates; testdata/golden.py writes it.
type golden struct {
	Variables json.RawMessage
	Cases     [][]*string // the template, Jinja's output, and the step that fails: "parse" or "render"
}

func readGolden(t testing.TB) (golden, map[string]Value) {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	v, err := (&Decoder{Left: 1000}).Decode(g.Variables, 1)
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]Value{"raise_exception": &Function{Call: func(args []Value) (Value, error) {
		return nil, errors.New("refused")
	}}}
	for _, x := range v.(*Dict).Entries {
		variables[x.Key.(Text).String()] = x.Value
	}
	return g, variables
}

// TestGolden holds this package against Jinja 2 in Hugging Face's environment: the same text, or an error if Jinja has one, at the same
// time.
func TestGolden(t *testing.T) {
	g, variables := readGolden(t)
	for _, row := range g.Cases {
		c := struct{ Template, Text, Error string }{Template: *row[0]}
		if len(row) == 3 {
			c.Error = *row[2]
		} else {
			c.Text = *row[1]
		}
		template, err := Parse(c.Template)
		if err != nil {
			if c.Error == "" {
				t.Errorf("%q: %v; Jinja prints %q", c.Template, err, c.Text)
			} else if c.Error != "parse" {
				t.Errorf("%q: %v; Jinja finds the mistake when it renders", c.Template, err)
			}
			continue
		}
		r, err := template.Render(context.Background(), variables)
		switch {
		case c.Error == "parse":
			t.Errorf("%q: got %q, %v; Jinja does not parse it", c.Template, r.Text.String(), err)
		case err != nil && c.Error == "":
			t.Errorf("%q: %v; Jinja prints %q", c.Template, err, c.Text)
		case err == nil && c.Error != "":
			t.Errorf("%q: got %q; to Jinja it is an error", c.Template, r.Text.String())
		case err == nil && r.Text.String() != c.Text:
			t.Errorf("%q:\n got %q\nwant %q", c.Template, r.Text.String(), c.Text)
		}
	}
}
