// Package filetest tests writers of files by stopping them at each of their steps.
package filetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
)

// errStopped is what a step returns that does not succeed.
var errStopped = errors.New("no space left, says the test")

// system is the operating system until a step fails. A write that fails writes half of its bytes.
type system struct {
	steps  int  // that succeed
	killed bool // no step after it succeeds, as if the process had ended

	renamed map[string]bool // the files that got their names
}

// step reports whether the next step succeeds.
func (s *system) step() bool {
	s.steps--
	if s.killed {
		return s.steps >= 0
	}
	return s.steps != -1
}

type handle struct {
	*os.File
	system *system
}

func (s *system) Create(path string) (atomicfile.Handle, error) {
	if !s.step() {
		return nil, errStopped
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return &handle{f, s}, nil
}

func (h *handle) Write(p []byte) (int, error) {
	if h.system.step() {
		return h.File.Write(p)
	}
	if h.system.steps < -1 {
		return 0, errStopped
	}
	n, _ := h.File.Write(p[:len(p)/2])
	return n, errStopped
}

func (h *handle) Sync() error {
	if !h.system.step() {
		return errStopped
	}
	return nil // the test survives
}

func (s *system) Stat(path string) (fs.FileInfo, error)        { return os.Stat(path) }
func (s *system) ReadDir(folder string) ([]fs.DirEntry, error) { return os.ReadDir(folder) }

func (s *system) Rename(from, to string) error {
	if !s.step() {
		return errStopped
	}
	if s.renamed == nil {
		s.renamed = map[string]bool{}
	}
	s.renamed[to] = true
	return atomicfile.Rename(from, to)
}

func (s *system) Remove(path string) error {
	if !s.step() {
		return errStopped
	}
	return os.Remove(path)
}

func (s *system) SyncFolder(string) error {
	if !s.step() {
		return errStopped
	}
	return nil
}

// EveryStep calls write again and again, each time in a new folder that prepare has filled. At first the writer is stopped at its first
// step, then at its second, until it succeeds: once so that this step alone fails, and once so that all later steps fail, too, as if the
// process had been killed there. A step creates, writes, syncs, renames or removes.
//
// After each call every file must have its old content or the content that an undisturbed writer gives it. One of several that are written
// together may be absent, too, and a file that an undisturbed writer removes. Other files must be as they were, and only a killed writer may
// leave a temporary file. If the writer succeeds though a step failed, it must have written everything. If it fails and was not killed, it
// must not have replaced a file that it writes alone. If check is not nil, it judges the folder, too.
func EveryStep(t *testing.T, prepare func(folder string), write func(s atomicfile.System, folder string) error, check func(folder string) error) {
	t.Helper()
	var folder string
	run := func(s *system) (before, after map[string][]byte, err error) {
		folder = t.TempDir()
		prepare(folder)
		before = contents(t, folder)
		err = write(s, folder)
		after = contents(t, folder)
		if check != nil {
			if err := check(folder); err != nil {
				t.Errorf("%+v: %v", *s, err)
			}
		}
		return before, after, err
	}
	undisturbed := &system{steps: 1 << 30}
	_, want, err := run(undisturbed)
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for path := range undisturbed.renamed {
		name, err := filepath.Rel(folder, path)
		if err != nil {
			t.Fatal(err)
		}
		written[name] = true
	}
	for _, killed := range []bool{false, true} {
		n := 0
		for ; ; n++ {
			s := &system{steps: n, killed: killed}
			before, after, err := run(s)
			if wrong := compare(before, after, want, written, killed); wrong != "" {
				t.Fatalf("stopped at step %d (killed: %v): %s", n, killed, wrong)
			}
			if err == nil {
				if wrong := compare(want, after, want, nil, true); wrong != "" {
					t.Fatalf("stopped at step %d (killed: %v), the writer says that it succeeded: %s", n, killed, wrong)
				}
				if s.steps >= 0 {
					break
				}
				continue
			}
			if name, replaced := replacedAlone(before, after, written); replaced && !killed {
				t.Fatalf("stopped at step %d, the writer says that it failed (%v) and has replaced %s", n, err, name)
			}
			if !errors.Is(err, errStopped) {
				t.Fatalf("stopped at step %d (killed: %v): the error is %v", n, killed, err)
			}
		}
		if n < 3 {
			t.Fatalf("the writer has %d steps: it does not use the System", n)
		}
	}
}

// replacedAlone returns the file that a writer writes, if that is one, and reports whether it has other bytes than before.
func replacedAlone(before, after map[string][]byte, written map[string]bool) (name string, replaced bool) {
	if len(written) != 1 {
		return "", false
	}
	for name = range written {
	}
	old, was := before[name]
	fresh, is := after[name]
	return name, was != is || !bytes.Equal(old, fresh)
}

// contents reads all files of a folder. A link counts as the file that it points to.
func contents(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err == nil {
			files[name], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// compare returns the damage to a folder after a writer of some files was stopped, or "".
func compare(before, after, want map[string][]byte, written map[string]bool, killed bool) string {
	for name, content := range after {
		old, was := before[name]
		fresh, is := want[name]
		switch {
		case was && bytes.Equal(content, old), is && bytes.Equal(content, fresh):
		case !was && !is && killed && strings.HasSuffix(name, ".tmp"):
		default:
			return fmt.Sprintf("%s has %d bytes, neither the old ones nor the new ones", name, len(content))
		}
	}
	for name := range before {
		_, is := after[name]
		if _, stays := want[name]; stays && !is && (len(written) == 1 || !written[name]) {
			return fmt.Sprintf("%s is gone", name)
		}
	}
	return ""
}
