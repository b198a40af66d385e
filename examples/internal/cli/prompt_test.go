package cli

import (
	"errors"
	"strings"
	"testing"
)

// blanks is as much text as anybody wants.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestPromptFromStdin(t *testing.T) {
	p := Prompt{Text: "-"}
	if err := p.Read(strings.NewReader("a question")); err != nil || p.Text != "a question" {
		t.Errorf("%q, error %v", p.Text, err)
	}
	if err := (&Prompt{Text: "-"}).Read(blanks{}); err == nil || !strings.Contains(err.Error(), "67108864 bytes") {
		t.Errorf("a prompt without end: error %v, want one that tells the limit", err)
	}
	var usage *UsageError
	if err := (&Prompt{Text: "x", System: "y", Raw: true}).Read(nil); !errors.As(err, &usage) {
		t.Errorf("-raw with -system: error %v, want a usage error", err)
	}
}
