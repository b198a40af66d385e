package chat

import (
	"strings"
	"testing"
)

func TestFainter(t *testing.T) {
	var screen strings.Builder
	f := &fainter{stdout: &screen, terminal: &screen}
	f.end()
	for _, part := range []string{"", "a ", "b"} {
		if err := f.write(part); err != nil {
			t.Fatal(err)
		}
	}
	f.end()
	f.end()
	if want := "\x1b[2ma b\x1b[0m\n\n"; screen.String() != want {
		t.Errorf("%q, want %q", screen.String(), want)
	}
	screen.Reset()
	pipe := &fainter{stdout: &screen}
	if err := pipe.write("a"); err != nil || screen.Len() > 0 {
		t.Errorf("%q, %v", screen.String(), err)
	}
}
