package mmap

import (
	"fmt"
	"math/bits"
	"os"
	"sync"
)

// Together allocates memory that is read again and again from beginning to end, such as weights. Pieces lie one after the other in blocks, and
// the system is asked to back blocks with huge pages. A huge page spares address translations when it is read, and hundreds of page faults when
// it is first written. If each piece had a mapping of its own, huge pages would cover only the parts between multiples of their size: of a
// piece of 3 MB at most one such part, of a piece of 1 MB nothing. The zero value is ready; it may be used from any number of goroutines.
//
// Invariant: current is nil or has pieces that were not freed.
type Together struct {
	mu      sync.Mutex
	current *Block // from which the next piece comes, if it fits
}

// Block is memory of which some pieces are in use.
type Block struct {
	of    *Together
	bytes []byte
	used  int // by pieces, those that were freed included
	live  int // pieces that were not freed
}

// blockBytes is the least size of a block. Its unused rest takes address space only, but 32-bit systems have little of that.
const blockBytes = 64 << 20

// Alloc returns n bytes of zeroed memory, aligned to a page, and the block that they lie in: they last until its Free. Errors are those of the
// function Alloc.
func (t *Together) Alloc(n int) ([]byte, *Block, error) {
	if hugePage == 0 || bits.UintSize < 64 || n <= 0 || n > maxPiece {
		b, err := Alloc(n)
		return b, nil, err
	}
	whole := roundUp(n, os.Getpagesize())
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == nil || len(t.current.bytes)-t.current.used < whole {
		bytes, err := Alloc(max(blockBytes, roundUp(whole, hugePage)))
		if err != nil {
			return nil, nil, err
		}
		adviseHuge(bytes)
		t.current = &Block{of: t, bytes: bytes}
	}
	k := t.current
	b := k.bytes[k.used : k.used+n : k.used+n]
	k.used += whole
	k.live++
	return b, k, nil
}

// roundUp returns the least multiple of unit from n on.
func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// maxPiece bounds pieces, so that rounded up they are a number. No system has more memory.
const maxPiece = 1 << (bits.UintSize - 4)

// Free gives a piece back, whole and once. A nil Block frees what the function Alloc returned.
func (k *Block) Free(b []byte) error {
	if k == nil {
		return Free(b)
	}
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	if k.live--; k.live > 0 {
		if err := discardPages(b); err != nil { // to the end of its last page, which has nothing else
			return fmt.Errorf("mmap: giving back %d bytes: %w", len(b), err)
		}
		return nil
	}
	if k.of.current == k {
		k.of.current = nil
	}
	return Free(k.bytes)
}
