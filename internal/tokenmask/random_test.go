package tokenmask_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/regular"
	"github.com/antigravity-go/antigravity/internal/tokenmask"
)

var languages = flag.Int("languages", 60, "how many languages TestRandomLanguages makes")

// random returns a random expression over what the tokens of texts are made of.
func random(r *regular.Arena, l *jsonexpr.Language, rng *rand.Rand, depth int) regular.Expr {
	if depth == 0 {
		switch rng.IntN(8) {
		case 0:
			return l.Char
		case 1:
			return l.Canonical
		case 2:
			return r.Class(regular.Range('a', 'z'))
		case 3:
			return r.Class(regular.Range('a', 'z').Or(regular.ClassOf(' ', '"', ':', '1')))
		case 4:
			return r.Class(regular.Range(' ', '~').Or(regular.ClassOf('\n')))
		case 5:
			return r.Class(regular.Range(0, 0xFE))
		}
		return r.Literal([]string{"a", "name", `"`, " ", "ab", "中", "1", ", "}[rng.IntN(8)])
	}
	sub := func() regular.Expr { return random(r, l, rng, depth-1-rng.IntN(depth)) }
	switch rng.IntN(10) {
	case 0, 1, 2:
		return r.Concat(sub(), sub())
	case 3, 4, 5:
		least := rng.IntN(6) * rng.IntN(2)
		return r.Repeat(sub(), least, least+rng.IntN(12))
	case 6:
		return r.Star(sub())
	case 7:
		return r.Or(sub(), sub())
	case 8:
		return r.And(sub(), sub())
	}
	return r.Minus(sub(), sub())
}

// What TestAllowedAreWhatTheGrammarTakes checks for languages that schemas make, holds for any.
func TestRandomLanguages(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	all := texts(rng)
	v := vocabulary(all)
	set := make([]uint64, (v.Size()+63)/64)
nextLanguage:
	for number := range *languages {
		rng := rand.New(rand.NewPCG(uint64(number), 7))
		l := jsonexpr.New()
		g := grammar.New(l.Arena)
		var sequence []grammar.Symbol
		for range 1 + rng.IntN(3) {
			e := random(l.Arena, l, rng, 1+rng.IntN(4))
			if !l.Arena.Alive(e) {
				e = regular.Empty
			}
			sequence = append(sequence, grammar.Text(e))
		}
		g.Start = grammar.Call(g.Add(grammar.Alternatives{sequence, {grammar.Text(random(l.Arena, l, rng, 2))}}), 0)
		language, err := tokenmask.NewLanguage(v, g, greedy(all))
		if err != nil {
			continue // no text, or too complex
		}
		machine := grammar.NewMachine(g)
		for text := range 2 {
			m, s := language.Start(), machine.Start()
			for range 8 {
				if text == 1 {
					language.Outgrow()
				}
				end, err := m.Allowed(set)
				if errors.Is(err, regular.ErrTooComplex) {
					break
				}
				if err != nil {
					t.Errorf("language %d: after %q: %v", number, m.Text(), err)
					break
				}
				if end != machine.Accepts(s) {
					t.Errorf("language %d: after %q the end is %v", number, m.Text(), end)
				}
				var possible []int32
				for id := range int32(v.Size()) {
					machine.Begin()
					next := s
					for _, b := range v.Bytes(id) {
						if next = machine.Next(next, b); next == grammar.Dead {
							break
						}
					}
					if machine.Err() != nil { // it has given up, so it says nothing about this language any more
						continue nextLanguage
					}
					want := v.Bytes(id) != nil && next != grammar.Dead
					if got := set[id/64]>>(id%64)&1 != 0; got != want {
						t.Errorf("language %d: after %q token %q: %v, want %v", number, m.Text(), v.Bytes(id), got, want)
						break
					}
					if want {
						possible = append(possible, id)
					}
				}
				if len(possible) == 0 {
					break
				}
				id := possible[rng.IntN(len(possible))]
				if err := m.Accept(id); err != nil {
					t.Fatal(err)
				}
				for _, b := range v.Bytes(id) {
					s = machine.Next(s, b)
				}
			}
		}
	}
}
