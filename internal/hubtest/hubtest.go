// Package hubtest is a server that speaks the Hugging Face Hub's interface, as far as fetching models needs it, and that misbehaves when a
// test wants it to.
//
// It is two servers: the hub, with /api/models/OWNER/NAME/revision/REVISION, /api/models/OWNER/NAME/tree/REVISION and
// /OWNER/NAME/resolve/REVISION/FILE, and another one, to which it redirects for large files, at an address of a short life.
//
// For example, a model with a small and a large file is fetched by these requests:
//
//	GET /api/models/me/tiny/revision/main           200 {"id": "me/tiny", "sha": "1f0c…", "siblings": […], …}
//	GET /api/models/me/tiny/tree/1f0c…              200 [{"type": "directory", …}, {"type": "file", "path": "config.json", …}, …]
//	GET /me/tiny/resolve/1f0c…/config.json          200 the file
//	GET /me/tiny/resolve/1f0c…/model.safetensors    302 to Side, /SHA256?Signature=1
//	GET /SHA256?Signature=1                         200 the file, or 403 after Expire requests
package hubtest

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Server is a hub. Its fields may be set before the first request.
type Server struct {
	URL  string // the hub's endpoint
	Side *httptest.Server
	// Large is the size in bytes from which files are kept outside Git, as in LFS: they are listed with their SHA-256, and served by Side.
	Large int
	// Page is how many files a page of a listing has.
	Page int
	// Token, if not "", is what the hub wants of those who ask for private and gated models.
	Token string
	// Expire is how many requests the other server answers at one address; 0: any number.
	Expire int

	hub    *httptest.Server
	mu     sync.Mutex
	around func(http.Handler) http.Handler // see Wrap
	repos  map[string]*Repo
	large  map[string][]byte // all large files, by their SHA-256
	log    []Request
	sent   map[string]int64
	uses   map[string]int
}

// Request is a request that came.
type Request struct {
	Side          bool // it came to the other server
	Method, Path  string
	Range         string
	Authorization string
}

// Repo is a repository.
type Repo struct {
	Private, Gated bool
	branches       map[string]*commit
}

// commit is the files at a commit.
type commit struct {
	id    string
	files map[string][]byte
}

// New starts a hub without models.
func New() *Server { return start(httptest.NewServer) }

// NewTLS starts a hub that speaks https. Its Side speaks http, as one who sits on the way to the client would. Requests that trust its
// certificate are made by Transport.
func NewTLS() *Server { return start(httptest.NewTLSServer) }

// Transport makes requests that trust the hub's certificate.
func (s *Server) Transport() http.RoundTripper { return s.hub.Client().Transport }

// start starts a hub that serves by the function hub.
func start(hub func(http.Handler) *httptest.Server) *Server {
	s := &Server{Large: 1 << 10, Page: 1000, repos: map[string]*Repo{}, large: map[string][]byte{}, sent: map[string]int64{}, uses: map[string]int{}}
	serve := func(start func(http.Handler) *httptest.Server, side bool, h http.HandlerFunc) *httptest.Server {
		return start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.note(side, r)
			handler := http.Handler(h)
			s.mu.Lock()
			around := s.around
			s.mu.Unlock()
			if around != nil {
				handler = around(handler)
			}
			handler.ServeHTTP(&countingWriter{ResponseWriter: w, s: s, file: strings.TrimPrefix(r.URL.Path, "/")}, r)
		}))
	}
	s.hub, s.Side = serve(hub, false, s.serveHub), serve(httptest.NewServer, true, s.serveSide)
	s.URL = s.hub.URL
	return s
}

// Close ends the servers.
func (s *Server) Close() {
	s.hub.Close()
	s.Side.Close()
}

// Wrap has around lie around both servers' handlers from now on; nil: nothing. A client that gave up may still be served meanwhile.
func (s *Server) Wrap(around func(http.Handler) http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.around = around
}

// Put makes files the content of a branch of a repository, and returns the new commit.
func (s *Server) Put(repo, branch string, files map[string][]byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := sha1.New()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		sum := SHA256(files[path])
		fmt.Fprintf(h, "%s %s\n", path, sum)
		s.large[sum] = files[path]
	}
	c := &commit{hex.EncodeToString(h.Sum(nil)), maps.Clone(files)}
	r := s.repos[repo]
	if r == nil {
		r = &Repo{branches: map[string]*commit{}}
		s.repos[repo] = r
	}
	r.branches[branch], r.branches[c.id] = c, c
	return c.id
}

// Repo returns a repository that Put has made.
func (s *Server) Repo(name string) *Repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repos[name]
}

// Requests returns the requests since the last call.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// Sent returns how many bytes of a file the servers have sent since the last call for it. A large file is called by its SHA-256.
func (s *Server) Sent(file string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.sent[file]
	delete(s.sent, file)
	return n
}

func (s *Server) note(side bool, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, Request{side, r.Method, r.URL.Path, r.Header.Get("Range"), r.Header.Get("Authorization")})
}

// countingWriter counts the bytes of files that are sent: under the last part of the path.
type countingWriter struct {
	http.ResponseWriter
	s    *Server
	file string
}

// Write sends bytes.
func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.sent[c.file[strings.LastIndexByte(c.file, '/')+1:]] += int64(n)
	return n, err
}

// Unwrap lets handlers reach the connection.
func (c *countingWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// refuse answers as the hub does.
func refuse(w http.ResponseWriter, status int, code, reason string) {
	if code != "" {
		w.Header().Set("X-Error-Code", code)
	}
	w.Header().Set("X-Error-Message", reason)
	http.Error(w, `{"error":`+strconv.Quote(reason)+`}`, status)
}

// find returns what a request may see: the repository's commit, or nil after an answer that refuses.
func (s *Server) find(w http.ResponseWriter, r *http.Request, name, revision string, content bool) *commit {
	s.mu.Lock()
	repo := s.repos[name]
	var c *commit
	if repo != nil {
		c = repo.branches[revision]
	}
	s.mu.Unlock()
	given := r.Header.Get("Authorization")
	allowed := s.Token != "" && given == "Bearer "+s.Token
	switch {
	case given != "" && !allowed:
		refuse(w, http.StatusUnauthorized, "", "Invalid credentials in Authorization header")
		return nil
	case repo == nil || repo.Private && !allowed:
		status := http.StatusUnauthorized // the same whether the model exists or not
		if allowed {
			status = http.StatusNotFound
		}
		refuse(w, status, "RepoNotFound", "Repository not found")
		return nil
	case repo.Gated && content && !allowed:
		refuse(w, http.StatusUnauthorized, "GatedRepo", "Access to model "+name+" is restricted. You must have access to it and be authenticated to access it.")
		return nil
	}
	if c == nil {
		refuse(w, http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+revision)
	}
	return c
}

// serveHub is the hub.
func (s *Server) serveHub(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	for i := range parts {
		parts[i], _ = url.PathUnescape(parts[i])
	}
	switch {
	case len(parts) == 6 && parts[0] == "api" && parts[4] == "revision":
		if c := s.find(w, r, parts[2]+"/"+parts[3], parts[5], false); c != nil {
			s.information(w, parts[2]+"/"+parts[3], c)
		}
	case len(parts) == 6 && parts[0] == "api" && parts[4] == "tree":
		if c := s.find(w, r, parts[2]+"/"+parts[3], parts[5], false); c != nil {
			s.tree(w, r, c)
		}
	case len(parts) >= 5 && parts[2] == "resolve":
		if c := s.find(w, r, parts[0]+"/"+parts[1], parts[3], true); c != nil {
			s.resolve(w, r, c, strings.Join(parts[4:], "/"))
		}
	default:
		refuse(w, http.StatusNotFound, "", "Sorry, we can't find the page you are looking for.")
	}
}

// information describes a model.
func (s *Server) information(w http.ResponseWriter, name string, c *commit) {
	var siblings []map[string]string
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		siblings = append(siblings, map[string]string{"rfilename": path})
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"id": name, "sha": c.id, "private": false, "gated": false, "tags": []string{}, "siblings": siblings})
}

// tree lists the files, page by page.
func (s *Server) tree(w http.ResponseWriter, r *http.Request, c *commit) {
	paths := slices.Sorted(maps.Keys(c.files))
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	from = min(max(from, 0), len(paths))
	to := min(from+s.Page, len(paths))
	list := []map[string]any{{"type": "directory", "oid": GitSum(nil), "size": 0, "path": "some-folder"}}
	for _, path := range paths[from:to] {
		data := c.files[path]
		e := map[string]any{"type": "file", "oid": GitSum(data), "size": len(data), "path": path}
		if len(data) >= s.Large {
			pointer := fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", SHA256(data), len(data))
			e["oid"], e["lfs"] = GitSum([]byte(pointer)), map[string]any{"oid": SHA256(data), "size": len(data), "pointerSize": len(pointer)}
		}
		list = append(list, e)
	}
	if to < len(paths) {
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?recursive=true&cursor=%d>; rel="next"`, s.URL, r.URL.EscapedPath(), to))
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(list)
}

// resolve serves a file, or redirects to its address.
func (s *Server) resolve(w http.ResponseWriter, r *http.Request, c *commit, path string) {
	data, ok := c.files[path]
	w.Header().Set("X-Repo-Commit", c.id)
	switch {
	case !ok:
		refuse(w, http.StatusNotFound, "EntryNotFound", "Entry not found")
	case len(data) >= s.Large:
		w.Header().Set("X-Linked-Etag", `"`+SHA256(data)+`"`)
		w.Header().Set("X-Linked-Size", strconv.Itoa(len(data)))
		s.mu.Lock()
		s.uses[""]++
		signed := fmt.Sprintf("%s/%s?Signature=%d", s.Side.URL, SHA256(data), s.uses[""])
		s.mu.Unlock()
		http.Redirect(w, r, signed, http.StatusFound)
	default:
		w.Header().Set("ETag", `"`+GitSum(data)+`"`)
		http.ServeContent(w, r, "", noTime, bytes.NewReader(data))
	}
}

// serveSide is the server of large files.
func (s *Server) serveSide(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.uses[r.URL.RawQuery]++
	expired := s.Expire > 0 && s.uses[r.URL.RawQuery] > s.Expire
	sum := strings.TrimPrefix(r.URL.Path, "/")
	found, ok := s.large[sum]
	s.mu.Unlock()
	switch {
	case r.Header.Get("Authorization") != "": // as stores of signed addresses do
		http.Error(w, "only one authorization is allowed", http.StatusBadRequest)
	case !ok:
		http.NotFound(w, r)
	case expired:
		http.Error(w, "the address has expired", http.StatusForbidden)
	default:
		w.Header().Set("ETag", `"`+sum[:32]+`"`) // of the store's own
		http.ServeContent(w, r, "", noTime, bytes.NewReader(found))
	}
}

// SHA256 returns the checksum of a file that is kept outside Git.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// GitSum returns the checksum of a file in Git.
func GitSum(data []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...))
	return hex.EncodeToString(sum[:])
}
