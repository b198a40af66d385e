package mmap

import (
	"bytes"
	"math"
	"math/bits"
	"os"
	"testing"
)

func TestAlloc(t *testing.T) {
	page := os.Getpagesize()
	for _, n := range []int{0, 1, page - 1, page, 10*page + 3} {
		b, err := Alloc(n)
		if err != nil {
			t.Fatalf("Alloc(%d): %v", n, err)
		}
		if len(b) != n || cap(b) != n || !bytes.Equal(b, make([]byte, n)) {
			t.Errorf("Alloc(%d): %d bytes of capacity %d, or not all zero", n, len(b), cap(b))
		}
		if n > 0 && addressOf(b)%uintptr(page) != 0 {
			t.Errorf("Alloc(%d) is not aligned to a page", n)
		}
		if err := Free(b); err != nil {
			t.Errorf("Free of %d bytes: %v", n, err)
		}
	}
}

func TestAllocRefuses(t *testing.T) {
	sizes := []int{-1, math.MinInt}
	if bits.UintSize == 64 { // a 32-bit system may well provide all that an int can count
		sizes = append(sizes, math.MaxInt, math.MaxInt-os.Getpagesize())
	}
	for _, n := range sizes {
		if _, err := Alloc(n); err == nil {
			t.Errorf("Alloc(%d) succeeded", n)
		}
	}
}

func TestFreeRefusesParts(t *testing.T) {
	b, err := Alloc(4 * os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	if Free(b[:10]) == nil {
		t.Error("freed the front of a buffer")
	}
	if err := Free(b); err != nil {
		t.Error(err)
	}
}

func TestDiscard(t *testing.T) {
	page := os.Getpagesize()
	tests := []struct {
		name     string
		off, end int
	}{
		{"nothing", 5, 5},
		{"inside a page", 5, 50},
		{"across a page boundary", page - 5, page + 5},
		{"a page", page, 2 * page},
		{"pages and both edges", page - 3, 3*page + 3},
		{"everything", 0, 4*page + 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := Alloc(4*page + 100)
			if err != nil {
				t.Fatal(err)
			}
			defer Free(b)
			want := make([]byte, len(b))
			for i := range b {
				b[i] = byte(i%255 + 1)
			}
			copy(want, b)
			clear(want[tt.off:tt.end])
			if err := Discard(b[tt.off:tt.end]); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b, want) {
				t.Errorf("Discard of [%d, %d) did not zero just that", tt.off, tt.end)
			}
			b[tt.off] = 1 // still writable
		})
	}
}
