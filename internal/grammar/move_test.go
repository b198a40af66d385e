package grammar_test

import (
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// A state that is moved takes the same texts. A machine that gets the state of a long text has few states afterwards, and not those of the text.
func TestMove(t *testing.T) {
	arena := regular.New()
	g := grammar.New(arena)
	text := func(s string) grammar.Symbol { return grammar.Text(arena.Literal(s)) }
	letters := arena.Repeat(arena.Class(regular.Range('a', 'z')), 1, 7)
	words := arena.Minus(letters, arena.Or(arena.Literal("no"), arena.Concat(arena.Literal("ba"), regular.All)))
	value := g.Add(nil)
	g.Define(value, grammar.Alternatives{
		{grammar.Text(words)},
		{text("("), grammar.Call(value, 0), text(","), grammar.Call(value, 0), text(")")},
		{text("("), grammar.Call(value, 0), text(")")},
	})
	g.Start = grammar.Call(value, 0)
	document := strings.Repeat("((abc),", 20) + "bc" + strings.Repeat(")", 20)
	m := grammar.NewMachine(g)
	s := m.Start()
	for i := range len(document) {
		s = m.Next(s, document[i])
		fresh := grammar.NewMachine(g)
		if i%7 == 3 {
			m, s = fresh, fresh.Move(m, s)
			continue
		}
		moved := fresh.Move(m, s)
		if fresh.Len() > 4 {
			t.Fatalf("a moved state came with %d others", fresh.Len())
		}
		for _, next := range []string{"", "c)", "no)", "o)", "c,no)", "c,nod)", ",", ")", "))", document[i+1:], "abcdefgh"} {
			p, q := s, moved
			for j := range len(next) {
				p, q = m.Next(p, next[j]), fresh.Next(q, next[j])
			}
			if m.Accepts(p) != fresh.Accepts(q) || (p == grammar.Dead) != (q == grammar.Dead) {
				t.Fatalf("%q, moved before %q: %v and %v", document[:i+1], next, p, q)
			}
		}
	}
	if !m.Accepts(s) || m.Err() != nil {
		t.Error("the document is not accepted:", m.Err())
	}
}
