package ngrams

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/linear"
)

// naive is Find by comparing every place.
func naive(tokens, sequence []int32, shortest, longest int) (next, length int) {
	for p := range tokens {
		k := 0
		for k < min(p, len(sequence), longest) && tokens[p-1-k] == sequence[len(sequence)-1-k] && tokens[p-1-k] >= 0 {
			k++
		}
		if tokens[p] >= 0 && k >= shortest && k >= length {
			next, length = p, k
		}
	}
	return next, length
}

// draw returns n tokens of a small vocabulary, so that n-grams recur, with separators between them if wanted.
func draw(r *rand.Rand, n, vocabulary int, separators bool) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = r.Int32N(int32(vocabulary))
		if separators && r.IntN(9) == 0 {
			list[i] = -1 - r.Int32N(2)
		}
	}
	return list
}

func TestFindEqualsSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		shortest := 1 + r.IntN(3)
		longest := shortest + r.IntN(4)
		vocabulary, separators := 1+r.IntN(6), r.IntN(2) == 0
		x := New[int32](shortest, longest)
		var all []int32
		for range 30 {
			if r.IntN(20) == 0 {
				x.Reset()
				all = all[:0]
			}
			part := draw(r, r.IntN(1+r.IntN(120)), vocabulary, separators)
			x.Append(part...)
			all = append(all, part...)
			if !slices.Equal(x.Tokens(), all) {
				t.Fatalf("tokens %v, want %v", x.Tokens(), all)
			}
			for _, sequence := range [][]int32{all, draw(r, r.IntN(9), vocabulary, separators), nil} {
				next, length := x.Find(sequence)
				wantNext, wantLength := naive(all, sequence, shortest, longest)
				if length != wantLength || length > 0 && next != wantNext {
					t.Fatalf("n-grams of %d to %d of %v: the end of %v goes on at %d, %d long, want %d, %d long", shortest, longest, all, sequence, next, length, wantNext, wantLength)
				}
			}
		}
	}
}

func TestAppendAndFindDoNotAllocate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x := New[int32](2, 4)
	x.Append(draw(r, 3000, 50, false)...)
	if n := testing.AllocsPerRun(1000, func() {
		x.Append(r.Int32N(50))
		x.Find(x.Tokens())
	}); n != 0 {
		t.Errorf("%g allocations a token, want none", n)
	}
	x.Reset()
	text := draw(r, 3000, 50, false)
	if n := testing.AllocsPerRun(10, func() {
		x.Reset()
		x.Append(text...)
	}); n != 0 {
		t.Errorf("%g allocations to fill an index anew, want none", n)
	}
}

// TestLinear appends and finds token by token in sequences that are hard for hash tables and chains.
func TestLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for name, token := range map[string]func(i int) int32{
		"one token":                   func(int) int32 { return 7 },
		"a period of 1000":            func(i int) int32 { return int32(i % 1000) },
		"two tokens":                  func(int) int32 { return r.Int32N(2) },
		"counting":                    func(i int) int32 { return int32(i) },
		"multiples of a power of two": func(i int) int32 { return int32(i<<16) & 0x7fffffff },
	} {
		t.Run(name, func(t *testing.T) {
			linear.Check(t, 40_000, func(n int) {
				x := New[int32](2, 4)
				for i := range n {
					x.Append(token(i))
					x.Find(x.Tokens())
				}
			})
		})
	}
}
