package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/hubtest"
)

// noise returns bytes that look like no others.
func noise(n int, seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// folderModel is a repository with a folder in two shards, and files that nobody needs.
func folderModel() map[string][]byte {
	return map[string][]byte{
		".gitattributes": []byte("*.safetensors lfs"), "README.md": []byte("# Model"), "original/consolidated.00.pth": noise(50_000, 1),
		"config.json": []byte(`{"model_type":"llama"}`), "tokenizer.json": noise(3_000, 2), "tokenizer_config.json": []byte(`{}`),
		"model.safetensors.index.json":     []byte(`{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`),
		"model-00001-of-00002.safetensors": noise(300_000, 3), "model-00002-of-00002.safetensors": noise(123_457, 4), "pytorch_model.bin": noise(5_000, 5),
		"modules.json": []byte(`[]`), "1_Pooling/config.json": []byte(`{"pooling_mode_cls_token":true}`), "2_Dense/model.safetensors": noise(400, 6),
	}
}

// needed are the files of folderModel that loading reads.
var needed = []string{"config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json",
	"tokenizer.json", "tokenizer_config.json", "modules.json", "1_Pooling/config.json", "2_Dense/model.safetensors"}

// quantised is a repository of GGUF files.
func quantised() map[string][]byte {
	return map[string][]byte{
		"README.md": []byte("# GGUF"), "config.json": []byte(`{}`), "Small-1B-Q4_K_M.gguf": noise(200_000, 6), "Small-1B-Q8_0.gguf": noise(300_000, 7),
		"Small-1B-Q4_0_4_4.gguf": noise(2_000, 8), "Small-1B-Q4_0.gguf": noise(2_001, 9), "mmproj-Small-1B-Q8_0.gguf": noise(2_002, 10),
		"F16/Small-1B-F16-00001-of-00002.gguf": noise(100_000, 11), "F16/Small-1B-F16-00002-of-00002.gguf": noise(100_001, 12),
	}
}

// newServer starts a hub, and returns options for it with small pieces, short times and a cache of their own.
func newServer(t testing.TB) (*hubtest.Server, *Options) {
	for _, variable := range []string{"HF_ENDPOINT", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE", "HF_HUB_DISABLE_SYMLINKS"} {
		t.Setenv(variable, "")
	}
	t.Setenv("HF_HOME", t.TempDir())
	s := hubtest.New()
	t.Cleanup(s.Close)
	return s, &Options{Endpoint: s.URL, Cache: t.TempDir(), Downloads: t.TempDir(),
		tuning: tuning{piece: 10_000, wait: time.Millisecond, stall: 10 * time.Second}}
}

// checkFiles compares files in a folder with what they must be.
func checkFiles(t testing.TB, folder string, files map[string][]byte, names ...string) {
	t.Helper()
	for _, name := range names {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !bytes.Equal(got, files[name]) {
			t.Errorf("%s: %d bytes, %v, want the %d of the repository", name, len(got), err, len(files[name]))
		}
	}
}

func TestPathsPassUnchanged(t *testing.T) {
	for _, path := range []string{"", "model.gguf", "/a/b", `C:\models\a`, "C:model", "hfmodel", "./hf:a/b", "ftp://host/x", "owner/name"} {
		if got, err := Get(t.Context(), path, nil); got != path || err != nil {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
}

func TestFolderIsFetchedWithWhatItNeedsAlone(t *testing.T) {
	s, o := newServer(t)
	files := folderModel()
	commit := s.Put("me/small", "main", files)
	var told [][2]int64
	o.Progress = func(done, total int64) { told = append(told, [2]int64{done, total}) }
	path, err := Get(t.Context(), "hf:me/small", o)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(o.Cache, "models--me--small", "snapshots", commit); path != want {
		t.Errorf("path %s, want %s", path, want)
	}
	checkFiles(t, path, files, needed...)
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != len(needed) {
		t.Errorf("%v, %v: want %v", entries, err, needed)
	}
	if ref, err := os.ReadFile(filepath.Join(o.Cache, "models--me--small", "refs", "main")); string(ref) != commit || err != nil {
		t.Errorf("refs/main is %q, %v", ref, err)
	}
	if len(told) == 0 || told[len(told)-1][0] != told[len(told)-1][1] || !slices.IsSortedFunc(told, func(a, b [2]int64) int { return int(a[0] - b[0]) }) {
		t.Errorf("progress %v", told)
	}
	sizes := map[string]int64{} // of what Sent counts together
	for _, name := range needed {
		key := filepath.Base(name)
		if len(files[name]) >= s.Large {
			key = hubtest.SHA256(files[name])
		}
		sizes[key] += int64(len(files[name]))
	}
	for key, size := range sizes {
		if got := s.Sent(key); got != size {
			t.Errorf("%s: %d bytes were sent of %d", key, got, size)
		}
	}
	s.Requests()
	if again, err := Get(t.Context(), "hf:me/small", o); again != path || err != nil {
		t.Errorf("again: %s, %v", again, err)
	}
	if requests := s.Requests(); len(requests) != 1 {
		t.Errorf("a model that is there takes %v, want one question", requests)
	}
	if again, err := Get(t.Context(), "hf:me/small@"+commit, o); again != path || err != nil {
		t.Errorf("at its commit: %s, %v", again, err)
	}
	if requests := s.Requests(); len(requests) != 0 {
		t.Errorf("a commit that is there takes %v, want no question", requests)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Cache, "models--me--small", "blobs", "*incomplete")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestFilesOfNames(t *testing.T) {
	s, o := newServer(t)
	files := quantised()
	s.Put("me/small-GGUF", "main", files)
	s.Put("me/small-GGUF", "feature/x", map[string][]byte{"one.gguf": []byte("GGUF of a branch")})
	for _, c := range []struct{ name, want string }{
		{"hf:me/small-GGUF", "Small-1B-Q4_K_M.gguf"},
		{"hf:me/small-GGUF:Q8_0", "Small-1B-Q8_0.gguf"},
		{"HF://me/small-GGUF:q8_0", "Small-1B-Q8_0.gguf"},
		{"hf:me/small-GGUF:Q4_0", "Small-1B-Q4_0.gguf"},
		{"hf:me/small-GGUF@main:f16", "F16/Small-1B-F16-00001-of-00002.gguf"},
		{"hf:me/small-GGUF/F16/Small-1B-F16-00002-of-00002.gguf@main", "F16/Small-1B-F16-00001-of-00002.gguf"},
		{"hf:me/small-GGUF/mmproj-Small-1B-Q8_0.gguf", "mmproj-Small-1B-Q8_0.gguf"},
		{"hf:me/small-GGUF@feature%2Fx", "one.gguf"},
		{"hf:me/small-GGUF/one.gguf@feature/x", "one.gguf"},
		{s.URL + "/me/small-GGUF/blob/main/Small-1B-Q8_0.gguf?download=true", "Small-1B-Q8_0.gguf"},
		{s.URL + "/me/small-GGUF/tree/feature%2Fx", "one.gguf"},
	} {
		path, err := Get(t.Context(), c.name, o)
		if err != nil || !strings.HasSuffix(filepath.ToSlash(path), "/"+c.want) {
			t.Errorf("%s: %s, %v; want %s", c.name, path, err, c.want)
			continue
		}
		data, err := os.ReadFile(path)
		if want := files[c.want]; err != nil || want != nil && !bytes.Equal(data, want) {
			t.Errorf("%s: %d bytes, %v", c.name, len(data), err)
		}
		if strings.Contains(c.want, "00001") {
			checkFiles(t, filepath.Dir(path), map[string][]byte{"Small-1B-F16-00002-of-00002.gguf": files["F16/Small-1B-F16-00002-of-00002.gguf"]}, "Small-1B-F16-00002-of-00002.gguf")
		}
	}
	for _, c := range []struct{ name, want string }{
		{"hf:me/small-GGUF:Q2_K", "Small-1B-Q8_0.gguf"},
		{"hf:me/small-GGUF/other.gguf", "Small-1B-Q8_0.gguf"},
		{"hf:me/small-GGUF@v2", "tree/main"},
		{"hf:me/smal-GGUF", "no such model, or it is private"},
	} {
		if path, err := Get(t.Context(), c.name, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v; want an error with %q", c.name, path, err, c.want)
		}
	}
}

// TestCutConnections cuts connections at random places: what has arrived is not fetched again.
func TestCutConnections(t *testing.T) {
	effort.Turn(t, 8)
	for seed := range uint64(8) {
		s, o := newServer(t)
		files := folderModel()
		s.Put("me/small", "main", files)
		const cuts = 25
		s.Wrap(hubtest.Cuts(cuts, 9_000, seed))
		path, err := Get(t.Context(), "hf:me/small", o)
		if err != nil {
			t.Fatal(err)
		}
		checkFiles(t, path, files, needed...)
		for _, name := range needed {
			// Sent bytes may be lost on their way when a connection is cut, but no more than its buffers hold.
			if got, most := s.Sent(hubtest.SHA256(files[name])), int64(len(files[name])+cuts*9_000); got > most {
				t.Errorf("%s: %d bytes were sent of %d", name, got, len(files[name]))
			}
		}
	}
}

// TestInterruptedFetchGoesOn ends fetching in the middle, again and again.
func TestInterruptedFetchGoesOn(t *testing.T) {
	s, o := newServer(t)
	data := noise(2_000_000, 1)
	s.Put("me/large", "main", map[string][]byte{"large.gguf": data})
	var last int64
	interruptions := 0
	for ; interruptions < 50; interruptions++ {
		ctx, cancel := context.WithCancel(t.Context())
		first := int64(-1)
		o.Progress = func(done, total int64) {
			if first < 0 {
				first = done
			}
			if done > last+200_000 {
				cancel()
			}
		}
		o.tuning.tell = 1
		path, err := Get(ctx, "hf:me/large", o)
		if err == nil {
			checkFiles(t, filepath.Dir(path), map[string][]byte{"large.gguf": data}, "large.gguf")
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if first < last {
			t.Fatalf("went on from %d, though %d bytes were there", first, last)
		}
		last = readHave(t, o.Cache)
	}
	if interruptions < 4 {
		t.Errorf("interrupted %d times", interruptions)
	}
	if sent := s.Sent(hubtest.SHA256(data)); sent > int64(len(data))+int64(interruptions)*4*10_000 { // bytes that were on their way
		t.Errorf("%d bytes were sent of %d, with %d interruptions", sent, len(data), interruptions)
	}
}

// readHave returns how much the one journal in a cache says is there.
func readHave(t *testing.T, cache string) int64 {
	t.Helper()
	journals, _ := filepath.Glob(filepath.Join(cache, "*", "blobs", "*"+journalSuffix))
	if len(journals) != 1 {
		t.Fatalf("journals %v", journals)
	}
	data, err := os.ReadFile(journals[0])
	if err != nil {
		t.Fatal(err)
	}
	have, err := parseJournal(data, "", 2_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return have.size()
}

func TestServersWithoutRanges(t *testing.T) {
	s, o := newServer(t)
	files := folderModel()
	s.Put("me/small", "main", files)
	cut := hubtest.Cuts(6, 100_000, 3)
	s.Wrap(func(next http.Handler) http.Handler { return cut(hubtest.NoRanges(next)) })
	path, err := Get(t.Context(), "hf:me/small", o)
	if err != nil {
		t.Fatal(err)
	}
	checkFiles(t, path, files, needed...)
}

// TestRangesThatComeAndGo has a server that knows ranges now and then.
func TestRangesThatComeAndGo(t *testing.T) {
	effort.Turn(t, 8)
	for seed := range uint64(10) {
		s, o := newServer(t)
		files := quantised()
		s.Put("me/small", "main", files)
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(seed, 0))
		cut := hubtest.Cuts(10, 50_000, seed)
		s.Wrap(func(next http.Handler) http.Handler {
			return cut(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				ranges := random.IntN(3) > 0
				mu.Unlock()
				if ranges {
					next.ServeHTTP(w, r)
				} else {
					hubtest.NoRanges(next).ServeHTTP(w, r)
				}
			}))
		})
		path, err := Get(t.Context(), "hf:me/small:Q8_0", o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		checkFiles(t, filepath.Dir(path), files, "Small-1B-Q8_0.gguf")
	}
}

func TestWrongBytesAreThrownAway(t *testing.T) {
	s, o := newServer(t)
	files := quantised()
	delete(files, "mmproj-Small-1B-Q8_0.gguf") // one file is fetched: of others the begun part would be kept
	s.Put("me/small", "main", files)
	s.Wrap(hubtest.WrongBytes(-1))
	for range 2 { // the second time nothing of the first may be left
		var damaged *damagedError
		if path, err := Get(t.Context(), "hf:me/small", o); !errors.As(err, &damaged) {
			t.Fatalf("%s, %v", path, err)
		}
		for _, pattern := range []string{"blobs/*", "snapshots/*/*", "refs/*"} {
			if left, _ := filepath.Glob(filepath.Join(o.Cache, "models--me--small", pattern)); left != nil {
				t.Errorf("left behind: %v", left)
			}
		}
	}
	s.Wrap(nil)
	path, err := Get(t.Context(), "hf:me/small", o)
	if err != nil {
		t.Fatal(err)
	}
	checkFiles(t, filepath.Dir(path), files, "Small-1B-Q4_K_M.gguf")
}

// TestDamagedRemainsAreFetchedAgain changes what an interrupted attempt left.
func TestDamagedRemainsAreFetchedAgain(t *testing.T) {
	s, o := newServer(t)
	files := quantised()
	s.Put("me/small", "main", files)
	ctx, cancel := context.WithCancel(t.Context())
	o.tuning.tell = 1
	o.Progress = func(done, _ int64) {
		if done > 100_000 {
			cancel()
		}
	}
	if _, err := Get(ctx, "hf:me/small", o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	o.Progress = nil
	parts, _ := filepath.Glob(filepath.Join(o.Cache, "*", "blobs", "*.antigravity.incomplete"))
	if len(parts) != 1 {
		t.Fatal(parts)
	}
	f, err := os.OpenFile(parts[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("damage"), 5); err != nil {
		t.Fatal(err)
	}
	f.Close()
	path, err := Get(t.Context(), "hf:me/small", o)
	if err != nil {
		t.Fatal(err)
	}
	checkFiles(t, filepath.Dir(path), files, "Small-1B-Q4_K_M.gguf")
}

func TestLiesAboutLengths(t *testing.T) {
	for name, change := range map[string]func(http.Header){
		"a longer file": func(h http.Header) {
			h.Set("Content-Range", strings.Replace(h.Get("Content-Range"), "/200000", "/200001", 1))
		},
		"another range":    func(h http.Header) { h.Set("Content-Range", "bytes 5-10004/200000") },
		"no range":         func(h http.Header) { h.Set("Content-Range", "rows") },
		"a negative range": func(h http.Header) { h.Set("Content-Range", "bytes -5--1/200000") },
		"a long length":    func(h http.Header) { h.Set("Content-Length", "200000") },
		"compressed":       func(h http.Header) { h.Set("Content-Encoding", "gzip") },
	} {
		t.Run(name, func(t *testing.T) {
			s, o := newServer(t)
			files := quantised()
			s.Put("me/small", "main", files)
			s.Wrap(hubtest.Header(change))
			path, err := Get(t.Context(), "hf:me/small", o)
			if err == nil { // a length that is too long cuts connections, after the wanted bytes
				checkFiles(t, filepath.Dir(path), files, "Small-1B-Q4_K_M.gguf")
				if name != "a long length" {
					t.Error("it was believed")
				}
			}
			s.Wrap(nil)
			if path, err = Get(t.Context(), "hf:me/small", o); err != nil {
				t.Fatal(err)
			}
			checkFiles(t, filepath.Dir(path), files, "Small-1B-Q4_K_M.gguf")
		})
	}
}

// TestRevisionsThatMove changes the branch between the listing and the files.
func TestRevisionsThatMove(t *testing.T) {
	s, o := newServer(t)
	first := folderModel()
	commit := s.Put("me/small", "main", first)
	second := maps.Clone(first)
	second["model-00001-of-00002.safetensors"], second["config.json"] = noise(300_000, 99), []byte(`{"model_type":"other"}`)
	var once sync.Once
	s.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/tree/") {
				once.Do(func() { s.Put("me/small", "main", second) })
			}
			next.ServeHTTP(w, r)
		})
	})
	path, err := Get(t.Context(), "hf:me/small", o)
	if err != nil || filepath.Base(path) != commit {
		t.Fatalf("%s, %v, want the commit %s that it began with", path, err, commit)
	}
	checkFiles(t, path, first, needed...)
	s.Sent(hubtest.SHA256(first["model-00002-of-00002.safetensors"]))
	if path, err = Get(t.Context(), "hf:me/small", o); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, path, second, needed...)
	if sent := s.Sent(hubtest.SHA256(first["model-00002-of-00002.safetensors"])); sent != 0 && linking(t) == nil {
		t.Errorf("%d bytes of a shard that both commits have were sent again", sent)
	}
}

// TestManyWantTheSame has goroutines: their locks exclude each other as those of processes do.
func TestManyWantTheSame(t *testing.T) {
	s, o := newServer(t)
	files := folderModel()
	s.Put("me/small", "main", files)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			path, err := Get(t.Context(), "hf:me/small", o)
			if err != nil {
				t.Error(err)
				return
			}
			checkFiles(t, path, files, needed...)
		})
	}
	wg.Wait()
	for _, name := range needed {
		if got := s.Sent(hubtest.SHA256(files[name])); got > int64(len(files[name])) {
			t.Errorf("%s: %d bytes were sent of %d", name, got, len(files[name]))
		}
	}
}

// TestTokenStaysAtTheEndpoint looks at all requests, redirected ones too.
func TestTokenStaysAtTheEndpoint(t *testing.T) {
	s, o := newServer(t)
	s.Token, s.Page = "hf_secret", 3
	s.Put("me/small", "main", folderModel())
	s.Repo("me/small").Private = true
	t.Setenv("HF_TOKEN", "hf_secret")
	if _, err := Get(t.Context(), "hf:me/small", o); err != nil {
		t.Fatal(err)
	}
	side := 0
	for _, r := range s.Requests() {
		if r.Side {
			side++
		}
		if want := map[bool]string{false: "Bearer hf_secret", true: ""}[r.Side]; r.Authorization != want {
			t.Errorf("%+v: want the authorization %q", r, want)
		}
	}
	if side == 0 {
		t.Error("nothing was redirected")
	}
}

// TestPagesElsewhere has a listing with its next page on another server, which must not get the token.
func TestPagesElsewhere(t *testing.T) {
	s, o := newServer(t)
	o.Token, s.Token = "hf_secret", "hf_secret"
	s.Put("me/small", "main", quantised())
	s.Wrap(hubtest.NextPage(s.Side.URL + "/more"))
	_, err := Get(t.Context(), "hf:me/small", o)
	if err == nil {
		t.Error("a listing without end was read")
	}
	for _, r := range s.Requests() {
		if r.Side && r.Authorization != "" {
			t.Errorf("%+v has the token", r)
		}
	}
}

// TestPagesOverPlainHTTP has a listing over https with its next page over http: somebody on the way could write checksums of other files
// into it.
func TestPagesOverPlainHTTP(t *testing.T) {
	_, o := newServer(t)
	s := hubtest.NewTLS()
	t.Cleanup(s.Close)
	o.Endpoint, o.Transport = s.URL, s.Transport()
	s.Put("me/small", "main", folderModel())
	s.Page = 2
	if _, err := Get(t.Context(), "hf:me/small", o); err == nil || !strings.Contains(err.Error(), "from https to http://") {
		t.Errorf("large files come over http from the side: %v", err)
	}
	s.Requests()
	s.Wrap(hubtest.NextPage(s.Side.URL + "/api/models/me/small/tree/main"))
	o.Cache = t.TempDir()
	if _, err := Get(t.Context(), "hf:me/small", o); err == nil || !strings.Contains(err.Error(), "from https to http://") {
		t.Errorf("the next page: %v", err)
	}
	for _, r := range s.Requests() {
		if r.Side {
			t.Errorf("%+v was followed from https", r)
		}
	}
}

func TestRefusalsAreExplained(t *testing.T) {
	s, o := newServer(t)
	s.Token = "hf_right"
	s.Put("meta/gated", "main", quantised())
	s.Repo("meta/gated").Gated = true
	s.Put("me/private", "main", quantised())
	s.Repo("me/private").Private = true
	s.Put("me/open", "main", quantised())
	for _, c := range []struct {
		name, token string
		status      int
		want        []string
	}{
		{"hf:meta/gated", "", 401, []string{"gated", s.URL + "/meta/gated", "HF_TOKEN"}},
		{"hf:me/private", "", 401, []string{"private", s.URL + "/me/private", "HF_TOKEN"}},
		{"hf:me/missing", "", 401, []string{"no such model", s.URL + "/me/missing"}},
		{"hf:me/missing", "hf_right", 404, []string{"no such model", "token from HF_TOKEN"}},
		{"hf:me/open", "hf_wrong", 401, []string{"token from HF_TOKEN is not valid"}},
		{"hf:me/open@v9", "", 404, []string{"not this branch", s.URL + "/me/open/tree/main"}},
	} {
		t.Setenv("HF_TOKEN", c.token)
		_, err := Get(t.Context(), c.name, o)
		var refused *StatusError
		if !errors.As(err, &refused) || refused.Status != c.status {
			t.Errorf("%s: %v, want status %d", c.name, err, c.status)
			continue
		}
		for _, part := range append(c.want, c.name) {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v\nlacks %q", c.name, err, part)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(o.Cache, "*", "blobs", "*")); left != nil {
		t.Errorf("refused, and yet left behind: %v", left)
	}
	t.Setenv("HF_TOKEN", "")
	if err := os.WriteFile(filepath.Join(os.Getenv("HF_HOME"), "token"), []byte("hf_right\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Get(t.Context(), "hf:meta/gated", o); err != nil {
		t.Errorf("with the token's file: %v", err)
	}
}

func TestTooManyRequests(t *testing.T) {
	s, o := newServer(t)
	s.Put("me/small", "main", quantised())
	refuse := 2
	after := "0.01"
	s.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refuse > 0 {
				refuse--
				w.Header().Set("Retry-After", after)
				http.Error(w, "slow down", http.StatusTooManyRequests)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	if _, err := Get(t.Context(), "hf:me/small", o); err != nil {
		t.Errorf("a hub that asks to wait a moment: %v", err)
	}
	refuse, after = 100, "3600"
	began := time.Now()
	_, err := Get(t.Context(), "hf:me/small:Q8_0@feature", o)
	var refused *StatusError
	if !errors.As(err, &refused) || refused.Status != 429 || !strings.Contains(err.Error(), "in 1h0m0s") || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestOffline(t *testing.T) {
	s, o := newServer(t)
	files := folderModel()
	s.Put("me/small", "main", files)
	offline := *o
	offline.Offline = true
	if _, err := Get(t.Context(), "hf:me/small", &offline); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), o.Cache) {
		t.Errorf("before it is fetched: %v", err)
	}
	path, err := Get(t.Context(), "hf:me/small", o)
	if err != nil {
		t.Fatal(err)
	}
	s.Requests()
	t.Setenv("HF_HUB_OFFLINE", "1")
	if got, err := Get(t.Context(), "hf:me/small", o); got != path || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if r := s.Requests(); r != nil {
		t.Errorf("offline: %v", r)
	}
	if err := os.RemoveAll(filepath.Join(path, "model-00002-of-00002.safetensors")); err != nil {
		t.Fatal(err)
	}
	if _, err := Get(t.Context(), "hf:me/small", o); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "model-00002") {
		t.Errorf("without a shard: %v", err)
	}
}

// TestUnreachableHub takes the files that the cache has, and reports it.
func TestUnreachableHub(t *testing.T) {
	s, o := newServer(t)
	s.Put("me/small", "main", quantised())
	var log bytes.Buffer
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	path, err := Get(t.Context(), "hf:me/small", o)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if got, err := Get(t.Context(), "hf:me/small", o); got != path || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if !strings.Contains(log.String(), "cannot be asked") {
		t.Errorf("log: %s", &log)
	}
	if _, err := Get(t.Context(), "hf:me/small:Q8_0", o); err == nil || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), s.URL) {
		t.Errorf("%v", err)
	}
}

func TestWithoutLinks(t *testing.T) {
	s, o := newServer(t)
	files := folderModel()
	commit := s.Put("me/small", "main", files)
	t.Setenv("HF_HUB_DISABLE_SYMLINKS", "1")
	path, err := Get(t.Context(), "hf:me/small", o)
	if err != nil || filepath.Base(path) != commit {
		t.Fatal(path, err)
	}
	checkFiles(t, path, files, needed...)
	for _, name := range needed {
		if info, err := os.Lstat(filepath.Join(path, name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	// With links the blobs would be there: what another program put there is copied.
	blob := filepath.Join(o.Cache, "models--me--small", "blobs", hubtest.SHA256(files["model-00001-of-00002.safetensors"]))
	if err := os.WriteFile(blob, files["model-00001-of-00002.safetensors"], 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(path, "model-00001-of-00002.safetensors")); err != nil {
		t.Fatal(err)
	}
	if _, err := Get(t.Context(), "hf:me/small", o); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, path, files, needed...)
	if !isFile(blob, 300_000) {
		t.Error("a blob that others may need is gone")
	}
}

// TestShortFilesInTheCache fetches files again that a crash or a full disk left too short.
func TestShortFilesInTheCache(t *testing.T) {
	s, o := newServer(t)
	files := quantised()
	s.Put("me/small", "main", files)
	path, err := Get(t.Context(), "hf:me/small", o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	if path, err = Get(t.Context(), "hf:me/small", o); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, filepath.Dir(path), files, "Small-1B-Q4_K_M.gguf")
}

func TestNoRoom(t *testing.T) {
	s, o := newServer(t)
	s.Put("me/small", "main", quantised())
	o.tuning.free = func(string) (int64, bool) { return 150_000, true }
	_, err := Get(t.Context(), "hf:me/small", o)
	if err == nil || !strings.Contains(err.Error(), "202002 bytes are to be fetched") || !strings.Contains(err.Error(), "HF_HOME") {
		t.Errorf("%v", err)
	}
	if sent := s.Sent(hubtest.SHA256(quantised()["Small-1B-Q4_K_M.gguf"])); sent != 0 {
		t.Errorf("%d bytes were fetched", sent)
	}
}

// TestAddressesExpire has signed addresses that hold for three requests.
func TestAddressesExpire(t *testing.T) {
	s, o := newServer(t)
	files := quantised()
	s.Put("me/small", "main", files)
	s.Expire = 3
	path, err := Get(t.Context(), "hf:me/small", o)
	if err != nil {
		t.Fatal(err)
	}
	checkFiles(t, filepath.Dir(path), files, "Small-1B-Q4_K_M.gguf")
	if n := len(slices.DeleteFunc(s.Requests(), func(r hubtest.Request) bool { return r.Side })); n > 2+20 {
		t.Errorf("the hub was asked %d times for a file in 20 pieces", n)
	}
}

func TestStalledConnections(t *testing.T) {
	s, o := newServer(t)
	files := quantised()
	s.Put("me/small", "main", files)
	o.tuning.stall = 50 * time.Millisecond
	stalls := make(chan struct{}, 3)
	for range cap(stalls) {
		stalls <- struct{}{}
	}
	release := make(chan struct{})
	defer close(release)
	s.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				select {
				case <-stalls:
					w.Header().Set("Content-Range", "bytes 0-9999/200000")
					w.Header().Set("Content-Length", "10000")
					w.WriteHeader(http.StatusPartialContent)
					http.NewResponseController(w).Flush()
					select {
					case <-release:
					case <-r.Context().Done():
					}
					return
				default:
				}
			}
			next.ServeHTTP(w, r)
		})
	})
	path, err := Get(t.Context(), "hf:me/small", o)
	if err != nil {
		t.Fatal(err)
	}
	checkFiles(t, filepath.Dir(path), files, "Small-1B-Q4_K_M.gguf")
}

// TestHostileListings has a hub with names and checksums that lead elsewhere: nothing may be written outside of the cache's folder.
func TestHostileListings(t *testing.T) {
	const sum = "0123456789abcdef0123456789abcdef01234567"
	for name, tree := range map[string]string{
		"upwards":          `[{"type":"file","path":"../../../evil.gguf","oid":"` + sum + `","size":4}]`,
		"absolute":         `[{"type":"file","path":"/evil.gguf","oid":"` + sum + `","size":4}]`,
		"windows":          `[{"type":"file","path":"..\\evil.gguf","oid":"` + sum + `","size":4}]`,
		"drive":            `[{"type":"file","path":"C:evil.gguf","oid":"` + sum + `","size":4}]`,
		"checksum":         `[{"type":"file","path":"evil.gguf","oid":"../../../../evil","size":4}]`,
		"lfs checksum":     `[{"type":"file","path":"evil.gguf","oid":"` + sum + `","size":4,"lfs":{"oid":"../../../evil","size":4}}]`,
		"negative":         `[{"type":"file","path":"evil.gguf","oid":"` + sum + `","size":-4}]`,
		"immense":          `[{"type":"file","path":"evil.gguf","oid":"` + sum + `","size":9223372036854775807}]`,
		"larger than disk": `[{"type":"file","path":"evil.gguf","oid":"` + sum + `","size":1125899906842624}]`,
		"no list":          `{"type":"file"}`,
		"cut":              `[{"type":"file","path":"evil.gguf"`,
		"empty":            ``,
		"a page":           `<html>`,
	} {
		t.Run(name, func(t *testing.T) {
			s, o := newServer(t)
			s.Put("me/evil", "main", map[string][]byte{"evil.gguf": []byte("evil")})
			s.Wrap(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.Contains(r.URL.Path, "/tree/") {
						fmt.Fprint(w, tree)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			top := t.TempDir()
			o.Cache = filepath.Join(top, "a", "b", "c")
			path, err := Get(t.Context(), "hf:me/evil", o)
			if err == nil {
				t.Errorf("got %s", path)
			}
			filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
				if strings.Contains(d.Name(), "evil") && d.Name() != "models--me--evil" {
					t.Errorf("%s was written", path)
				}
				return nil
			})
		})
	}
}

// TestHostileCommits has a hub with commits that lead elsewhere.
func TestHostileCommits(t *testing.T) {
	for _, commit := range []string{"", "main", "../../../evil", strings.Repeat("a", 39), strings.Repeat("A", 40), strings.Repeat("a", 40) + "/.."} {
		s, o := newServer(t)
		s.Wrap(func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"sha":%q}`, commit) })
		})
		if path, err := Get(t.Context(), "hf:me/evil", o); err == nil || !strings.Contains(err.Error(), "is it a hub?") {
			t.Errorf("%q: %s, %v", commit, path, err)
		}
	}
}

// TestImmenseAnswers are not read to their end.
func TestImmenseAnswers(t *testing.T) {
	effort.Turn(t, 8)
	s, o := newServer(t)
	s.Wrap(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/revision/") {
				fmt.Fprint(w, `{"sha":"0123456789abcdef0123456789abcdef01234567"}`)
				return
			}
			fmt.Fprint(w, `[`)
			for i := 0; r.Context().Err() == nil; i++ {
				fmt.Fprintf(w, `{"type":"file","path":"%d","oid":"0123456789abcdef0123456789abcdef01234567","size":1},`, i)
			}
		})
	})
	if _, err := Get(t.Context(), "hf:me/evil", o); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%v", err)
	}
}

func TestEndedContext(t *testing.T) {
	s, o := newServer(t)
	s.Put("me/small", "main", quantised())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Get(ctx, "hf:me/small", o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	// A server that never answers.
	hang := make(chan struct{})
	defer close(hang)
	s.Wrap(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		})
	})
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Get(ctx, "hf:me/small", o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestRedirectToPlainHTTP is refused if the hub speaks https: it could not be trusted.
func TestRedirectToPlainHTTP(t *testing.T) {
	c := newClient(&settings{endpoint: &url.URL{Scheme: "https", Host: "hub"}, connections: 1})
	from, _ := http.NewRequest("GET", "https://hub/a", nil)
	to, _ := http.NewRequest("GET", "http://hub/b", nil)
	if err := c.http.CheckRedirect(to, []*http.Request{from}); err == nil {
		t.Error("it was followed")
	}
}
