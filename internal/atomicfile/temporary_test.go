package atomicfile_test

import (
	"path/filepath"
	"testing"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
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
