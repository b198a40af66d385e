package hub

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/effort"
)

// keptNames returns the names of what the cache has, and a mark behind those that are not whole.
func keptNames(t *testing.T, o *Options) (names []string) {
	t.Helper()
	kept, err := List(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kept {
		name := k.Name
		if !k.Whole {
			name += " (in part)"
		}
		names = append(names, name)
	}
	return names
}

// cacheBytes returns the size of all files in the cache.
func cacheBytes(t *testing.T, o *Options) (n int64) {
	t.Helper()
	for _, folder := range []string{o.Cache, o.Downloads} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && (strings.Contains(path, "blobs") || strings.Contains(path, "snapshots")) {
				info, err := d.Info()
				n += info.Size()
				return err
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return n
}

// fetchAll fetches models, and returns their paths.
func fetchAll(t *testing.T, o *Options, names ...string) (paths []string) {
	t.Helper()
	for _, name := range names {
		path, err := Get(t.Context(), name, o)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func TestListNamesWhatGetFetched(t *testing.T) {
	for _, links := range []string{"", "1"} {
		s, o := newServer(t)
		t.Setenv("HF_HUB_DISABLE_SYMLINKS", links)
		if names := keptNames(t, o); len(names) > 0 {
			t.Errorf("an empty cache has %v", names)
		}
		s.Put("me/small", "main", folderModel())
		s.Put("me/small-GGUF", "main", quantised())
		s.Put("me/small-GGUF", "feature/x", map[string][]byte{"one.gguf": []byte("GGUF of a branch")})
		old := s.Put("me/moving", "main", map[string][]byte{"a-Q8_0.gguf": noise(100, 20), "b-Q8_0.gguf": noise(100, 21)})
		want := []string{"hf:me/moving/a-Q8_0.gguf", "hf:me/small", "hf:me/small-GGUF/one.gguf@feature/x", "hf:me/small-GGUF:F16", "hf:me/small-GGUF:Q4_K_M"}
		paths := fetchAll(t, o, want...)
		if names := keptNames(t, o); !slices.Equal(names, want) {
			t.Errorf("the list is %v, want %v", names, want)
		}
		kept, err := List(o)
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range kept {
			if k.Path != paths[i] || k.Modified.IsZero() {
				t.Errorf("%+v, want the path %s", k, paths[i])
			}
		}
		if kept[3].Bytes != 200_001 || kept[4].Bytes != 202_002 {
			t.Errorf("%+v: sizes", kept)
		}
		s.Put("me/moving", "main", map[string][]byte{"a-Q8_0.gguf": noise(100, 22)})
		fetchAll(t, o, "hf:me/moving")
		if names := keptNames(t, o); !slices.Contains(names, "hf:me/moving:Q8_0") || !slices.Contains(names, "hf:me/moving/a-Q8_0.gguf@"+old) {
			t.Errorf("of a branch that moved the list is %v", names)
		}
		// Each name of the list is one that Get reads, and one that Remove removes: in the end nothing is left.
		o.Offline = true
		for _, name := range keptNames(t, o) {
			if _, err := Get(t.Context(), name, o); err != nil {
				t.Error(err)
			}
		}
		for _, name := range keptNames(t, o) {
			before := cacheBytes(t, o)
			freed, err := Remove(t.Context(), name, o)
			if err != nil || freed == 0 || cacheBytes(t, o) != before-freed {
				t.Errorf("%s: %d bytes are free, of %d there are %d: %v", name, freed, before, cacheBytes(t, o), err)
			}
			if names := keptNames(t, o); slices.Contains(names, name) {
				t.Errorf("%s is still in %v", name, names)
			}
		}
		if n := cacheBytes(t, o); n != 0 {
			t.Errorf("%d bytes are left", n)
		}
		if left, _ := filepath.Glob(filepath.Join(o.Cache, "models--*")); left != nil {
			t.Errorf("folders are left: %v", left)
		}
	}
}

// TestRemoveLeavesWhatOthersUse has branches with a file in common, at different commits and at the same one.
func TestRemoveLeavesWhatOthersUse(t *testing.T) {
	canLink(t)
	s, o := newServer(t)
	shared, own := noise(70_000, 30), noise(50_000, 31)
	s.Put("me/two", "main", map[string][]byte{"a.gguf": shared})
	s.Put("me/two", "same", map[string][]byte{"a.gguf": shared})
	s.Put("me/two", "dev", map[string][]byte{"a.gguf": shared, "b.gguf": own})
	paths := fetchAll(t, o, "hf:me/two", "hf:me/two@same", "hf:me/two/a.gguf@dev", "hf:me/two/b.gguf@dev")
	for _, step := range []struct {
		name  string
		freed int64
		fails bool
		left  []string // paths that must be there
	}{
		{"hf:me/two@dev", 50_000, false, paths[:2]},
		{"hf:me/two@dev", 0, true, paths[:2]},
		{"hf:me/two:Q8_0", 0, true, paths[:2]},
		{"hf:me/other", 0, true, paths[:2]},
		{"hf:me/two@" + strings.Repeat("0", 40), 0, true, paths[:2]},
		{"hf:me/two/a.gguf", 0, true, paths[:2]}, // which same has, too
		{"hf:me/two@same", 0, false, paths[:1]},
		{"hf:me/two", 70_000, false, nil},
		{"hf:me/two", 0, true, nil},
	} {
		freed, err := Remove(t.Context(), step.name, o)
		if freed != step.freed || (err != nil) != step.fails {
			t.Errorf("%s: %d bytes, %v; want %d", step.name, freed, err, step.freed)
		}
		for _, path := range step.left {
			if data, err := os.ReadFile(path); err != nil || len(data) != len(shared) {
				t.Errorf("after %s: %v", step.name, err)
			}
		}
	}
}

func TestRemoveOfUnfinishedFiles(t *testing.T) {
	s, o := newServer(t)
	s.Put("me/cut", "main", map[string][]byte{"a.gguf": noise(300_000, 40)})
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(done, total int64) {
		if done > 0 {
			cancel()
		}
	}
	o.tuning.tell = 1
	if _, err := Get(ctx, "hf:me/cut", o); err == nil {
		t.Skip("the file came before the interruption")
	}
	if names := keptNames(t, o); !slices.Equal(names, []string{"hf:me/cut (in part)"}) {
		t.Errorf("the list is %v", names)
	}
	if _, err := Remove(t.Context(), "hf:me/cut", o); err != nil {
		t.Error(err)
	}
	if names := keptNames(t, o); len(names) > 0 {
		t.Errorf("the list is %v", names)
	}
}

func TestRemoveOfURLsAndOfPaths(t *testing.T) {
	s, o := newServer(t)
	s.Put("me/small", "main", map[string][]byte{"a.gguf": []byte("GGUF")})
	if _, err := Remove(t.Context(), "a.gguf", o); !errors.As(err, new(*NameError)) {
		t.Errorf("a path: %v", err)
	}
	if _, err := Remove(t.Context(), "https://localhost/a.gguf", o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a URL that was not fetched: %v", err)
	}
	if _, err := Remove(t.Context(), "hf:me/small", o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a model that was not fetched: %v", err)
	}
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Unix(1, 0), strings.NewReader("GGUF of a server"))
	}))
	defer files.Close()
	name := files.URL + "/a.gguf"
	path := fetchAll(t, o, name)[0]
	if freed, err := Remove(t.Context(), name, o); err != nil || freed < 16 {
		t.Errorf("%d bytes, %v", freed, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// TestRemoveOfRandomCaches makes caches of branches that share files and commits, and that move, and removes what List names in any order:
// each removal frees what it says, and leaves the others whole.
func TestRemoveOfRandomCaches(t *testing.T) {
	effort.Turn(t, 8)
	for seed := range uint64(3) {
		s, o := newServer(t)
		if seed%3 == 2 {
			t.Setenv("HF_HUB_DISABLE_SYMLINKS", "1")
		}
		random := rand.New(rand.NewPCG(seed, 7))
		for range 8 {
			files := map[string][]byte{}
			for i := range uint64(4) {
				if random.IntN(2) == 0 {
					files[[]string{"a-Q8_0.gguf", "b/c-F16.gguf", "b@d.gguf", "q8_0-00001-of-00001.gguf"}[i]] = noise(2000+int(i), random.Uint64N(3))
				}
			}
			if random.IntN(3) == 0 {
				maps.Copy(files, folderModel())
			}
			branch := []string{"main", "v1.0", "feature/x", "refs/pr/3"}[random.IntN(4)]
			s.Put("me/random", branch, files)
			r := &reference{owner: "me", name: "random", revision: branch}
			for name := range files {
				if r.file = name; strings.HasSuffix(name, ".gguf") && random.IntN(2) == 0 {
					fetchAll(t, o, r.text())
				}
			}
			if r.file = ""; files["config.json"] != nil {
				fetchAll(t, o, r.text())
			}
		}
		o.Offline = true
		for steps := 0; ; steps++ {
			kept, err := List(o)
			if err != nil || steps > 100 {
				t.Fatalf("after %d steps: %v, %v", steps, kept, err)
			}
			if len(kept) == 0 {
				t.Logf("seed %d: %d removals", seed, steps)
				break
			}
			for _, k := range kept {
				if path, err := Get(t.Context(), k.Name, o); err != nil || path != k.Path || !k.Whole {
					t.Errorf("seed %d: %s is %s, %v; want %s", seed, k.Name, path, err, k.Path)
				}
			}
			before := cacheBytes(t, o)
			k := kept[random.IntN(len(kept))]
			freed, err := Remove(t.Context(), k.Name, o)
			if err != nil { // another branch is at the commit: the name without a file removes the branch
				r, nameErr := parseName(k.Name, nil)
				if nameErr != nil || r.file == "" && r.kind == "" {
					t.Fatalf("seed %d: %s: %v", seed, k.Name, err)
				}
				r.file, r.kind = "", ""
				freed, err = Remove(t.Context(), r.text(), o)
			}
			if after := cacheBytes(t, o); err != nil || before-after != freed {
				t.Fatalf("seed %d: %s: %d bytes are free, of %d there are %d: %v", seed, k.Name, freed, before, after, err)
			}
		}
		if n := cacheBytes(t, o); n != 0 {
			t.Errorf("seed %d: %d bytes are left", seed, n)
		}
	}
}
