package strictjson

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
			r := New([]byte(c.text))
			if got, err := r.Text(); err != nil || string(got) != c.want {
				t.Errorf("%s: got %q, %v; want %q", c.text, got, err, c.want)
			}
		})
	}
	for _, text := range []string{`"`, `"\`, `"\x"`, `"\u12"`, `"\ud83d"`, `"\ud83d\u0041"`, `"\ude00"`, "\"\n\"", `"\n` + "\t\"", `abc`} {
		r := New([]byte(text))
		if got, err := r.Text(); err == nil {
			t.Errorf("%s is not refused, but read as %q", text, got)
		}
	}
}

func TestLenient(t *testing.T) {
	for text, want := range map[string]string{`"\ud83d\ude00"`: "😀", `"\ud83d"`: "\ufffd", `"\ud83d\u0041"`: "\ufffdA", `"\ude00\ud83d\ude00"`: "\ufffd😀"} {
		if got, err := Lenient([]byte(text)).Text(); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestReaderDepth(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		r := New([]byte(strings.Repeat(open, 1e6)))
		if err := r.skip(); err == nil || !strings.Contains(err.Error(), "nested") {
			t.Errorf("%s…: %v", open, err)
		}
	}
}

// FuzzReader compares the reader with encoding/json: they accept the same texts, but for depth and half surrogate pairs, which only the
// reader refuses.
func FuzzReader(f *testing.F) {
	for _, s := range []string{`{"a": [1, -0.5e+3, true, null], "b": {}}`, `"\ud800\udc00"`, `"\ud800\ud800\udc00\ud800"`, `"\udc00\u0041"`, `[01]`, `[1.]`, `{"a":1,}`, ` [ ] `, `-`, `tru`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !utf8.Valid(data) {
			return
		}
		r := New(data)
		err := r.skip()
		if err == nil {
			err = r.End()
		}
		if r := Lenient(data); r.Next() == '"' {
			var want string
			if got, err := r.Text(); err == nil && r.End() == nil && (json.Unmarshal(data, &want) != nil || string(got) != want) {
				t.Errorf("%q: a lenient reader says %q, encoding/json %q", data, got, want)
			}
		}
		if err != nil && (strings.Contains(err.Error(), "surrogate") || strings.Contains(err.Error(), "nested")) {
			return
		}
		if (err == nil) != json.Valid(data) {
			t.Errorf("%q: the reader says %v, encoding/json %v", data, err, json.Valid(data))
		}
	})
}
