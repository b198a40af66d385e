package bpe

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReaderStrings(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", `"abc"`, "abc"},
		{"escapes", `"\"\\\/\b\f\n\r\t\u0120\u00e9"`, "\"\\/\b\f\n\r\tĠé"},
		{"surrogates", `"a\ud83d\ude00b"`, "a😀b"},
		{"not escaped", `"Ġé😀"`, "Ġé😀"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reader{data: []byte(c.text)}
			if got, err := r.str(); err != nil || string(got) != c.want {
				t.Errorf("%s: got %q, %v; want %q", c.text, got, err, c.want)
			}
		})
	}
	for _, text := range []string{`"`, `"\`, `"\x"`, `"\u12"`, `"\ud83d"`, `"\ud83d\u0041"`, `"\ude00"`, "\"\n\"", `"\n` + "\t\"", `abc`} {
		r := reader{data: []byte(text)}
		if got, err := r.str(); err == nil {
			t.Errorf("%s is not refused, but read as %q", text, got)
		}
	}
}

func TestReaderDepth(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		r := reader{data: []byte(strings.Repeat(open, 1e6))}
		if err := r.skip(0); err == nil || !strings.Contains(err.Error(), "nested") {
			t.Errorf("%s…: %v", open, err)
		}
	}
}

// FuzzReader holds the reader against encoding/json: they agree on what is JSON, but for half surrogate pairs, which only
// the reader refuses, and depth.
func FuzzReader(f *testing.F) {
	for _, s := range []string{`{"a": [1, -0.5e+3, true, null], "b": {}}`, `"\ud800\udc00"`, `[01]`, `[1.]`, `{"a":1,}`, ` [ ] `, `-`, `tru`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !utf8.Valid(data) {
			return
		}
		r := reader{data: data}
		err := r.skip(0)
		if err == nil && (r.next() != 0 || r.pos < len(data)) {
			err = r.unexpected("the end")
		}
		if err != nil && (strings.Contains(err.Error(), "surrogate") || strings.Contains(err.Error(), "nested")) {
			return
		}
		if (err == nil) != json.Valid(data) {
			t.Errorf("%q: the reader says %v, encoding/json %v", data, err, json.Valid(data))
		}
	})
}
