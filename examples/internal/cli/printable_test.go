package cli

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain: ½ 日本\n\tmore": "plain: ½ 日本\n\tmore", "\x1b[2J\x1b]0;x\a": "\uFFFD[2J\uFFFD]0;x\uFFFD", "a\rb": "a\uFFFDb", "\u202Eabc": "\uFFFDabc", "\xff": "\uFFFD",
		"\u009b2J": "\uFFFD2J",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
