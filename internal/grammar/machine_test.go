package grammar_test

import (
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// matches reports whether text is one of the grammar's.
func matches(m *grammar.Machine, text string) bool {
	s := m.Start()
	for i := range len(text) {
		s = m.Next(s, text[i])
	}
	return m.Accepts(s)
}

// Brackets that close each other, around letters.
func TestNesting(t *testing.T) {
	arena := regular.New()
	g := grammar.New(arena)
	text := func(s string) grammar.Symbol { return grammar.Text(arena.Literal(s)) }
	value := g.Add(nil)
	g.Define(value, grammar.Alternatives{
		{grammar.Text(arena.Repeat(arena.Class(regular.Range('a', 'z')), 1, regular.Unbounded))},
		{text("("), grammar.Call(value, 0), text(")")},
		{text("["), grammar.Call(value, 0), text("]")},
		{},
	})
	g.Start = grammar.Call(value, 0)
	m := grammar.NewMachine(g)
	for text, want := range map[string]bool{"": true, "abc": true, "(a)": true, "([x])": true, "()": true, "(a]": false, "(": false, "a(b)": false, ")": false} {
		if got := matches(m, text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if m.Err() != nil {
		t.Error(m.Err())
	}
}

// A grammar with 2ⁿ ways to read a text has states that grow with n alone.
func TestAmbiguityStaysSmall(t *testing.T) {
	arena := regular.New()
	g := grammar.New(arena)
	text := func(s string) grammar.Symbol { return grammar.Text(arena.Literal(s)) }
	s := g.Add(nil)
	g.Define(s, grammar.Alternatives{
		{text("a"), grammar.Call(s, 0), text("x")},
		{text("a"), grammar.Call(s, 0), text("y")},
		{},
	})
	g.Start = grammar.Call(s, 0)
	m := grammar.NewMachine(g)
	const n = 200
	if !matches(m, strings.Repeat("a", n)+strings.Repeat("xy", n/2)) || matches(m, strings.Repeat("a", n)+"z") {
		t.Error("wrong")
	}
	if m.Err() != nil || m.Bytes() > 1<<20 {
		t.Errorf("%d bytes, %v", m.Bytes(), m.Err())
	}
}
