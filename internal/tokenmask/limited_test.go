package tokenmask_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/pattern"
	"github.com/antigravity-go/antigravity/internal/tokenmask"
)

// Patterns with a greatest length, near to it and far from it, have the masks that the grammar has.
func TestLimitedPatterns(t *testing.T) {
	effort.Turn(t, 8)
	const size = 6000
	v := large(size)
	set := make([]uint64, size/64+1)
	for _, p := range []string{
		`^(?:\S+\s+){0,9}\S+$`, `^$|(^(?:\S+\s+){0,3}\S+$)`, `^[^@^\s]+@[^@^\.^\s]+(\.[^@^\.^\s]*)*.gov.uk`, `^[a-z]+( [a-z]+)*$`, `é.*\\n$`, `^([a-z]{2}|\n)*$`, `a{3}.{0,7}b`,
	} {
		for least, most := range map[int]int{0: 7, 2: 12, 1: 30, 5: 90, 3: 400} {
			l := jsonexpr.New()
			r := l.Arena
			e, err := pattern.ECMA(r, pattern.JSON, p)
			if err != nil {
				t.Fatal(err)
			}
			e = r.And(e, r.Repeat(l.Canonical, least, most))
			if !r.Alive(e) { // no text is that short
				continue
			}
			g := grammar.New(r)
			g.Start = grammar.Text(r.Concat(l.Quote, e, l.Quote))
			language, err := tokenmask.NewLanguage(v, g, nil)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, fmt.Sprintf("%s, %d to %d", p, least, most), v, language, g, set, 12)
		}
	}
}

// compare lets a matcher go through random texts, and compares the allowed tokens with those that the grammar takes byte by byte.
func compare(t *testing.T, name string, v *tokenmask.Vocabulary, l *tokenmask.Language, g *grammar.Grammar, set []uint64, steps int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, uint64(len(name))))
	machine := grammar.NewMachine(g)
	m, s := l.Start(), machine.Start()
	for range steps {
		end, err := m.Allowed(set)
		if err != nil {
			t.Fatalf("%s: after %q: %v", name, m.Text(), err)
		}
		if end != machine.Accepts(s) {
			t.Fatalf("%s: after %q the end is %v", name, m.Text(), end)
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
			want := v.Bytes(id) != nil && next != grammar.Dead
			if got := set[id/64]>>(id%64)&1 != 0; got != want {
				t.Fatalf("%s: after %q token %q: %v, want %v", name, m.Text(), v.Bytes(id), got, want)
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
	if machine.Err() != nil {
		t.Errorf("%s: %v", name, machine.Err())
	}
}
