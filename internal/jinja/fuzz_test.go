package jinja

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/effort"
)

// strangers are variables with letters that no template of the tests contains: all of them, and nothing else, must come out marked as
// theirs.
func strangers() map[string]Value {
	d := NewDict()
	d.Set(From("κ", 1), From("λόγος", 1))
	d.Set(From("k", 0), From("μ", 1))
	return map[string]Value{
		"v": From("αβγ Δέλτα", 1), "w": From("α", 1), "d": d,
		"l": NewList(From("βα", 1), From("Α", 1), d, int64(5), nil),
	}
}

// checkRender renders a template of a stranger and looks for mistakes of this package.
func checkRender(t *testing.T, source string) (rendered bool) {
	template, err := Parse(source)
	if errors.Is(err, errPanic) {
		t.Fatalf("parsing %q: %v", source, err)
	}
	if err != nil {
		return false
	}
	r, err := template.Render(context.Background(), strangers())
	if errors.Is(err, errPanic) {
		t.Fatalf("rendering %q: %v", source, err)
	}
	if err != nil {
		return false
	}
	length := 0
	for s, o := range r.Text.Spans {
		length += len(s)
		if s == "" {
			t.Fatalf("%q: an empty stretch", source)
		}
		for _, c := range s {
			foreign := unicode.Is(unicode.Greek, c)
			if foreign && !o.Outside() || !foreign && o.Outside() && unicode.IsLetter(c) {
				t.Fatalf("%q: %q in %q has origin %d", source, c, s, o)
			}
		}
	}
	if length != len(r.Text.String()) {
		t.Fatalf("%q: stretches of %d bytes make a text of %d", source, length, len(r.Text.String()))
	}
	return true
}

// TestGenerated renders many generated templates: no template finds a mistake of this package, and every byte keeps its side.
func TestGenerated(t *testing.T) {
	effort.Turn(t, 8)
	n, rendered := uint64(4000), 0
	if effort.All() {
		n = 1000000
	}
	for seed := range n {
		if checkRender(t, generate(seed)) {
			rendered++
		}
	}
	if rendered < int(n/10) {
		t.Errorf("only %d of %d generated templates can be rendered", rendered, n)
	}
}

func FuzzGenerated(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkRender(t, generate(seed)) })
}

// FuzzRender parses and renders any bytes; those that are no ASCII would look like a stranger's.
func FuzzRender(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(generate(seed))
	}
	g, _ := readGolden(f)
	for i := 0; i < len(g.Cases); i += 20 {
		f.Add(*g.Cases[i][0])
	}
	f.Fuzz(func(t *testing.T, source string) {
		for i := range len(source) {
			if source[i] >= utf8.RuneSelf || source[i] == '\\' { // an escape may mean such a letter, too
				template, err := Parse(source)
				if err == nil {
					_, err = template.Render(context.Background(), strangers())
				}
				if errors.Is(err, errPanic) {
					t.Fatalf("%q: %v", source, err)
				}
				return
			}
		}
		if !strings.Contains(source, "tojson") { // which may print a stranger's letters in ASCII
			checkRender(t, source)
		}
	})
}
