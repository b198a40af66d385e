//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package mmap

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// truncated returns the mapping of a file that has lost its contents since.
func truncated(t *testing.T) []byte {
	t.Helper()
	path := writeFile(t, make([]byte, 4*os.Getpagesize()))
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	return f.Bytes()
}

func TestCatchTruncatedFile(t *testing.T) {
	b := truncated(t)
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
	b := truncated(t)
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

func TestOpenDoesNotWaitForPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := Open(path)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("opened a pipe")
		}
	case <-time.After(5 * time.Second):
		t.Fatal("Open waits for the pipe's writer")
	}
}
