package budget

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestOneClientGetsHalf(t *testing.T) {
	b := New(100)
	a, other := b.Open("a"), b.Open("b")
	defer a.Close()
	if err := a.Grow(50); err != nil {
		t.Fatal(err)
	}
	var full *FullError
	if err := a.Grow(1); !errors.As(err, &full) || *full != (FullError{1, 50, 100}) {
		t.Fatalf("more than half: %v", err)
	}
	if err := b.Open("a").Grow(1); !errors.As(err, &full) {
		t.Fatalf("more than half, by another request: %v", err)
	}
	if err := other.Grow(25); err != nil {
		t.Fatal("nothing is left for another client:", err)
	}
	if err := other.Grow(1); err == nil {
		t.Fatal("another client got more than what is free then")
	}
	a.Close()
	a.Close()
	if err := other.Grow(25); err != nil {
		t.Fatal("what was given back is not free:", err)
	}
	if s := b.Stats(); s != (Stats{Held: 50, Most: 100, Peak: 75, Refused: 3}) {
		t.Fatalf("%+v", s)
	}
	other.Close()
	if s := b.Stats(); s.Held != 0 || len(b.clients) != 0 {
		t.Fatalf("%+v, and clients are remembered: %v", s, b.clients)
	}
}

func TestNilHoldsWhatItLikes(t *testing.T) {
	var s *Share
	if err := s.Grow(1 << 40); err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// TestInvariants grows and shrinks shares at random, and adds up their bytes.
func TestInvariants(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b := New(1000)
	shares := make([]*Share, 20)
	held := make([]int64, len(shares))
	for i := range shares {
		shares[i] = b.Open(fmt.Sprint(i % 7))
	}
	for range 5000 {
		i := r.IntN(len(shares))
		n := r.Int64N(200) - held[i]/2
		if n < -held[i] {
			n = -held[i]
		}
		if shares[i].Grow(n) == nil {
			held[i] += n
		} else if n <= 0 {
			t.Fatal("what is given back is refused")
		}
		var sum int64
		for _, h := range held {
			sum += h
		}
		if s := b.Stats(); s.Held != sum || sum > 1000 || s.Peak < sum {
			t.Fatalf("the shares hold %d: %+v", sum, s)
		}
	}
}
