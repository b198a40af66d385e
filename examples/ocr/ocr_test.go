package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// scans returns a folder with three pages that Opal can read, one of them in a folder within.
func scans(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, from := range map[string]string{"1.png": "image.0.0.png", "2.PNG": "image.6.0.png", "sub/3.png": "image.21.0.png"} {
		data, err := os.ReadFile(fixture.Path(t, "opal/"+from))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, name), data)
	}
	put(t, filepath.Join(dir, "notes.txt"), []byte("no page"))
	put(t, filepath.Join(dir, ".hidden", "4.png"), []byte("no page"))
	return dir
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// texts returns all files in a folder, by their names in it.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return all
}

// Pages become texts, and those with a text are not read again unless they have changed; a page that cannot be read does not stop the others.
func TestPages(t *testing.T) {
	in, out := scans(t), filepath.Join(t.TempDir(), "text")
	var w strings.Builder
	if err := run(t.Context(), []string{"-out", out, in}, &w); err != nil {
		t.Fatalf("%v\n%s", err, &w)
	}
	want := map[string]string{"1.png.md": "ZgqLimitat\n", "2.PNG.md": "$7\n", "sub/3.png.md": "24/10/1951\n"}
	got := texts(t, out)
	if len(got) != len(want) {
		t.Errorf("the texts are %q", got)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
	}
	if !strings.Contains(w.String(), "[3/3] ") {
		t.Errorf("the progress is %q", &w)
	}

	put(t, filepath.Join(out, "1.png.md"), []byte("corrected by hand"))
	if err := os.Chtimes(filepath.Join(in, "2.PNG"), time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(in, "5.png"), []byte("\x89PNG, but not for long"))
	w.Reset()
	err := run(t.Context(), []string{"-out", out, in}, &w)
	if err == nil || !strings.Contains(err.Error(), "1 of 2 pages") || !strings.Contains(w.String(), "5.png: ") || !strings.Contains(w.String(), "2 of 4 pages are done already") {
		t.Errorf("%v\n%s", err, &w)
	}
	if got := texts(t, out); len(got) != 3 || got["1.png.md"] != "corrected by hand" {
		t.Errorf("the texts are %q", got)
	}
}

// A program that is stopped leaves nothing half done.
func TestStopped(t *testing.T) {
	in, out := scans(t), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	first := writer(func(line string) { cancel() }) // after the first page
	err := run(ctx, []string{"-parallel", "1", "-out", out, in}, first)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 of 3 pages are done") {
		t.Fatal(err)
	}
	if got := texts(t, out); len(got) != 1 || got["1.png.md"] == "" {
		t.Errorf("the texts are %q", got)
	}
}

type writer func(line string)

func (w writer) Write(b []byte) (int, error) { w(string(b)); return len(b), nil }

func TestUnclear(t *testing.T) {
	in := scans(t)
	for name, args := range map[string][]string{
		"no pages":                {},
		"no such page":            {filepath.Join(in, "9.png")},
		"the same text":           {"-out", t.TempDir(), filepath.Join(in, "1.png"), filepath.Join(in, "sub", "..", "sub"), filepath.Join(in, ".hidden", "..", "1.png"), scans(t)},
		"a text that is too long": {"-out", t.TempDir(), "-max-tokens", "1", filepath.Join(in, "1.png")},
	} {
		if err := run(t.Context(), args, writer(func(string) {})); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
