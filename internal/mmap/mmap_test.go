package mmap

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func writeFile(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpen(t *testing.T) {
	page := os.Getpagesize()
	for name, size := range map[string]int{"empty": 0, "a byte": 1, "a page": page, "pages and a bit": 3*page + 17} {
		t.Run(name, func(t *testing.T) {
			want := bytes.Repeat([]byte{0xa5, 1, 2}, size)[:size]
			f, err := Open(writeFile(t, want))
			if err != nil {
				t.Fatal(err)
			}
			if f.Size() != size || !bytes.Equal(f.Bytes(), want) {
				t.Errorf("got %d bytes, want %d, or other contents", f.Size(), size)
			}
			if err := errors.Join(f.Sequential(), f.WillNeed(0, size), f.WillNeed(size, 0), f.Release(0, size)); err != nil {
				t.Error(err)
			}
			f.Forget(f.Bytes()[size/2:])
			f.Forget(make([]byte, 10))
			f.Forget(nil)
			if !bytes.Equal(f.Bytes(), want) {
				t.Error("the contents changed by advice")
			}
			for range 2 {
				if err := f.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
			if f.Bytes() != nil || f.Size() != size {
				t.Error("a closed file has no bytes and keeps its size")
			}
			if err := f.Release(0, size); !errors.Is(err, os.ErrClosed) {
				t.Errorf("Release after Close: %v, want os.ErrClosed", err)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("opened a directory")
	}
	if _, err := Open(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v, want os.ErrNotExist", err)
	}
}

func TestAdviceOutsideFile(t *testing.T) {
	f, err := Open(writeFile(t, make([]byte, 100)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const maxInt = int(^uint(0) >> 1)
	for _, r := range [][2]int{{-1, 1}, {0, -1}, {0, 101}, {101, 0}, {50, maxInt}, {maxInt, maxInt}} {
		if f.Release(r[0], r[1]) == nil || f.WillNeed(r[0], r[1]) == nil {
			t.Errorf("advice on [%d, +%d) of 100 bytes was taken", r[0], r[1])
		}
	}
}

func TestForgottenFileIsUnmapped(t *testing.T) {
	path := writeFile(t, make([]byte, 1<<20))
	for range 20 { // nothing to observe portably but that collecting them does no harm
		if _, err := Open(path); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
	}
}

func TestRounding(t *testing.T) {
	page := os.Getpagesize()
	size := 3*page + 10
	tests := []struct {
		name             string
		round            func(off, end, size int) (int, int)
		off, end         int
		wantOff, wantEnd int
	}{
		{"inward, inside one page", inward, 1, page - 1, page, 0},
		{"inward, whole file", inward, 0, size, 0, size},
		{"inward, cut on both sides", inward, 1, 2*page + 1, page, 2 * page},
		{"inward, last page is whole", inward, 3 * page, size, 3 * page, size},
		{"outward, inside one page", outward, 1, 2, 0, page},
		{"outward, last page ends with the file", outward, 3*page + 1, 3*page + 2, 3 * page, size},
		{"outward, aligned", outward, page, 2 * page, page, 2 * page},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if off, end := tt.round(tt.off, tt.end, size); off != tt.wantOff || end != tt.wantEnd {
				t.Errorf("[%d, %d) became [%d, %d), want [%d, %d)", tt.off, tt.end, off, end, tt.wantOff, tt.wantEnd)
			}
		})
	}
}
