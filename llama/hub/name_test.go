package hub

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	endpoint := &url.URL{Scheme: "http", Host: "mirror:8080", Path: "/hf"}
	for _, c := range []struct {
		name string
		want reference
	}{
		{"hf:owner/name", reference{owner: "owner", name: "name", revision: "main"}},
		{"hf://owner/name/", reference{owner: "owner", name: "name", revision: "main"}},
		{"HF:a-b/Llama-3.2_1B", reference{owner: "a-b", name: "Llama-3.2_1B", revision: "main"}},
		{"hf:owner/name:Q4_K_M", reference{owner: "owner", name: "name", revision: "main", kind: "Q4_K_M"}},
		{"hf:owner/name:UD-Q4_K_XL", reference{owner: "owner", name: "name", revision: "main", kind: "UD-Q4_K_XL"}},
		{"hf:owner/name:Q4_K_M@v1", reference{owner: "owner", name: "name", revision: "v1", kind: "Q4_K_M"}},
		{"hf:owner/name:Q4_K_M@refs/pr/3", reference{owner: "owner", name: "name", revision: "refs/pr/3", kind: "Q4_K_M"}},
		{"hf:owner/name@v1.0:Q4_K_M", reference{owner: "owner", name: "name", revision: "v1.0", kind: "Q4_K_M"}},
		{"hf:owner/name@refs/pr/3/a/b.gguf", reference{owner: "owner", name: "name", revision: "refs/pr/3", file: "a/b.gguf"}},
		{"hf:owner/name@feature%2Fx/b.gguf", reference{owner: "owner", name: "name", revision: "feature/x", file: "b.gguf"}},
		{"hf:owner/name/a b/c.gguf@v1", reference{owner: "owner", name: "name", revision: "v1", file: "a b/c.gguf"}},
		{"https://huggingface.co/owner/name", reference{owner: "owner", name: "name", revision: "main"}},
		{"https://hf.co/owner/name/blob/main/a/b.gguf?download=true#L1", reference{owner: "owner", name: "name", revision: "main", file: "a/b.gguf"}},
		{"https://huggingface.co/owner/name/resolve/refs%2Fpr%2F1/b.gguf", reference{owner: "owner", name: "name", revision: "refs/pr/1", file: "b.gguf"}},
		{"https://huggingface.co/owner/name/tree/refs/pr/1", reference{owner: "owner", name: "name", revision: "refs/pr/1"}},
		{"http://mirror:8080/hf/owner/name/resolve/v1/b.gguf", reference{owner: "owner", name: "name", revision: "v1", file: "b.gguf"}},
	} {
		got, err := parseName(c.name, endpoint)
		if err != nil || *got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
	for _, name := range []string{
		"http://mirror:8080/owner/model.gguf", "http://mirror:8080/hf/owner/model.gguf", "https://example.org/a/resolve/main/b.gguf?x=1",
		"https://example.org/b.gguf#sha256=" + strings.Repeat("0a", 32),
	} {
		if got, err := parseName(name, endpoint); err != nil || got.url == nil || got.owner != "" {
			t.Errorf("%s: %+v, %v; want a URL", name, got, err)
		}
	}
	for _, name := range []string{
		"hf:", "hf:name", "hf:/name", "hf:owner/", "hf:owner//x", "hf:../name", "hf:owner/..", "hf:owner/a--b", "hf:owner/a..b", "hf:owner/name.git", "hf:owner/-name",
		"hf:owner/name:", "hf:owner/name:a b", "hf:owner/name:../x", "hf:owner/name@", "hf:owner/name@../x", "hf:owner/name@a/../b", "hf:owner/name@a b", "hf:owner/name@%2e%2e",
		"hf:owner/name/../x", "hf:owner/name//x", "hf:owner/name/x/", `hf:owner/name/..\x`, "hf:owner/name/C:x", "hf:owner/name/a\x00b", "hf:owner/name?x",
		"hf:" + strings.Repeat("a", 97) + "/b", "hf:owner/" + strings.Repeat("a/", 3000), "hf:owner/name:Q4_K_M:x", "hf:owner/name@.lock",
		"https://", "https://host", "https://host/", "https://host/..", "https://host/model.gguf#sha256=12", "https://huggingface.co/owner",
		"https://huggingface.co/datasets/owner/name", "https://huggingface.co/owner/name/commit/main", "http://%zz/x.gguf",
	} {
		got, err := parseName(name, endpoint)
		var wrong *NameError
		if !errors.As(err, &wrong) {
			t.Errorf("%q: %+v, %v; want a NameError", name, got, err)
		}
	}
}

func TestBase(t *testing.T) {
	for name, want := range map[string]string{
		"a/b.gguf": "b.gguf", "hf:owner/name": "name", "hf:owner/name:q8_0@v1": "name:q8_0", "hf:owner/name@v1/a/b.gguf": "b.gguf",
		"https://host/a/b.gguf?token=x": "b.gguf", "hf:": "hf:",
	} {
		if got := Base(filepath.FromSlash(name)); name[0] == 'a' && got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		} else if got := Base(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// FuzzNames looks at what names may become: paths in the cache's folder, and no others.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"hf:owner/name", "hf:owner/name@refs/pr/1/a.gguf", "hf:owner/name:Q4_K_M@x", "https://huggingface.co/a/b/blob/main/c.gguf", "https://h/a%2Fb.gguf#sha256=00"} {
		f.Add(name)
	}
	s := &settings{cache: "/cache", downloads: "/downloads"}
	f.Fuzz(func(t *testing.T, name string) {
		endpoint := &url.URL{Scheme: "http", Host: "mirror"}
		r, err := parseName(name, endpoint)
		if err != nil {
			var wrong *NameError
			if !errors.As(err, &wrong) {
				t.Errorf("%q: %v", name, err)
			}
			return
		}
		Base(name)
		if r.url != nil {
			if base := filepath.Base(r.url.Path); !filepath.IsLocal(base) || base == "." {
				t.Errorf("%q is kept as %q", name, base)
			}
			return
		}
		repo := newRepository(s, r)
		for _, path := range []string{repo.ref(r.revision), repo.snapshot("commit", r.file)} {
			if below, err := filepath.Rel("/cache/models--"+r.owner+"--"+r.name, path); err != nil || !filepath.IsLocal(below) {
				t.Errorf("%q leads to %s", name, path)
			}
		}
	})
}
