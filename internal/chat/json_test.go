package chat

import (
	"strings"
	"testing"
)

func TestPrintJSON(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"order of keys", `{"b":1,"a":{"d":2,"c":3}}`, `{"b": 1, "a": {"d": 2, "c": 3}}`},
		{"repeated key", `{"b":1,"a":2,"b":3}`, `{"b": 3, "a": 2}`},
		{"numbers", `[1, -0, 1.0, 1.50, 1e3, 1e16, 1e-5, 12345678901234567890123]`, `[1, 0, 1.0, 1.5, 1000.0, 1e+16, 1e-05, 12345678901234567890123]`},
		{"words", `[true,false,null]`, `[true, false, null]`},
		{"text", `"<a>&'\"\\\/\n\u0001\u007f\u2028한"`, `"<a>&'\"\\/\n\u0001` + "\x7f\u2028한\""},
		{"empty", `[{},[],""]`, `[{}, [], ""]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, err := printJSON([]byte(test.in), ""); err != nil || got != test.want {
				t.Errorf("got %s, %v; want %s", got, err, test.want)
			}
		})
	}
}

func TestParseJSONErrors(t *testing.T) {
	for _, in := range []string{"", "{", `{"a"}`, "[1,]", "1 2", strings.Repeat("[", 1000) + strings.Repeat("]", 1000)} {
		if v, err := parseJSON([]byte(in)); err == nil {
			t.Errorf("%.20q: got %v", in, v)
		}
	}
}
