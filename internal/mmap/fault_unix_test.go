//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package mmap

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// unreadable returns the mapping of a file that has lost its contents since.
func unreadable(t *testing.T) []byte {
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
