package charset

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unicode"
)

// The folding tables have every character that package unicode folds.
func TestFolding(t *testing.T) {
	var want []rune
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if unicode.SimpleFold(c) != c {
			want = append(want, c)
		}
	}
	if !slices.Equal(folding(), want) {
		t.Errorf("%d characters, want %d", len(folding()), len(want))
	}
	for s, want := range map[string]Set{"k": Between('K', 'K', 'k', 'k', 0x212A, 0x212A), "é": Between('É', 'É', 'é', 'é'), "-": Between('-', '-')} {
		c := []rune(s)[0]
		if got := Between(c, c).Fold(); !slices.Equal(got, want) {
			t.Errorf("%s folds to %v, want %v", s, got, want)
		}
	}
}

// Sets are ranges in order, and their operations are right for each character.
func TestSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	borders := []rune{0, 1, 'a', 'b', 'z', 0x7F, 0x80, 0xD7FE, 0xD7FF, 0xD800, 0xDABC, 0xDFFF, 0xE000, 0xE001, 0xFFFF, 0x10000, unicode.MaxRune}
	draw := func() Set {
		var spans []Span
		for range rng.IntN(5) {
			spans = append(spans, Span{borders[rng.IntN(len(borders))], borders[rng.IntN(len(borders))]})
		}
		return Of(spans...)
	}
	for range 2000 {
		a, b := draw(), draw()
		or, and, not, minus := a.Or(b), a.And(b), a.Not(), a.Minus(b)
		for _, s := range []Set{a, or, and, not, minus} {
			n := 0
			for i, span := range s {
				touches := i > 0 && span.Low <= s[i-1].High+1
				if span.Low > span.High || touches || span.Low <= surrogateMax && span.High >= surrogateMin {
					t.Fatalf("%v has the range %v", s, span)
				}
				n += int(span.High - span.Low + 1)
			}
			if n != s.Len() {
				t.Fatalf("%v has %d characters, not %d", s, n, s.Len())
			}
		}
		for _, c := range borders {
			character := c < surrogateMin || c > surrogateMax
			x, y := a.Has(c), b.Has(c)
			if or.Has(c) != (x || y) || and.Has(c) != (x && y) || not.Has(c) != (character && !x) || minus.Has(c) != (x && !y) {
				t.Fatalf("%#x in %v and %v", c, a, b)
			}
		}
	}
	if c, ok := Between('x', 'x').Single(); c != 'x' || !ok {
		t.Errorf("Single: %q, %v", c, ok)
	}
	if !slices.Equal(OfTables(unicode.Lu, unicode.Ll, unicode.Lt, unicode.Lm, unicode.Lo), OfTables(unicode.L)) {
		t.Error("the kinds of letters are not the letters")
	}
}
