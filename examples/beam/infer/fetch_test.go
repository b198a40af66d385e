package infer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// faulty is a file system with one file, which comes as a test says.
var faulty struct {
	size  int64  // what it says
	data  string // what comes
	fail  error  // after data
	opens atomic.Int64
}

type faultyFS struct{ filesystem.Interface }

func (faultyFS) Close() error                                { return nil }
func (faultyFS) Size(context.Context, string) (int64, error) { return faulty.size, nil }
func (faultyFS) OpenRead(context.Context, string) (io.ReadCloser, error) {
	faulty.opens.Add(1)
	var end io.Reader = strings.NewReader("")
	if faulty.fail != nil {
		end = failing{}
	}
	return io.NopCloser(io.MultiReader(strings.NewReader(faulty.data), end)), nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, faulty.fail }

func init() {
	filesystem.Register("faulty", func(context.Context) filesystem.Interface { return faultyFS{} })
}

// An address is fetched once, by whoever comes first, and nothing that is not whole is there afterwards.
func TestFetch(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	const address = "faulty://bucket/models/tiny.gguf"
	data := strings.Repeat("weights ", 1000)
	sum := sha256.Sum256([]byte(data))
	want := hex.EncodeToString(sum[:])
	set := func(size int64, text string, err error) { faulty.size, faulty.data, faulty.fail = size, text, err }
	n := int64(len(data))
	cut := errors.New("the connection was cut")
	for _, c := range []struct {
		name string
		size int64
		data string
		fail error
		sum  string
		says string
	}{
		{"cut", n, data[:100], cut, "", "was cut"},
		{"short", n, data[:100], nil, "", "100 bytes came"},
		{"long", n, data + "x", nil, "", "bytes came"},
		{"another", n, strings.ToUpper(data), nil, want, "SHA-256"},
	} {
		set(c.size, c.data, c.fail)
		if file, err := fetch(t.Context(), address, c.sum); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: %q, %v", c.name, file, err)
		}
	}
	set(n, data, nil)
	faulty.opens.Store(0)
	var wg sync.WaitGroup
	var file string
	var mu sync.Mutex
	for range 8 {
		wg.Go(func() {
			f, err := fetch(t.Context(), address, strings.ToUpper(want))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			file = f
			mu.Unlock()
		})
	}
	wg.Wait()
	if faulty.opens.Load() != 1 {
		t.Errorf("it was fetched %d times", faulty.opens.Load())
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != data || filepath.Base(file) != "tiny.gguf" {
		t.Errorf("%s has %d bytes: %v", file, len(got), err)
	}
	if left, _ := filepath.Glob(filepath.Dir(file) + "/*"); len(left) != 2 { // the file and its lock
		t.Errorf("left: %v", left)
	}
	// What a killed process left is removed, and neither a link nor another's file is touched.
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	link, old, other := file+".part", file+".01234567.tmp", filepath.Join(filepath.Dir(file), "mine.01234567.tmp")
	if err := errors.Join(os.Symlink(precious, link), os.WriteFile(old, nil, 0o644), os.WriteFile(other, nil, 0o644), os.Remove(file)); err != nil {
		t.Fatal(err)
	}
	if _, err := fetch(t.Context(), address, want); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(precious); string(got) != "precious" {
		t.Errorf("what a link leads to has %d bytes, %v", len(got), err)
	}
	if left, _ := filepath.Glob(filepath.Dir(file) + "/*"); len(left) != 4 || slices.Contains(left, old) {
		t.Errorf("left: %v", left)
	}
	// If there is a sum, damage is noticed and mended.
	if err := os.WriteFile(file, []byte(strings.ToUpper(data)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := fetch(t.Context(), address, want); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(file); string(got) != data {
		t.Error("a damaged file stays")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fetch(ctx, "faulty://bucket/other.gguf", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: %v", err)
	}
	if _, err := fetch(t.Context(), "nowhere://x", ""); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%v", err)
	}
	if file, err := fetch(t.Context(), "/a/model.gguf", ""); file != "/a/model.gguf" || err != nil {
		t.Errorf("%q, %v", file, err)
	}
}

// Names and URLs are the hub's.
func TestFetchByURL(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	const data = "weights"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "tiny.gguf", time.Unix(1, 0), strings.NewReader(data))
	}))
	defer server.Close()
	sum := sha256.Sum256([]byte(data))
	file, err := fetch(t.Context(), server.URL+"/tiny.gguf", hex.EncodeToString(sum[:]))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != data {
		t.Errorf("%s has %q: %v", file, got, err)
	}
	if _, err := fetch(t.Context(), server.URL+"/tiny.gguf", strings.Repeat("0", 64)); err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("another sum: %v", err)
	}
	t.Setenv("HF_HUB_OFFLINE", "1")
	if _, err := fetch(t.Context(), "hf:nobody/nothing", ""); err == nil || !strings.Contains(err.Error(), "nobody/nothing") {
		t.Errorf("a model that is not there, offline: %v", err)
	}
}
