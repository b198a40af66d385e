package hub

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/hubtest"
)

// golden is a repository. testdata/cache.txt and testdata/tree.json show its cache as Python's library made it.
func golden() map[string][]byte {
	return map[string][]byte{
		"README.md": []byte("# hi"), "config.json": []byte(`{"model_type":"llama"}`), "sub/x.gguf": bytes.Repeat([]byte("GGUF"), 600),
		"model.safetensors.index.json":     []byte(`{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`),
		"model-00001-of-00002.safetensors": bytes.Repeat([]byte("a"), 2000), "model-00002-of-00002.safetensors": bytes.Repeat([]byte("b"), 1500),
	}
}

// goldenLines returns the lines of testdata/cache.txt: a letter for folders, files and links, the path, and a link's target.
func goldenLines(t *testing.T) (lines []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/cache.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// linking returns why there are no symbolic links: on Windows they need a privilege.
func linking(t *testing.T) error { return os.Symlink("x", filepath.Join(t.TempDir(), "y")) }

// canLink skips the test if there are no symbolic links.
func canLink(t *testing.T) {
	t.Helper()
	if err := linking(t); err != nil {
		t.Skip(err)
	}
}

// TestLinksThatLeadNowhere has the snapshots in a folder elsewhere, which a link leads to: links out of it, which go by "..", do not lead to
// the blobs.
func TestLinksThatLeadNowhere(t *testing.T) {
	canLink(t)
	s, o := newServer(t)
	files := folderModel()
	s.Put("me/small", "main", files)
	repo := filepath.Join(o.Cache, "models--me--small")
	if err := os.MkdirAll(repo, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(repo, "snapshots")); err != nil {
		t.Fatal(err)
	}
	path, err := Get(t.Context(), "hf:me/small", o)
	if err != nil {
		t.Fatal(err)
	}
	checkFiles(t, path, files, needed...)
}

// TestCacheIsPythons fetches every file of a repository: the cache is laid out as Python's library lays it out.
func TestCacheIsPythons(t *testing.T) {
	canLink(t)
	s, o := newServer(t)
	s.Put("me/gold", "main", golden())
	for _, name := range []string{"hf:me/gold", "hf:me/gold/README.md", "hf:me/gold/sub/x.gguf"} {
		if _, err := Get(t.Context(), name, o); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	err := filepath.WalkDir(o.Cache, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == o.Cache {
			return err
		}
		name, err := filepath.Rel(o.Cache, path)
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir():
			lines = append(lines, "d "+name)
		case d.Type().IsRegular():
			lines = append(lines, "f "+name)
		default:
			target, err := os.Readlink(path)
			lines = append(lines, fmt.Sprintf("l %s %s", name, filepath.ToSlash(target)))
			return err
		}
		return err
	})
	slices.Sort(lines)
	if want := goldenLines(t); err != nil || !slices.Equal(lines, want) {
		t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	want, _ := os.ReadFile("testdata/tree.json")
	trees, _ := filepath.Glob(filepath.Join(o.Cache, "*", "trees", "*"))
	if len(trees) != 1 {
		t.Fatal(trees)
	}
	if got, err := os.ReadFile(trees[0]); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, listing\n%s", err, got)
	}
}

// TestPythonsCacheIsRead makes a cache as Python's library lays it out, and takes models from it.
func TestPythonsCacheIsRead(t *testing.T) {
	canLink(t)
	for _, tree := range []bool{true, false} { // older versions keep no listing
		s, o := newServer(t)
		commit := ""
		for _, line := range goldenLines(t) {
			fields := strings.Fields(line)
			path := filepath.Join(o.Cache, filepath.FromSlash(fields[1]))
			var err error
			switch {
			case fields[0] == "d" && (tree || filepath.Base(path) != "trees"):
				err = os.MkdirAll(path, 0o777)
				if filepath.Base(filepath.Dir(path)) == "snapshots" {
					commit = filepath.Base(path)
				}
			case fields[0] == "l":
				err = os.Symlink(filepath.FromSlash(fields[2]), path)
			case filepath.Base(filepath.Dir(path)) == "blobs":
				for _, data := range golden() {
					if sum := filepath.Base(path); sum == hubtest.GitSum(data) || sum == hubtest.SHA256(data) {
						err = os.WriteFile(path, data, 0o666)
					}
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		repo := filepath.Join(o.Cache, "models--me--gold")
		if err := os.WriteFile(filepath.Join(repo, "refs", "main"), []byte(commit), 0o666); err != nil {
			t.Fatal(err)
		}
		if tree {
			data, _ := os.ReadFile("testdata/tree.json")
			if err := os.WriteFile(filepath.Join(repo, "trees", commit+".json"), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, offline := range []bool{true, false} {
			o.Offline = offline
			if !offline {
				if got := s.Put("me/gold", "main", golden()); got != commit {
					t.Fatalf("the commit is %s, want %s", got, commit)
				}
			}
			for name, want := range map[string]string{"hf:me/gold": "", "hf:me/gold@" + commit: "", "hf:me/gold/sub/x.gguf": "sub/x.gguf"} {
				path, err := Get(t.Context(), name, o)
				if want := filepath.Join(repo, "snapshots", commit, filepath.FromSlash(want)); err != nil || path != want {
					t.Errorf("%s: %s, %v; want %s", name, path, err, want)
				}
			}
		}
		for _, r := range s.Requests() {
			if strings.Contains(r.Path, "/resolve/") {
				t.Errorf("%+v, though everything is there", r)
			}
		}
	}
}
