package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/hubtest"
)

// fileServer serves files with a version that may change.
type fileServer struct {
	*httptest.Server
	mu       sync.Mutex // guards what a test changes while requests may still be answered
	files    map[string][]byte
	version  atomic.Value // of all files; "": the server sends no version
	requests atomic.Int64
	around   func(http.Handler) http.Handler
}

func newFileServer(t *testing.T, files map[string][]byte) *fileServer {
	s := &fileServer{files: files}
	s.version.Store("1")
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		serve := http.Handler(http.HandlerFunc(s.serve))
		s.mu.Lock()
		around := s.around
		s.mu.Unlock()
		if around != nil {
			serve = around(serve)
		}
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// change changes what the server does while it runs.
func (s *fileServer) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *fileServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	data, ok := s.files[strings.TrimPrefix(r.URL.Path, "/")]
	s.mu.Unlock()
	if !ok || r.Header.Get("Authorization") != "" {
		http.NotFound(w, r)
		return
	}
	if v := s.version.Load().(string); v != "" {
		w.Header().Set("ETag", `"`+v+`"`)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func TestURLs(t *testing.T) {
	_, o := newServer(t)
	t.Setenv("HF_TOKEN", "hf_secret") // which nobody but the hub gets
	files := map[string][]byte{"a/one.gguf": noise(100_000, 1), "a/big-00001-of-00003.gguf": noise(50_000, 2), "a/big-00002-of-00003.gguf": noise(50_001, 3), "a/big-00003-of-00003.gguf": noise(7, 4)}
	s := newFileServer(t, files)
	path, err := Get(t.Context(), s.URL+"/a/one.gguf?signature=secret", o)
	if err != nil || filepath.Base(path) != "one.gguf" {
		t.Fatal(path, err)
	}
	checkFiles(t, filepath.Dir(path), map[string][]byte{"one.gguf": files["a/one.gguf"]}, "one.gguf")
	if known, err := os.ReadFile(filepath.Dir(path) + ".state/one.gguf.json"); err != nil || bytes.Contains(known, []byte("secret")) {
		t.Errorf("%s, %v", known, err)
	}
	s.requests.Store(0)
	if again, err := Get(t.Context(), s.URL+"/a/one.gguf?signature=secret", o); again != path || err != nil || s.requests.Load() != 1 {
		t.Errorf("again: %s, %v after %d requests", again, err, s.requests.Load())
	}
	if other, err := Get(t.Context(), s.URL+"/a/one.gguf?id=2", o); other == path || err != nil {
		t.Errorf("what may be another file is kept in the same place: %s, %v", other, err)
	}
	for _, number := range []string{"00001", "00002"} {
		path, err := Get(t.Context(), s.URL+"/a/big-"+number+"-of-00003.gguf", o)
		if err != nil || filepath.Base(path) != "big-00001-of-00003.gguf" {
			t.Fatal(path, err)
		}
		for name, data := range files {
			if base := filepath.Base(name); strings.HasPrefix(base, "big") {
				checkFiles(t, filepath.Dir(path), map[string][]byte{base: data}, base)
			}
		}
	}
	// A file that has changed is fetched again, and one of a server that is away stays.
	s.change(func() { s.files = map[string][]byte{"a/one.gguf": noise(100_000, 9)} })
	s.version.Store("2")
	if path, err = Get(t.Context(), s.URL+"/a/one.gguf", o); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, filepath.Dir(path), map[string][]byte{"one.gguf": s.files["a/one.gguf"]}, "one.gguf")
	s.Close()
	offline := *o
	offline.Offline = true
	for _, o := range []*Options{o, &offline} {
		if again, err := Get(t.Context(), s.URL+"/a/one.gguf", o); again != path || err != nil {
			t.Errorf("away: %s, %v", again, err)
		}
		if _, err := Get(t.Context(), s.URL+"/a/other.gguf", o); err == nil {
			t.Error("a file that was never there")
		}
	}
}

func TestURLsWithChecksums(t *testing.T) {
	_, o := newServer(t)
	data := noise(100_000, 1)
	s := newFileServer(t, map[string][]byte{"one.gguf": data})
	var damaged *damagedError
	if _, err := Get(t.Context(), s.URL+"/one.gguf#sha256="+strings.Repeat("0", 64), o); !errors.As(err, &damaged) {
		t.Errorf("a wrong checksum: %v", err)
	}
	name := s.URL + "/one.gguf#sha256=" + strings.ToUpper(hubtest.SHA256(data))
	path, err := Get(t.Context(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	checkFiles(t, filepath.Dir(path), map[string][]byte{"one.gguf": data}, "one.gguf")
	s.Close()
	if again, err := Get(t.Context(), name, o); again != path || err != nil {
		t.Errorf("what is there and right needs no server: %s, %v", again, err)
	}
}

// TestURLThatChangesIsNotMixed changes a file in the middle.
func TestURLThatChangesIsNotMixed(t *testing.T) {
	_, o := newServer(t)
	s := newFileServer(t, map[string][]byte{"one.gguf": noise(300_000, 1)})
	o.tuning.tell = 1
	o.Progress = func(done, _ int64) {
		if done > 100_000 {
			s.version.Store("2")
		}
	}
	var changed *changedError
	if path, err := Get(t.Context(), s.URL+"/one.gguf", o); !errors.As(err, &changed) {
		t.Fatal(path, err)
	}
	s.change(func() { s.files = map[string][]byte{"one.gguf": noise(300_000, 2)} })
	path, err := Get(t.Context(), s.URL+"/one.gguf", o)
	if err != nil {
		t.Fatal(err)
	}
	checkFiles(t, filepath.Dir(path), s.files, "one.gguf")
}

// TestInterruptedURLs go on if the server sends versions, and begin again if it does not.
func TestInterruptedURLs(t *testing.T) {
	for _, version := range []string{"1", ""} {
		_, o := newServer(t)
		s := newFileServer(t, map[string][]byte{"one.gguf": noise(300_000, 1)})
		s.version.Store(version)
		ctx, cancel := context.WithCancel(t.Context())
		o.tuning.tell = 1
		o.Progress = func(done, _ int64) {
			if done > 100_000 {
				cancel()
			}
		}
		if _, err := Get(ctx, s.URL+"/one.gguf", o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		first := int64(-1)
		o.Progress = func(done, _ int64) {
			if first < 0 {
				first = done
			}
		}
		path, err := Get(t.Context(), s.URL+"/one.gguf", o)
		if err != nil {
			t.Fatal(err)
		}
		checkFiles(t, filepath.Dir(path), s.files, "one.gguf")
		if resumed := first > 100_000; resumed != (version != "") {
			t.Errorf("with the version %q it went on from %d", version, first)
		}
	}
}

func TestURLsOfUnknownLength(t *testing.T) {
	_, o := newServer(t)
	s := newFileServer(t, nil)
	s.change(func() {
		s.around = func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Write([]byte("GGUF"))
				http.NewResponseController(w).Flush()
				w.Write([]byte("more"))
			})
		}
	})
	if path, err := Get(t.Context(), s.URL+"/one.gguf", o); err == nil || !strings.Contains(err.Error(), "how long") {
		t.Errorf("%s, %v", path, err)
	}
}

// TestServerCannotVouchForItself has a server with other files named like this package's notes on a file, now or earlier. Their content
// would make the wrong bytes pass for those of a checksum.
func TestServerCannotVouchForItself(t *testing.T) {
	_, o := newServer(t)
	good, evil := noise(30_000, 1), noise(30_000, 2)
	s := newFileServer(t, map[string][]byte{"a.gguf": evil})
	known := fmt.Appendf(nil, `{"url":%q,"version":"ETag \"1\"","size":%d,"sha256":%q}`, s.URL+"/a.gguf", len(evil), hubtest.SHA256(good))
	notes := map[string][]byte{
		"a.gguf.json": known, "a.gguf.lock": nil, "a.gguf" + journalSuffix: []byte(`{"version":"","size":30000,"have":[[0,30000]]}`),
		"a.gguf.antigravity.incomplete": evil, "a.gguf.state": known, "a.gguf.state.json": known, ".json": known,
	}
	s.change(func() {
		for name, data := range notes {
			s.files[name] = data
		}
	})
	var damaged *damagedError
	for name := range notes {
		for _, file := range []string{"a.gguf", name} {
			if _, err := Get(t.Context(), s.URL+"/"+file, o); err != nil {
				t.Fatal(err)
			}
		}
		if path, err := Get(t.Context(), s.URL+"/a.gguf#sha256="+hubtest.SHA256(good), o); !errors.As(err, &damaged) {
			t.Errorf("after %s: %s, %v", name, path, err)
		}
	}
}

// TestChangedFileIsNotBelieved changes a file that was fetched, and keeps its size.
func TestChangedFileIsNotBelieved(t *testing.T) {
	for _, sum := range []bool{true, false} {
		_, o := newServer(t)
		data := noise(30_000, 1)
		s := newFileServer(t, map[string][]byte{"a.gguf": data})
		name := s.URL + "/a.gguf"
		if sum {
			name += "#sha256=" + hubtest.SHA256(data)
		}
		path, err := Get(t.Context(), name, o)
		if err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, old, old); err != nil { // the bytes are those that arrived
			t.Fatal(err)
		}
		s.requests.Store(0)
		if _, err := Get(t.Context(), name, o); err != nil || s.requests.Load() > 1 {
			t.Errorf("a file of another time: %v after %d requests", err, s.requests.Load())
		}
		if err := os.WriteFile(path, noise(30_000, 2), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Get(t.Context(), name, o); err != nil {
			t.Error(err)
		}
		checkFiles(t, filepath.Dir(path), s.files, "a.gguf")
	}
}

// TestURLsWithoutVersion has a server that says nothing of a file but its size, and then has another one of that size.
func TestURLsWithoutVersion(t *testing.T) {
	_, o := newServer(t)
	s := newFileServer(t, map[string][]byte{"a.gguf": noise(30_000, 1)})
	s.version.Store("")
	for seed := range uint64(2) {
		s.change(func() { s.files = map[string][]byte{"a.gguf": noise(30_000, seed)} })
		path, err := Get(t.Context(), s.URL+"/a.gguf", o)
		if err != nil {
			t.Fatal(err)
		}
		checkFiles(t, filepath.Dir(path), s.files, "a.gguf")
	}
	s.Close()
	if _, err := Get(t.Context(), s.URL+"/a.gguf", o); err != nil {
		t.Errorf("the server is away: %v", err)
	}
}
