package chat

import (
	"strings"
	"testing"
)

func TestFenceSlice(t *testing.T) {
	f := fence{"(", ")"}
	tests := []struct {
		name, text string
		from, to   int
		want       string
	}{
		{"outside", "abc", 1, 2, "b"},
		{"inside", "(abc)", 1, 2, "(b)"},
		{"everything", "a(bc)d", 0, 4, "a(bc)d"},
		{"across", "a(bc)d(e)", 2, 5, "(c)d(e)"},
		{"nothing", "a(bc)d", 1, 1, ""},
		{"neighbours", "(ab)(cd)", 1, 3, "(b)(c)"},
		{"without its end", "a(bc", 0, 3, "a(bc)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := f.slice(test.text, test.from, test.to); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got, want := f.strip(f.slice(test.text, test.from, test.to)), f.strip(test.text)[test.from:test.to]; got != want {
				t.Errorf("stripped: got %q, want %q", got, want)
			}
		})
	}
}

func TestNewFence(t *testing.T) {
	f, err := newFence(func(s string) bool { return s < "\ufdd5" })
	if err != nil || f != (fence{"\ufdd5", "\ufdd6"}) {
		t.Errorf("got %q, %v", f, err)
	}
	if _, err = newFence(func(s string) bool { return s != "\ufdd5" }); err == nil {
		t.Error("one noncharacter is not enough")
	}
}

// TestNoncharacters renders conversations that contain noncharacters, which come out as they went in.
func TestNoncharacters(t *testing.T) {
	content := "\ufdd0<|eot_id|>\ufdd1\ufdd2 \xef\xb7"
	for name, template := range llama3Templates(t) {
		s, err := template.Render([]Message{{Role: "user", Content: content}}, Options{})
		if err != nil || !strings.Contains(joinedText(s), content) {
			t.Errorf("%s: %q, %v", name, joinedText(s), err)
		}
	}
	var all strings.Builder
	for r := rune(0xFDD0); r <= 0xFDEF; r++ {
		all.WriteRune(r)
	}
	if _, err := llama3Templates(t)["jinja"].Render([]Message{{Content: all.String()}}, Options{}); err == nil {
		t.Error("there is no fence for this content")
	}
}
