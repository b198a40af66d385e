package mmap

import (
	"errors"
	"os"
	"runtime/debug"
	"testing"
)

// guarded runs f under Catch.
func guarded(f func()) (err error) {
	defer Catch(&err)()
	f()
	return nil
}

func TestCatchPassesOtherPanics(t *testing.T) {
	tests := []struct {
		name string
		f    func()
	}{
		{"a value", func() { panic("boom") }},
		{"an index out of range", func() { _ = make([]byte, 1)[len(os.Args)+5] }},
		{"a nil pointer", func() { var f *File; _ = f.Size() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("Catch swallowed the panic")
				}
				if debug.SetPanicOnFault(false) {
					t.Error("Catch left faults armed")
				}
			}()
			err := guarded(tt.f)
			t.Errorf("Catch turned it into %v", err)
		})
	}
}

func TestCatchKeepsOrdinaryErrors(t *testing.T) {
	want := errors.New("ordinary")
	got := func() (err error) {
		defer Catch(&err)()
		return want
	}()
	if got != want {
		t.Errorf("got %v, want the function's own error", got)
	}
}

func BenchmarkCatch(b *testing.B) {
	for b.Loop() {
		_ = guarded(func() {})
	}
}
