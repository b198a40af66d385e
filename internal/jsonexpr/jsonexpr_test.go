package jsonexpr_test

import (
	"encoding/json"
	"testing"

	"github.com/antigravity-go/antigravity/internal/jsonexpr"
)

// String and Number accept what encoding/json accepts, which also takes half surrogate pairs, bytes that are not UTF-8, and exponents of
// numbers that have short plain texts.
func TestStringsAndNumbers(t *testing.T) {
	l := jsonexpr.New()
	for text, want := range map[string]bool{
		`""`: true, `"a"`: true, `"é\u00E9\n\/\ud83d\ude00😀"`: true, `"\ud83d"`: false, `"\ud83dx"`: false, `"\ude00"`: false,
		`"\x"`: false, "\"\n\"": false, "\"\x7f\"": true, `"\u12"`: false, `"`: false, "\"\xff\"": false, "\"\xed\xa0\x80\"": false, `"\uD7FF\uE000"`: true,
	} {
		if got := l.Arena.Matches(l.String, text); got != want {
			t.Errorf("String %q: %v, want %v", text, got, want)
		}
		if want && !json.Valid([]byte(text)) {
			t.Errorf("%q is no JSON", text)
		}
	}
	for text, want := range map[string]bool{"0": true, "-0": true, "12.50": true, "1e+20": true, "-1.2E-07": true, "01": false, ".5": false, "1.": false, "+1": false, "1e": false, "--1": false} {
		if got := l.Arena.Matches(l.Number, text); got != want || json.Valid([]byte(text)) != want {
			t.Errorf("Number %q: %v, want %v", text, got, want)
		}
	}
}

// The canonical writing of a text is one of the language, and stands for that text.
func TestCanonical(t *testing.T) {
	l := jsonexpr.New()
	for _, text := range []string{"", "plain", "\x00\x1f\x7f\b\f\n\r\t\"\\/", "é😀\u2028"} {
		q := jsonexpr.Quote(text)
		var back string
		if err := json.Unmarshal([]byte(q), &back); err != nil || back != text {
			t.Errorf("%q → %s → %q, %v", text, q, back, err)
		}
		if body := jsonexpr.Body(text); !l.Arena.Matches(l.Canonicals, body) || !l.Arena.Matches(l.Chars, body) {
			t.Errorf("%s is refused", body)
		}
	}
	for _, other := range []string{`\u0061`, `\/`, `\u001F`, `\u000a`} {
		if l.Arena.Matches(l.Canonicals, other) || !l.Arena.Matches(l.Chars, other) {
			t.Errorf("%s is not canonical", other)
		}
	}
}

// The white space is as much as was asked for.
func TestSpaced(t *testing.T) {
	l := jsonexpr.New()
	for _, c := range []struct {
		spaces jsonexpr.Spaces
		comma  map[string]bool
	}{
		{jsonexpr.Free, map[string]bool{",": true, ", ": true, "\n,": true}},
		{jsonexpr.Compact, map[string]bool{",": true, ", ": false, " ,": false}},
		{jsonexpr.OneBlank, map[string]bool{",": false, ", ": true, ",\n": false}},
	} {
		for text, want := range c.comma {
			if l.Arena.Matches(l.Spaced(c.spaces).Comma, text) != want {
				t.Errorf("%d: %q: %v", c.spaces, text, !want)
			}
		}
	}
}
