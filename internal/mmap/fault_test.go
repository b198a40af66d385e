//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows

package mmap

import (
	"errors"
	"runtime/debug"
	"testing"
)

func TestCatchFault(t *testing.T) {
	b := unreadable(t)
	var sum byte
	err := guarded(func() {
		for _, v := range b {
			sum += v
		}
	})
	var fault *FaultError
	if !errors.As(err, &fault) {
		t.Fatalf("got %v, want a *FaultError", err)
	}
	if fault.Addr < addressOf(b) || fault.Addr >= addressOf(b)+uintptr(len(b)) {
		t.Errorf("the fault at %#x lies outside the mapping", fault.Addr)
	}
	if debug.SetPanicOnFault(false) {
		t.Error("Catch left faults armed")
	}
}

func TestCatchNests(t *testing.T) {
	b := unreadable(t)
	var inner error
	var read byte
	outer := guarded(func() {
		inner = guarded(func() { read += b[0] })
		read += b[1] // the outer guard must still be armed
	})
	var fault *FaultError
	if !errors.As(inner, &fault) || !errors.As(outer, &fault) {
		t.Errorf("inner %v, outer %v; want a *FaultError of each", inner, outer)
	}
}
