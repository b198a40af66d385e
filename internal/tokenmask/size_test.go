package tokenmask_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/regular"
	"github.com/antigravity-go/antigravity/internal/tokenmask"
)

// large makes a vocabulary of a real size by a formula: words, some with a blank before or with signs of JSON and of programs around.
func large(size int) *tokenmask.Vocabulary {
	rng := rand.New(rand.NewPCG(7, 8))
	syllables := strings.Fields("a e i o u ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo ys za str tion ing er é ü ße да но 中 文 の 한")
	signs := strings.Split(`"|":|",|":"|","|"}|\n|\"|(|);|_|-|.|/|  |`+"\n|\t|é\xe4|\xb8", "|")
	seen := map[string]bool{}
	var all []string
	add := func(s string) {
		if !seen[s] {
			seen[s] = true
			all = append(all, s)
		}
	}
	for b := range 256 {
		add(string([]byte{byte(b)}))
	}
	var b strings.Builder
	for len(all) < size-1 {
		b.Reset()
		if rng.IntN(2) == 0 {
			b.WriteByte(' ')
		}
		if rng.IntN(40) == 0 {
			b.WriteString(signs[rng.IntN(len(signs))])
		}
		for range 1 + rng.IntN(5) {
			b.WriteString(syllables[rng.IntN(len(syllables))])
		}
		if rng.IntN(25) == 0 {
			b.WriteString(signs[rng.IntN(len(signs))])
			b.WriteString(signs[rng.IntN(len(signs))])
		}
		add(b.String())
	}
	return tokenmask.New(size, func(dst []byte, id int32) []byte {
		if int(id) == len(all) {
			return dst
		}
		return append(dst, all[id]...)
	}, func(id int32) bool { return int(id) == len(all) })
}

// A vocabulary of a real size takes little memory, before its first mask and after many, and its masks are what the grammar takes.
func TestLargeVocabulary(t *testing.T) {
	effort.Turn(t, 8)
	const size = 131_072
	const before, after = 220, 260 // bytes an entry
	v := large(size)
	if held := v.Held(); held > before*size {
		t.Errorf("a new vocabulary takes %d bytes, %d an entry", held, held/size)
	}
	rng := rand.New(rand.NewPCG(9, 10))
	set := make([]uint64, size/64)
	grammars := values(size - 1)
	for _, name := range []string{"any", "other keys", "3 to 200", "contains"} {
		g := grammars[name]
		l, err := tokenmask.NewLanguage(v, g, nil)
		if err != nil {
			t.Fatal(err)
		}
		machine := grammar.NewMachine(g)
		m, s := l.Start(), machine.Start()
		for step := range 60 {
			if _, err := m.Allowed(set); err != nil {
				t.Fatalf("%s: after %q: %v", name, m.Text(), err)
			}
			var allowed []int32
			for id := range int32(size) {
				if set[id/64]>>(id%64)&1 != 0 {
					allowed = append(allowed, id)
				}
			}
			if step%15 == 0 {
				for id := range int32(size) {
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
				}
			}
			if len(allowed) == 0 {
				break
			}
			id := allowed[rng.IntN(len(allowed))]
			if err := m.Accept(id); err != nil {
				t.Fatal(err)
			}
			for _, b := range v.Bytes(id) {
				s = machine.Next(s, b)
			}
		}
		if bytes := l.Bytes(); bytes > 4<<20 {
			t.Errorf("%s: after a text of %d bytes the language takes %d bytes", name, len(m.Text()), bytes)
		}
	}
	if held := v.Held(); held > after*size {
		t.Errorf("after some languages the vocabulary takes %d bytes, %d an entry", held, held/size)
	}
	t.Logf("%d bytes an entry", v.Held()/size)
}

// Languages with many states of their own do not keep what they need for each: counts of a long repetition share one mask.
func TestLongRepetitionsShareMasks(t *testing.T) {
	v := large(20_000)
	l := jsonexpr.New()
	r := l.Arena
	g := grammar.New(r)
	word := r.Repeat(r.Minus(l.Canonical, r.Class(regular.ClassOf(' '))), 1, regular.Unbounded)
	words := r.Concat(r.Star(r.Concat(word, r.Literal(" "))), word)
	g.Start = grammar.Text(r.Concat(r.Literal(`"`), r.And(words, r.Repeat(l.Canonical, 0, 5000)), r.Literal(`"`)))
	language, err := tokenmask.NewLanguage(v, g, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, set := language.Start(), make([]uint64, 20_000/64+1)
	begun := 0
	for i, b := range []byte(`"` + strings.Repeat("word ", 100)) {
		if _, err := m.Allowed(set); err != nil {
			t.Fatal(err)
		}
		if err := m.Accept(int32(b)); err != nil {
			t.Fatal(err)
		}
		if i == 100 {
			begun = language.Bytes()
		}
	}
	if grown := language.Bytes() - begun; grown > 1500*400 {
		t.Errorf("400 characters took %d bytes, %d each", grown, grown/400)
	}
}
