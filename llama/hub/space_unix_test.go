//go:build linux || darwin || freebsd

package hub

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFullDiskIsExplained(t *testing.T) {
	full := &diskError{&fs.PathError{Op: "write", Path: "blobs/x", Err: unix.ENOSPC}}
	if !errors.Is(full, unix.ENOSPC) || !strings.Contains(full.Error(), "HF_HOME") {
		t.Error(full)
	}
	if other := (&diskError{fs.ErrPermission}).Error(); strings.Contains(other, "HF_HOME") {
		t.Error(other)
	}
}

func TestFreeBytes(t *testing.T) {
	if free, known := freeBytes(t.TempDir()); !known || free <= 0 {
		t.Errorf("%d, %v", free, known)
	}
	if _, known := freeBytes("/no/such/folder"); known {
		t.Error("the room of a folder that is not there is known")
	}
}
