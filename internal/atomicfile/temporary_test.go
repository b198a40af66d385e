package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/atomicfile/filetest"
)

// What a killed process leaves is known by its name, and nothing else is.
func TestUnfinished(t *testing.T) {
	folder := t.TempDir()
	var set atomicfile.Set
	defer set.Discard()
	path := filepath.Join(folder, "x.jsonl")
	if _, err := set.Create(path); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("the folder has %v, %v", left, err)
	}
	if got, ok := atomicfile.Unfinished(left[0]); got != path || !ok {
		t.Errorf("%s was to become %q, %v; want %s", left[0], got, ok, path)
	}
	for _, other := range []string{path, path + ".tmp", path + ".part-ABC", path + ".0123456.tmp", path + ".0123456X.tmp", ".01234567.tmp", path + ".01234567.tmp.gz"} {
		if got, ok := atomicfile.Unfinished(other); ok {
			t.Errorf("%s was to become %s", other, got)
		}
	}
}

// A writer removes what killed writers of the same name left a day ago, and nothing else.
func TestLeftFilesAreRemoved(t *testing.T) {
	for _, name := range []string{"file", "a file.with (all) [of] *", "file.01234567.tmp"} {
		folder := t.TempDir()
		t.Chdir(folder)
		now := time.Now()
		left, stay := name+".0123abcd.tmp", []string{name + ".fedcba98.tmp", "other.0123abcd.tmp", name + ".tmp", name + ".0123abcd.tmp.gz", name + ".0123ABCD.tmp"}
		put(t, left, "left")
		for _, other := range stay {
			put(t, other, "not left")
			if other != stay[0] { // which somebody may still write
				os.Chtimes(other, now, now.Add(-1000*time.Hour))
			}
		}
		os.Chtimes(left, now, now.Add(-25*time.Hour))
		os.Chtimes(stay[0], now, now.Add(-23*time.Hour))
		os.Mkdir(name+".00000000.tmp", 0o777)
		os.Chtimes(name+".00000000.tmp", now, now.Add(-1000*time.Hour))
		if err := atomicfile.Write(name, text("new")); err != nil || get(t, name) != "new" {
			t.Error(err)
		}
		if _, err := os.Stat(left); !os.IsNotExist(err) {
			t.Errorf("%s was left a day ago, and is still there", left)
		}
		for _, other := range append(stay, name+".00000000.tmp") {
			if _, err := os.Stat(other); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestEveryStepBesideLeftFiles stops a writer that has something to remove.
func TestEveryStepBesideLeftFiles(t *testing.T) {
	filetest.EveryStep(t, func(folder string) {
		left := filepath.Join(folder, "file.0123abcd.tmp")
		put(t, left, "left")
		if err := os.Chtimes(left, time.Now(), time.Now().Add(-25*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}, func(s atomicfile.System, folder string) error {
		set := atomicfile.Set{System: s}
		defer set.Discard()
		if err := set.Write(filepath.Join(folder, "file"), text("new")); err != nil {
			return err
		}
		return set.Commit()
	}, nil)
}

// unsynced is a System that cannot sync folders.
type unsynced struct{ meeting }

func (*unsynced) SyncFolder(string) error { return fs.ErrInvalid }

// Files that have got their names were written, though nothing says that the names last.
func TestFoldersThatCannotBeSynced(t *testing.T) {
	for _, files := range [][]string{names[:1], names} {
		folder := t.TempDir()
		set := atomicfile.Set{System: &unsynced{meeting{before: func() {}}}}
		for _, name := range files {
			put(t, filepath.Join(folder, name), "old")
			if err := set.Write(filepath.Join(folder, name), text("new")); err != nil {
				t.Fatal(err)
			}
		}
		if err := set.Commit(); err != nil {
			t.Error(err)
		}
		set.Discard()
		for _, name := range files {
			if got := get(t, filepath.Join(folder, name)); got != "new" {
				t.Errorf("%s is %q", name, got)
			}
		}
	}
}
