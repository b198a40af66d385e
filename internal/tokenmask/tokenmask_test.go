package tokenmask_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/regular"
	"github.com/antigravity-go/antigravity/internal/tokenmask"
)

// texts returns a vocabulary that has every byte, and random longer tokens of what JSON texts are made of.
func texts(rng *rand.Rand) (all []string) {
	for b := range 256 {
		all = append(all, string([]byte{byte(b)}))
	}
	parts := []string{`"`, `":`, `", "`, `"}`, "name", "age", "a", "b", "x", " ", "\n", "    ", "é", "中文", "\xe4\xb8", "1", "23", "{", "[", "]", ",", `\u00`, `\n`, `\\`, "true", "null", "e"}
	for range 3000 {
		var b strings.Builder
		for range 1 + rng.IntN(4) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		all = append(all, b.String())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// vocabulary makes a vocabulary of these tokens.
func vocabulary(all []string) *tokenmask.Vocabulary {
	return tokenmask.New(len(all)+1, func(dst []byte, id int32) []byte {
		if int(id) == len(all) {
			return dst
		}
		return append(dst, all[id]...)
	}, func(id int32) bool { return int(id) == len(all) })
}

// greedy returns a tokenizer that takes the longest of these tokens each time.
func greedy(all []string) func(text string) []int32 {
	return func(text string) (ids []int32) {
		for text != "" {
			best := -1
			for id, t := range all {
				if strings.HasPrefix(text, t) && (best < 0 || len(t) > len(all[best])) {
					best = id
				}
			}
			ids = append(ids, int32(best))
			text = text[len(all[best]):]
		}
		return ids
	}
}

// values returns grammars of JSON values: any, and objects with keys, lengths and counts.
func values(added int32) map[string]*grammar.Grammar {
	all := map[string]*grammar.Grammar{}
	add := func(name string, build func(l *jsonexpr.Language, g *grammar.Grammar)) {
		l := jsonexpr.New()
		g := grammar.New(l.Arena)
		build(l, g)
		all[name] = g
	}
	anything := func(l *jsonexpr.Language, g *grammar.Grammar) grammar.Symbol {
		lit := func(s string) grammar.Symbol { return grammar.Text(l.Arena.Literal(s)) }
		value, more, members := g.Add(nil), g.Add(nil), g.Add(nil)
		v := grammar.Call(value, 0)
		g.Define(value, grammar.Alternatives{
			{grammar.Text(l.String)}, {grammar.Text(l.Number)}, {lit("true")}, {lit("false")}, {lit("null")},
			{lit("["), grammar.Text(l.Space), lit("]")}, {lit("["), grammar.Text(l.Space), v, grammar.Call(more, 0)},
			{lit("{"), grammar.Text(l.Space), lit("}")}, {lit("{"), grammar.Text(l.Space), grammar.Text(l.String), grammar.Text(l.Colon), v, grammar.Call(members, 0)},
		})
		g.Define(more, grammar.Alternatives{{grammar.Text(l.Comma), v, grammar.Call(more, 0)}, {grammar.Text(l.Space), lit("]")}})
		g.Define(members, grammar.Alternatives{{grammar.Text(l.Comma), grammar.Text(l.String), grammar.Text(l.Colon), v, grammar.Call(members, 0)}, {grammar.Text(l.Space), lit("}")}})
		return v
	}
	add("any", func(l *jsonexpr.Language, g *grammar.Grammar) { g.Start = anything(l, g) })
	add("other keys", func(l *jsonexpr.Language, g *grammar.Grammar) {
		r := l.Arena
		v := anything(l, g)
		key := r.Concat(r.Literal(`"`), r.Minus(l.Canonicals, r.Or(r.Literal("name"), r.Literal("age"), r.Literal("x"))), r.Literal(`"`))
		g.Start = grammar.Call(g.Add(grammar.Alternatives{{grammar.Text(r.Literal("{")), grammar.Text(key), grammar.Text(l.Colon), v, grammar.Text(r.Literal("}"))}}), 0)
	})
	for name, bounds := range map[string][2]int{"at most 5": {0, 5}, "3 to 200": {3, 200}, "7 or more": {7, regular.Unbounded}} {
		add(name, func(l *jsonexpr.Language, g *grammar.Grammar) {
			r := l.Arena
			g.Start = grammar.Text(r.Concat(r.Literal(`"`), r.Repeat(l.Char, bounds[0], bounds[1]), r.Literal(`"`)))
		})
	}
	add("words", func(l *jsonexpr.Language, g *grammar.Grammar) {
		r := l.Arena
		letters := r.Class(regular.Range('a', 'z').Or(regular.Range('0', '9')))
		g.Start = grammar.Text(r.And(r.Concat(r.Literal(`"`), r.Repeat(letters, 2, 30), r.Literal(`"`)), r.Not(r.Concat(r.Literal(`"name`), r.Literal(`"`)))))
	})
	add("contains", func(l *jsonexpr.Language, g *grammar.Grammar) {
		r := l.Arena
		has := func(s string) regular.Expr { return r.Concat(l.Canonicals, r.Literal(s), l.Canonicals) }
		g.Start = grammar.Text(r.Concat(r.Literal(`"`), r.Minus(r.And(has("a1"), has("é")), has("x")), r.Literal(`"`)))
	})
	add("few words", func(l *jsonexpr.Language, g *grammar.Grammar) {
		r := l.Arena
		space := r.Class(regular.ClassOf(' '))
		word := r.Repeat(r.Minus(l.Canonical, space), 1, regular.Unbounded)
		words := r.Concat(r.Repeat(r.Concat(word, r.Repeat(space, 1, regular.Unbounded)), 0, 5), word)
		g.Start = grammar.Text(r.Concat(r.Literal(`"`), r.And(words, r.Repeat(l.Canonical, 3, 40)), r.Literal(`"`)))
	})
	add("identifier", func(l *jsonexpr.Language, g *grammar.Grammar) {
		r := l.Arena
		letter := r.Class(regular.Range('a', 'z'))
		g.Start = grammar.Text(r.Concat(r.Literal(`"`), r.And(r.Concat(letter, r.Star(r.Or(letter, r.Class(regular.Range('0', '9'))))), r.Repeat(l.Canonical, 4, 20)), r.Literal(`"`)))
	})
	add("ends in a name and a few", func(l *jsonexpr.Language, g *grammar.Grammar) {
		r := l.Arena
		g.Start = grammar.Text(r.Concat(r.Literal(`"`), r.Repeat(l.Canonical, 1, regular.Unbounded), r.Literal("e"), r.Repeat(l.Canonical, 2, 6), r.Literal(`"`)))
	})
	add("six or eight", func(l *jsonexpr.Language, g *grammar.Grammar) {
		r := l.Arena
		g.Start = grammar.Text(r.Concat(r.Literal(`"`), r.Repeat(l.Canonical, 6, 6), r.Optional(r.Repeat(l.Canonical, 2, 2)), r.Literal(`"`)))
	})
	add("ambiguous", func(l *jsonexpr.Language, g *grammar.Grammar) {
		r := l.Arena
		g.Start = grammar.Call(g.Add(grammar.Alternatives{
			{grammar.Text(r.Repeat(l.Char, 0, 9)), grammar.Text(r.Literal("name")), grammar.Text(l.Chars)},
			{grammar.Text(l.Number)},
		}), 0)
	})
	add("token", func(l *jsonexpr.Language, g *grammar.Grammar) {
		r := l.Arena
		g.Start = grammar.Text(r.Concat(r.Literal(tokenmask.Mark(added)), l.String, r.Literal(tokenmask.Mark(added))))
	})
	return all
}

// At each place of random texts, exactly the tokens with bytes that the grammar takes are allowed, and forced tokens are all that the
// grammar takes.
func TestAllowedAreWhatTheGrammarTakes(t *testing.T) {
	effort.Turn(t, 8)
	rng := rand.New(rand.NewPCG(3, 4))
	all := texts(rng)
	v := vocabulary(all)
	set, again := make([]uint64, (v.Size()+63)/64), make([]uint64, (v.Size()+63)/64)
	for name, g := range values(int32(len(all))) {
		l, err := tokenmask.NewLanguage(v, g, greedy(all))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		machine := grammar.NewMachine(g)
		forced := 0
		for text := range 8 {
			m, s := l.Start(), machine.Start()
			behind := m.Clone()  // asked after m, in another generation, and left two behind for a while
			var accepted []int32 // by m, and not yet by behind
			for step := range 30 {
				if text%2 == 1 {
					l.Outgrow()
				}
				end, err := m.Allowed(set)
				if err != nil {
					t.Fatalf("%s: after %q: %v", name, m.Text(), err)
				}
				if text%2 == 1 && step%5 != 1 {
					for _, id := range accepted {
						if err := behind.Accept(id); err != nil {
							t.Fatalf("%s: after %q: %v", name, behind.Text(), err)
						}
					}
					accepted = accepted[:0]
					if ends, err := behind.Allowed(again); err != nil || ends != end || !slices.Equal(again, set) {
						t.Fatalf("%s: after %q another generation allows other tokens, or says %v", name, m.Text(), err)
					}
				}
				if end != machine.Accepts(s) {
					t.Fatalf("%s: after %q the end is %v", name, m.Text(), end)
				}
				var possible []int32
				for id := range int32(v.Size()) {
					next := s
					for _, b := range v.Bytes(id) {
						next = machine.Next(next, b)
					}
					want := v.Bytes(id) != nil && next != grammar.Dead
					if got := set[id/64]>>(id%64)&1 != 0; got != want {
						t.Fatalf("%s: after %q token %q: %v, want %v", name, m.Text(), v.Bytes(id), got, want)
					}
					if want {
						possible = append(possible, id)
					} else if m.Accept(id) == nil {
						t.Fatalf("%s: after %q token %q was accepted", name, m.Text(), v.Bytes(id))
					}
				}
				only := s
				for _, id := range m.Forced(nil) {
					forced++
					for _, b := range v.Bytes(id) {
						if o, ok := machine.Only(only); !ok || o != b {
							t.Fatalf("%s: after %q %q is not forced", name, m.Text(), v.Bytes(id))
						}
						only = machine.Next(only, b)
					}
				}
				if len(possible) == 0 {
					break
				}
				id := possible[rng.IntN(len(possible))]
				if err := m.Accept(id); err != nil {
					t.Fatal(err)
				}
				accepted = append(accepted, id)
				for _, b := range v.Bytes(id) {
					s = machine.Next(s, b)
				}
			}
		}
		if machine.Err() != nil {
			t.Error(machine.Err())
		}
		t.Logf("%s: %d bytes, %d states, %d forced", name, l.Bytes(), machine.Len(), forced)
	}
}
