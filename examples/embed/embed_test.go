package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// embed runs the program and returns what it writes.
func embed(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, notes strings.Builder
	err = run(t.Context(), args, nil, &out, &notes)
	return out.String(), notes.String(), err
}

// must is embed without an error.
func must(t *testing.T, args ...string) string {
	t.Helper()
	out, _, err := embed(t, args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out
}

// write writes a file of a folder, and makes it newer than it was.
func write(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOtherWordsFindTheSentence(t *testing.T) {
	for query, want := range map[string]string{
		"What noise does a dog make?":        "What sound does a cow make?",
		"Thanks a lot!":                      "Thank you for your help.",
		"Order 5, 2, 8 from small to large.": "Sort these numbers: 7, 3, 9.",
	} {
		found := must(t, "-query", query)
		if first, _, _ := strings.Cut(found, "\n"); !strings.HasSuffix(first, want) {
			t.Errorf("%q finds\n%s, want %q first", query, found, want)
		}
	}
}

// A folder is indexed, searched, changed, and indexed again: only what has changed is computed.
func TestIndexAndSearch(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "animals.md", "# Animals\n\nWhat sound does a cow make?\n\n# Words\n\nHow do you say water in Spanish?\n")
	write(t, folder, "deep/er/numbers.txt", "Sort these numbers: 7, 3, 9.\r\n")
	write(t, folder, "deep/copy.txt", "Thank you for your help.")
	write(t, folder, ".hidden/x.txt", "What noise does a dog make?")
	write(t, folder, "node_modules/x.txt", "What noise does a dog make?")
	write(t, folder, "picture.png", "\x89PNG\x00What noise does a dog make?")
	write(t, folder, "large.txt", strings.Repeat("What noise does a dog make?\n", 99))
	if out := must(t, "index", folder, "-size", "2000"); !strings.Contains(out, "4 files with 4 passages; 3 files are new or changed, 0 are gone") {
		t.Errorf("index: %s", out)
	}
	out, notes, err := embed(t, "search", "What noise does a", "dog make?", "-in", folder, "-n", "2", "-context", "1")
	if err != nil || !strings.Contains(notes, "hardly better than chance") {
		t.Errorf("search: %v, %s", err, notes)
	}
	want := []string{"1. ", "animals.md:1-3", "     1  # Animals", "     3  What sound does a cow make?", "     4  ", "\n2. "}
	if at := 0; !slices.IsSortedFunc(want, func(a, b string) int { at = strings.Index(out, a); return at - strings.Index(out, b) }) {
		t.Errorf("search:\n%s\nwant in this order %q", out, want)
	}
	if out := must(t, "index", folder, "-size", "2000"); !strings.Contains(out, "0 files are new or changed, 0 are gone") {
		t.Errorf("index again: %s", out)
	}

	// New times alone, another text, one file more and one less.
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(folder, "animals.md"), later, later); err != nil {
		t.Fatal(err)
	}
	write(t, folder, "deep/er/numbers.txt", "How long is a giraffe's neck?")
	write(t, folder, "new.txt", "Spell the word rabbit.")
	if out := must(t, "search", "Sort 7, 3, 9", "-in", folder); !strings.Contains(out, "(changed since it was indexed)") {
		t.Errorf("a search of an old index:\n%s", out)
	}
	if err := os.Remove(filepath.Join(folder, "deep", "copy.txt")); err != nil {
		t.Fatal(err)
	}
	if out := must(t, "index", folder, "-size", "2000"); !strings.Contains(out, "4 files with 4 passages; 2 files are new or changed, 1 are gone") {
		t.Errorf("index after changes: %s", out)
	}
	if out := must(t, "search", "Spell rabbit.", "-in", folder, "-n", "1"); !strings.Contains(out, "new.txt:1-1") {
		t.Errorf("a search for what is new:\n%s", out)
	}
	if out := must(t, "index", folder, "-size", "2000", "-tokens", "100"); !strings.Contains(out, "3 files are new or changed") {
		t.Errorf("index of other passages: %s", out)
	}
	if out := must(t, "index", folder, "-size", "2000", "-model", "flint"); !strings.Contains(out, "3 files are new or changed") {
		t.Errorf("index of another model: %s", out)
	}

	// The folder above has the index, and the index may lie elsewhere.
	t.Chdir(filepath.Join(folder, "deep"))
	if out := must(t, "search", "Spell rabbit."); !strings.Contains(out, "new.txt:1-1") {
		t.Errorf("a search below:\n%s", out)
	}
	elsewhere := filepath.Join(t.TempDir(), "x")
	must(t, "index", "-index", elsewhere)
	if out := must(t, "search", "giraffe", "-index", elsewhere); !strings.Contains(out, filepath.Join("deep", "er", "numbers.txt")) {
		t.Errorf("a search of an index elsewhere:\n%s", out)
	}
}

// An encoder makes an index, too.
func TestEncoder(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.txt", "The quick brown fox jumps over the lazy dog.\n\nHow much wood would a woodchuck chuck?")
	must(t, "index", folder, "-model", fixture.Path(t, "families/enc-qwen3"), "-tokens", "30")
	if out := must(t, "search", "How much wood would a woodchuck chuck?", "-in", folder, "-n", "1"); !strings.Contains(out, "a.txt:3-3") {
		t.Errorf("search:\n%s", out)
	}
}

// An interrupted run keeps the vectors that it has made.
func TestInterrupted(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		write(t, folder, name, strings.Repeat("Spell the word "+name+". ", 20))
	}
	ctx, cancel := context.WithCancel(t.Context())
	j := &indexing{folder: folder, path: filepath.Join(folder, indexName), tokens: 50, size: defaultSize, stderr: new(strings.Builder)}
	j.model.Backend = "cpu"
	e, err := open(ctx, &j.model, j.stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	cancel()
	x, d, err := j.renew(ctx, false)
	if !errors.Is(err, context.Canceled) || d.computed != 0 || x != nil && len(x.Files) > 0 {
		t.Errorf("%+v, %+v, %v", x, d, err)
	}
	known := &file{Path: "b", Passages: []passage{{1, 2}}, vectors: [][]float32{{1}}}
	x = &index{}
	x.keep([]*file{{Path: "a"}, {Path: "b"}}, map[string]*file{"b": known})
	if len(x.Files) != 1 || x.Files[0] != known {
		t.Errorf("it keeps %+v", x.Files)
	}
}

// Users' mistakes are named.
func TestMistakes(t *testing.T) {
	empty := t.TempDir()
	write(t, empty, indexName, "no index")
	for says, args := range map[string][]string{
		"to search for is missing": {"search"},
		"has no index":             {"search", "x", "-in", t.TempDir()},
		"is no index":              {"search", "x", "-in", empty},
		"an index is of one":       {"index", "a", "b"},
		"must have 8":              {"index", "-tokens", "3"},
		"no such file":             {"index", filepath.Join(empty, "there-is-none")},
		"unexpected argument":      {"find", "x"},
	} {
		if _, _, err := embed(t, args...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want an error with %q", args, err, says)
		}
	}
}

func TestCut(t *testing.T) {
	c := &cutter{tokens: 8, count: func(text string) int { return len(strings.Fields(text)) }} // and one for each line's end
	for name, test := range map[string]struct {
		text string
		want []passage
	}{
		"nothing":                         {"", nil},
		"empty lines":                     {"\n \n\n", nil},
		"paragraphs that fit together":    {"a b\n\nc d", []passage{{1, 3}}},
		"paragraphs that do not":          {"a b c d\n\ne f g h", []passage{{1, 1}, {3, 3}}},
		"a paragraph that is too long":    {"a b c\nd e f\ng h i", []passage{{1, 2}, {3, 3}}},
		"a line that is too long":         {"a\n\n" + strings.Repeat("b ", 20) + "\n\nc", []passage{{1, 1}, {3, 3}, {5, 5}}},
		"headings":                        {"# A\n\na\n\n# B\nb", []passage{{1, 3}, {5, 6}}},
		"headings of headings":            {"# A\n\n## B\n\nb", []passage{{1, 5}}},
		"a heading before what is long":   {"# A\n\na b c d\ne f g h i", []passage{{1, 3}, {4, 4}}},
		"a heading that a file ends with": {"a\n\n# A", []passage{{1, 1}, {3, 3}}},
	} {
		lines, _ := linesOf([]byte(test.text))
		if got := c.cut(lines); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	lines, _ := linesOf([]byte("# A heading\n\na b\n\nc d e\nf"))
	for p, want := range map[passage]string{{3, 3}: "A heading\na b", {1, 3}: "# A heading\n\na b", {5, 6}: "A heading\nc d e\nf"} {
		if got := c.text(lines, p); got != want {
			t.Errorf("%v: got %q, want %q", p, got, want)
		}
	}
	if got := c.text([]string{strings.Repeat("é ", 100)}, passage{1, 1}); c.count(got) > c.tokens || got == "" {
		t.Errorf("a long line becomes %q", got)
	}
}

// An index is read as it was written, and not if a byte of it is another one.
func TestStore(t *testing.T) {
	x := &index{Model: "m", Fingerprint: "f", Tokens: 9, Dimensions: 2, Files: []*file{
		{Path: "a", Size: 1, Modified: time.Now().Truncate(0), Passages: []passage{{1, 2}, {4, 4}}, vectors: [][]float32{{1, 2}, {3, 4}}},
		{Path: "b/c"}, {Path: "d", Passages: []passage{{5, 5}}, vectors: [][]float32{{5, 6}}},
	}}
	path := filepath.Join(t.TempDir(), "index")
	if err := x.write(path); err != nil {
		t.Fatal(err)
	}
	got, err := readIndex(path)
	if err != nil || len(got.Files) != 3 || !got.Files[0].Modified.Equal(x.Files[0].Modified) {
		t.Fatalf("%+v, %v", got, err)
	}
	for n, want := range [][]float32{{1, 2}, {3, 4}, {5, 6}} {
		if !slices.Equal(got.vectors()[n], want) {
			t.Errorf("vector %d is %v, want %v", n, got.vectors()[n], want)
		}
	}
	if f, p := got.at(2); f.Path != "d" || p != (passage{5, 5}) {
		t.Errorf("the last passage is %v of %s", p, f.Path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		bad := slices.Clone(data)
		bad[rng.IntN(len(bad))] ^= byte(1 + rng.IntN(255))
		if _, err := parseIndex(bad); !errors.Is(err, errIndex) {
			t.Fatalf("a changed byte: %v", err)
		}
		if _, err := parseIndex(data[:rng.IntN(len(data))]); !errors.Is(err, errIndex) {
			t.Fatalf("a shorter file: %v", err)
		}
	}
}

// TestTenthsAreTold counts files, for which there are ten lines and not one for each.
func TestTenthsAreTold(t *testing.T) {
	for files, want := range map[int]int{0: 0, 19: 0, 20: 10, 23: 10, 1000: 10} {
		var notes strings.Builder
		told := tenths(&notes, files)
		for i := range files {
			told(i + 1)
		}
		if got := strings.Count(notes.String(), "\n"); got != want || want > 0 && !strings.HasSuffix(notes.String(), fmt.Sprintf("%d of %d files\n", files, files)) {
			t.Errorf("%d files: %q", files, notes.String())
		}
	}
}
