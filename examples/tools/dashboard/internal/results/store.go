// Package results reads folders of runs into what the dashboard draws: an Overview of all runs, and the Detail of one.
//
// Everything with a definition is computed here: metrics, intervals, quantiles, changes beyond noise. The page only filters, groups
// and draws.
package results

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// Every request looks at the folders again, at most once a second. Files that are new or changed are read, files that are gone are
// forgotten, and the overview is made anew only if there are any. For example, the store knows a, b and c, and then:
//
//	a.run.json   as before          its summary stays
//	b.run.json   another size       read
//	c.run.json   gone               forgotten
//	d.run.json   new                read
//
// The next Overview is made of the summaries of a, b and d, and has another tag.

// Store holds a summary of each run of some folders, and reads again the files that changed. It does not hold timelines and profiles:
// Detail reads them when they are asked for. Its methods may be used by any number of goroutines at once.
type Store struct {
	folders []folder
	now     func() time.Time

	reading chan struct{} // bounds the runs that Detail holds at once: each may be large, and requests may be many

	mu       sync.Mutex       // protects what follows
	known    map[string]entry // by the file's path
	notices  []Notice         // of the last look
	looked   time.Time        // when that was; zero: never
	overview *Encoded         // of known and notices; nil: to be made
	compared comparisons      // for the overview that was made last
}

// folder is a folder of runs, and what it is called in the keys of its runs.
type folder struct {
	runs.Folder
	label string
}

// entry is a file with its summary.
type entry struct {
	file    runs.File
	summary *summary // nil: the file is bad
	bad     string   // why
}

// Encoded is an Overview as JSON, and a tag that changes whenever it does.
type Encoded struct {
	JSON []byte
	Tag  string
	Runs int
}

// NewStore makes the store of some folders, which need not exist yet.
func NewStore(paths ...string) (*Store, error) {
	s := &Store{now: time.Now, known: map[string]entry{}, reading: make(chan struct{}, 2)}
	labels := map[string]bool{}
	for _, path := range paths {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("find the folder %s: %w", path, err)
		}
		base := filepath.Base(absolute)
		label := base
		for n := 2; labels[label]; n++ {
			label = base + "~" + strconv.Itoa(n)
		}
		labels[label] = true
		s.folders = append(s.folders, folder{runs.Folder(absolute), label})
	}
	return s, nil
}

// fresh is how long a look at the folders is good for.
const fresh = time.Second

// Overview returns the overview of the folders as they are, or as they were a second ago.
func (s *Store) Overview() (*Encoded, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.looked.IsZero() || now.Sub(s.looked) >= fresh || now.Before(s.looked) {
		s.look()
		s.looked = now
	}
	if s.overview == nil {
		o := s.summarize()
		text, err := encode(o)
		if err != nil {
			return nil, fmt.Errorf("encode the overview: %w", err)
		}
		sum := sha256.Sum256(text)
		s.overview = &Encoded{text, `"` + hex.EncodeToString(sum[:12]) + `"`, len(o.Runs)}
	}
	return s.overview, nil
}

// look lists the folders' files and reads those that changed. If anything did, the overview is to be made again.
func (s *Store) look() {
	var notices []Notice
	files := map[string]runs.File{}
	for _, f := range s.folders {
		list, err := f.Files()
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(list) == 0:
			notices = append(notices, Notice{string(f.Folder), "the folder does not exist yet"})
		case err != nil:
			notices = append(notices, Notice{string(f.Folder), clip(err.Error(), 500)})
		}
		for _, file := range list {
			files[file.Path] = file
		}
	}
	changed := !slices.Equal(notices, s.notices)
	s.notices = notices
	for path := range s.known {
		if _, ok := files[path]; !ok {
			delete(s.known, path)
			changed = true
		}
	}
	var toRead []runs.File
	for path, file := range files {
		if old, ok := s.known[path]; !ok || old.file != file {
			toRead = append(toRead, file)
		}
	}
	for _, e := range readAll(toRead) {
		s.known[e.file.Path] = e
		changed = true
	}
	if changed {
		s.overview = nil
	}
}

// readAll reads files on as many threads as there are.
func readAll(files []runs.File) []entry {
	entries := make([]entry, len(files))
	var work sync.WaitGroup
	next := make(chan int)
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		work.Go(func() {
			for i := range next {
				entries[i] = read(files[i])
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	work.Wait()
	return entries
}

func read(file runs.File) entry {
	r, err := file.Read()
	if err != nil {
		return entry{file: file, bad: clip(err.Error(), 500)}
	}
	return entry{file: file, summary: summaryOf(r)}
}

// ordered yields the runs that are known, the earliest first and those of one moment by path, with their keys.
func (s *Store) ordered() (list []*summary, keys []string) {
	good := slices.DeleteFunc(slices.Collect(maps.Values(s.known)), func(e entry) bool { return e.summary == nil })
	slices.SortFunc(good, func(a, b entry) int {
		return cmp.Or(a.summary.began.Compare(b.summary.began), cmp.Compare(a.file.Path, b.file.Path))
	})
	for _, e := range good {
		list, keys = append(list, e.summary), append(keys, s.key(e.file.Path))
	}
	return list, keys
}

// bad lists the folders and files that could not be read, by path.
func (s *Store) bad() []Notice {
	list := append([]Notice{}, s.notices...)
	for path, e := range s.known {
		if e.summary == nil {
			list = append(list, Notice{path, strings.TrimPrefix(e.bad, path+": ")})
		}
	}
	slices.SortFunc(list, func(a, b Notice) int { return cmp.Compare(a.File, b.File) })
	return list
}

// key names the run of a file in URLs: the folder's label and the path within it, with slashes.
func (s *Store) key(path string) string {
	for _, f := range s.folders {
		if rest, ok := strings.CutPrefix(path, string(f.Folder)+string(filepath.Separator)); ok {
			return f.label + "/" + strings.TrimSuffix(filepath.ToSlash(rest), ".run.json")
		}
	}
	return filepath.ToSlash(path) // a folder that is the root of the file system
}

// ErrNoRun is the error of Detail for a key that no run has.
var ErrNoRun = errors.New("there is no run of this name")

// Detail reads the run of a key, with its timelines thinned to a number of points.
func (s *Store) Detail(key string, points int) (*Detail, error) {
	s.mu.Lock()
	var file runs.File
	for path, e := range s.known {
		if e.summary != nil && s.key(path) == key {
			file = e.file
		}
	}
	s.mu.Unlock()
	if file.Path == "" {
		return nil, ErrNoRun
	}
	s.reading <- struct{}{}
	defer func() { <-s.reading }()
	r, err := file.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoRun
	}
	if err != nil {
		return nil, err
	}
	return detailOf(key, r, points), nil
}

// Keys lists the keys of all runs in the order of the overview.
func (s *Store) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, keys := s.ordered()
	return keys
}

// encode writes JSON in which <, > and & are escaped, so that it may stand within an HTML document.
func encode(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return bytes.TrimSpace(text), err
}

// clip shortens a text to at most n bytes, at the boundary of a character.
func clip(text string, n int) string {
	if len(text) <= n {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
