package chat

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// edited returns what the line editor gets of what a terminal sends.
func edited(t *testing.T, from io.Reader) (string, *pasted) {
	t.Helper()
	r := &pasted{from: from}
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(got), r
}

// TestPastes cuts what a terminal sends everywhere.
func TestPastes(t *testing.T) {
	for _, c := range []struct{ name, sent, want string }{
		{"typed", "hello\r", "hello\r"},
		{"keys", "\x1b[A\x1bf\x1b[3~\x1b\x1b[C\x03\t", "\x1b[A\x1bf\x1b[3~\x1b\x1b[C\x03\t"},
		{"three lines", "\x1b[200~one\rtwo\rthree\x1b[201~\r", "one\\\rtwo\\\rthree\r"},
		{"every kind of line break", "\x1b[200~a\r\nb\nc\rd\x1b[201~", "a\\\rb\\\rc\\\rd"},
		{"empty lines within, breaks at the end", "\x1b[200~a\r\rb\r\r\x1b[201~c", "a\\\r\\\rbc"},
		{"a line that ends with a backslash", "\x1b[200~a\\\rb\x1b[201~", "a\\\\\rb"},
		{"typed around it", "x\x1b[200~a\rb\x1b[201~y\r", "xa\\\rby\r"},
		{"control characters, a tab, keys", "\x1b[200~\x03a\tb\x1b[Ac\x7f\x04\x1b[200~\x1b[201~", "a\ufdd0b[Ac[200~"},
		{"what stands for a tab", "\x1b[200~a\ufdd0b\x1b[201~", "ab"},
		{"nothing", "\x1b[200~\x1b[201~", ""},
		{"two", "\x1b[200~a\rb\x1b[201~\x1b[200~c\rd\x1b[201~", "a\\\rbc\\\rd"},
		{"beginnings of marks", "\x1b[20\x1b[200\x1b[200~\x1b[20\x1b[201\x1b[201~\x1b", "\x1b[20\x1b[200[20[201\x1b"},
		{"words", "\x1b[200~Grüße, 世界\r…\x1b[201~", "Grüße, 世界\\\r…"},
	} {
		for i := range len(c.sent) + 1 {
			if got, _ := edited(t, io.MultiReader(strings.NewReader(c.sent[:i]), strings.NewReader(c.sent[i:]))); got != c.want {
				t.Errorf("%s, cut at %d: %q, want %q", c.name, i, got, c.want)
			}
		}
		if got, _ := edited(t, iotest.OneByteReader(strings.NewReader(c.sent))); got != c.want {
			t.Errorf("%s, byte by byte: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLongPastesAreCut(t *testing.T) {
	got, r := edited(t, strings.NewReader("\x1b[200~"+strings.Repeat("\r", maxPaste/2)+strings.Repeat("a", maxPaste)+"\x1b[201~b"))
	if want := strings.Repeat("\\\r", maxPaste/2) + strings.Repeat("a", maxPaste/2) + "b"; got != want || !r.cut {
		t.Errorf("%d bytes, want %d; cut: %v", len(got), len(want), r.cut)
	}
	if len(got) > 128<<10 {
		t.Errorf("%d bytes are more than the line editor keeps", len(got))
	}
}

// TestPastesAreOneMessage reads pastes of random texts as the conversation does.
func TestPastesAreOneMessage(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	parts := []string{"a", "word ", "\n", "\n", "\\", "\t", "世", " "}
	for range 500 {
		var b strings.Builder
		for range random.IntN(20) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		text := b.String() + "end"
		sent, _ := edited(t, strings.NewReader(pasteBegin+strings.ReplaceAll(text, "\n", "\r")+pasteEnd+"\r"))
		lines := bytes.NewBufferString(sent)
		got, err := joined(func(string) (string, error) {
			line, err := lines.ReadString('\r')
			return strings.TrimSuffix(line, "\r"), err
		})
		if got = strings.ReplaceAll(got, pastedTab, "\t"); err != nil || got != text || lines.Len() > 0 {
			t.Fatalf("%q became %q, %v, and %q is left", text, got, err, lines)
		}
	}
}
