package atomicfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/atomicfile/filetest"
)

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// text writes a text a byte at a time.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		for i := range len(s) {
			if _, err := io.WriteString(w, s[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestWrite(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	for _, want := range []string{"old", "new", ""} {
		if err := atomicfile.Write(path, text(want)); err != nil || get(t, path) != want {
			t.Errorf("the file is %q, %v; want %q", get(t, path), err, want)
		}
	}
	failure := errors.New("no more")
	err := atomicfile.Write(path, func(w io.Writer) error {
		io.WriteString(w, "half")
		return failure
	})
	if !errors.Is(err, failure) || !strings.Contains(err.Error(), path) || get(t, path) != "" {
		t.Errorf("the file is %q, %v", get(t, path), err)
	}
	if entries, err := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
	if err := atomicfile.Write(folder, text("")); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("writing a folder: %v", err)
	}
	if err := atomicfile.Write(filepath.Join(folder, "missing", "file"), text("")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("writing into a folder that is not there: %v", err)
	}
}

// TestWriteAfterError writes on after an error, as code does that does not look: the file must not appear.
func TestWriteAfterError(t *testing.T) {
	folder := t.TempDir()
	filetest.EveryStep(t, func(folder string) { put(t, filepath.Join(folder, "file"), "old") },
		func(s atomicfile.System, folder string) error {
			set := atomicfile.Set{System: s}
			defer set.Discard()
			f, err := set.Create(filepath.Join(folder, "file"))
			if err != nil {
				return err
			}
			for _, word := range []string{"one", "two", "three"} {
				io.WriteString(f, word)
			}
			return set.Commit()
		}, nil)
	if entries, _ := os.ReadDir(folder); len(entries) != 0 {
		t.Errorf("the folder has %v", entries)
	}
}

// TestLinks writes into a folder of links with the names that temporary files used to have, and over a link.
func TestLinks(t *testing.T) {
	folder := t.TempDir()
	path, precious := filepath.Join(folder, "file"), filepath.Join(folder, "precious")
	put(t, precious, "precious")
	for _, link := range []string{path, path + ".part", path + ".tmp"} {
		if err := os.Symlink(precious, link); err != nil {
			t.Skip(err)
		}
	}
	if err := atomicfile.Write(path, text("new")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || get(t, path) != "new" {
		t.Errorf("the file is %v, %q, %v", info.Mode(), get(t, path), err)
	}
	if got := get(t, precious); got != "precious" {
		t.Errorf("what the links point to is %q", got)
	}
	if _, err := os.Readlink(path + ".part"); err != nil {
		t.Error(err)
	}
}

func TestEveryStep(t *testing.T) {
	filetest.EveryStep(t, func(folder string) {
		put(t, filepath.Join(folder, "file"), "old")
		put(t, filepath.Join(folder, "file.part"), "a bystander")
	}, func(s atomicfile.System, folder string) error {
		set := atomicfile.Set{System: s}
		defer set.Discard()
		if err := set.Write(filepath.Join(folder, "file"), text("new")); err != nil {
			return err
		}
		return set.Commit()
	}, nil)
}

// names are the files of the sets.
var names = []string{"1", "2", "3"}

// writeSet writes a set of files with one content.
func writeSet(s atomicfile.System, folder, content string) error {
	set := atomicfile.Set{System: s}
	defer set.Discard()
	for _, name := range names {
		if err := set.Write(filepath.Join(folder, name), text(content)); err != nil {
			return err
		}
	}
	return set.Commit()
}

// checkSet fails if the first file is there and the others are not of its set.
func checkSet(folder string) error {
	first, err := os.ReadFile(filepath.Join(folder, names[0]))
	if err != nil {
		return nil
	}
	for _, name := range names[1:] {
		if b, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !bytes.Equal(b, first) {
			return fmt.Errorf("%s is %q, %v, and the first file is %q", name, b, err, first)
		}
	}
	return nil
}

func TestEveryStepOfASet(t *testing.T) {
	filetest.EveryStep(t, func(folder string) {
		for _, name := range names {
			put(t, filepath.Join(folder, name), "old")
		}
	}, func(s atomicfile.System, folder string) error { return writeSet(s, folder, "new") }, checkSet)
}

// TestTogether lets several write one file: each that succeeds wrote a whole one.
func TestTogether(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			if err := atomicfile.Write(path, text(strings.Repeat(fmt.Sprint(i), 100))); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := get(t, path); got != strings.Repeat(got[:1], 100) {
		t.Errorf("the file is %q", got)
	}
	if entries, err := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// meeting is a System that makes each rename wait for another writer's.
type meeting struct {
	atomicfile.System
	before func()
}

func (m *meeting) Create(path string) (atomicfile.Handle, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}
func (m *meeting) Stat(path string) (fs.FileInfo, error)        { return os.Stat(path) }
func (m *meeting) ReadDir(folder string) ([]fs.DirEntry, error) { return os.ReadDir(folder) }
func (m *meeting) Rename(from, to string) error {
	m.before()
	return atomicfile.Rename(from, to)
}
func (m *meeting) Remove(path string) error { return os.Remove(path) }
func (m *meeting) SyncFolder(string) error  { return nil }

// TestSetsTogether lets another writer commit a set of the same names between two renames: it succeeds, and the first writer fails and
// leaves no mixture that loads.
func TestSetsTogether(t *testing.T) {
	for at := range names {
		folder := t.TempDir()
		renames := 0
		m := &meeting{before: func() {
			if renames == at {
				if err := writeSet(nil, folder, "other"); err != nil {
					t.Error(err)
				}
			}
			renames++
		}}
		err := writeSet(m, folder, "mine")
		if at > 0 && (err == nil || !strings.Contains(err.Error(), "another process")) {
			t.Errorf("with another writer before rename %d: %v", at, err)
		}
		if err := checkSet(folder); err != nil {
			t.Error(err)
		}
		if entries, _ := filepath.Glob(filepath.Join(folder, "*.tmp")); len(entries) != 0 {
			t.Errorf("the folder has %v", entries)
		}
	}
}
