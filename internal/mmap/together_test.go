package mmap

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
)

// TestTogether allocates and frees pieces of random sizes from several goroutines: each is zeroed, aligned and nobody else's until it is freed.
func TestTogether(t *testing.T) {
	var memory Together
	var all sync.WaitGroup
	for g := range byte(4) {
		all.Go(func() {
			type piece struct {
				bytes []byte
				block *Block
			}
			var pieces []piece
			random := rand.New(rand.NewPCG(1, uint64(g)))
			free := func(i int) {
				p := pieces[i]
				if slices.ContainsFunc(p.bytes, func(b byte) bool { return b != g+1 }) {
					t.Error("a piece has changed")
				}
				if err := p.block.Free(p.bytes); err != nil {
					t.Error(err)
				}
				pieces = slices.Delete(pieces, i, i+1)
			}
			for range 60 {
				n := random.IntN([]int{2, 5000, 3 << 20}[random.IntN(3)])
				b, block, err := memory.Alloc(n)
				if err != nil {
					t.Error(err)
					return
				}
				if len(b) != n || cap(b) != n || !bytes.Equal(b, make([]byte, n)) || n > 0 && addressOf(b)%uintptr(os.Getpagesize()) != 0 {
					t.Errorf("%d bytes: %d of capacity %d, or not zero or aligned", n, len(b), cap(b))
				}
				for i := range b {
					b[i] = g + 1
				}
				if pieces = append(pieces, piece{b, block}); len(pieces) > 8 {
					free(random.IntN(len(pieces)))
				}
			}
			for len(pieces) > 0 {
				free(0)
			}
		})
	}
	all.Wait()
	if memory.current != nil {
		t.Error("a block is kept that has no pieces")
	}
}

// TestTogetherLieTogether allocates pieces that fit a block and one that does not.
func TestTogetherLieTogether(t *testing.T) {
	if hugePage == 0 || bits.UintSize < 64 {
		t.Skip("this system has no huge pages to ask for")
	}
	var memory Together
	a, one, err := memory.Alloc(1)
	if err != nil {
		t.Fatal(err)
	}
	b, two, err := memory.Alloc(blockBytes - os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	c, three, err := memory.Alloc(blockBytes + 1)
	if err != nil {
		t.Fatal(err)
	}
	if one != two || addressOf(b) != addressOf(a)+uintptr(os.Getpagesize()) || three == two || len(three.bytes) != blockBytes+hugePage {
		t.Errorf("pieces at %x, %x and %x of blocks of %d, %d and %d bytes", addressOf(a), addressOf(b), addressOf(c), len(one.bytes), len(two.bytes), len(three.bytes))
	}
	c[blockBytes] = 1
	for _, err := range []error{one.Free(a), two.Free(b), three.Free(c)} {
		if err != nil {
			t.Error(err)
		}
	}
	for _, n := range []int{-1, maxPiece} {
		if _, _, err := memory.Alloc(n); err == nil {
			t.Errorf("allocated %d bytes", n)
		}
	}
	if b, block, err := memory.Alloc(0); err != nil || len(b) != 0 || block.Free(b) != nil {
		t.Errorf("no bytes: %v", err)
	}
}
