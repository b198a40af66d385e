package mmap

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestSmallPieces allocates and frees small pieces from several goroutines, more than may be kept: each is zeroed and nobody else's until it is
// freed.
func TestSmallPieces(t *testing.T) {
	var all sync.WaitGroup
	for g := range byte(4) {
		all.Go(func() {
			var pieces [][]byte
			random := rand.New(rand.NewPCG(2, uint64(g)))
			for range 100 {
				n := 1 + random.IntN(maxSmall)
				b, err := Alloc(n)
				if err != nil {
					t.Error(err)
					return
				}
				if len(b) != n || cap(b) != n || bytes.Count(b, []byte{0}) != n {
					t.Errorf("%d bytes: %d of capacity %d, or not zero", n, len(b), cap(b))
				}
				for i := range b {
					b[i] = g + 1
				}
				pieces = append(pieces, b)
				if len(pieces) < 30 && n%2 == 0 {
					continue
				}
				for _, b := range pieces {
					if bytes.Count(b, []byte{g + 1}) != len(b) {
						t.Error("a piece has changed")
					}
					if err := Free(b); err != nil {
						t.Error(err)
					}
				}
				pieces = nil
			}
			for _, b := range pieces {
				if err := Free(b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	kept := 0
	for size, list := range smallPieces.spares {
		kept += size * len(list)
	}
	if kept != smallPieces.kept || kept > maxSpares {
		t.Errorf("%d bytes are kept, counted as %d", kept, smallPieces.kept)
	}
}

// TestSmallPiecesServeAgain frees a piece and allocates another of as many pages, which must be zero although the memory is the same. To free a
// piece twice is an error.
func TestSmallPiecesServeAgain(t *testing.T) {
	s := small{lent: map[uintptr]int{}, spares: map[int][][]byte{}}
	first, err := s.alloc(1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range first {
		first[i] = 1
	}
	if s.free(first[:999:999]) == nil {
		t.Error("freed the front of a piece")
	}
	if err := s.free(first); err != nil {
		t.Fatal(err)
	}
	if s.free(first) == nil {
		t.Error("freed a piece twice")
	}
	second, err := s.alloc(1001)
	if err != nil {
		t.Fatal(err)
	}
	if addressOf(second) != addressOf(first) {
		t.Error("what was freed did not serve again")
	}
	if bytes.Count(second, []byte{0}) != 1001 {
		t.Error("memory that serves again is not zero")
	}
	if err := s.free(second); err != nil {
		t.Error(err)
	}
}
