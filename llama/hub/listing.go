package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
)

// entry is a file of a repository at a commit.
type entry struct {
	path string // valid: see validPath
	size int64
	blob string // Git's SHA-1 of the file, or of the file's pointer if Git LFS keeps the file; "": not known
	lfs  string // SHA-256 of a file that Git LFS keeps; "": the file is in Git
	xet  string // what the hub's storage calls it; "": not said
}

// sum returns the checksum, which is also the name of the file's blob in the cache.
func (e *entry) sum() checksum {
	if e.lfs != "" {
		return checksum{sha256Sum, e.lfs}
	}
	return checksum{gitSum, e.blob}
}

// listing is the files of a repository at a commit, by path.
type listing map[string]entry

// The bounds on what the hub says of a repository.
const (
	maxFiles    = 100_000
	maxPage     = 16 << 20 // bytes of one answer
	maxPages    = 1000
	maxFileSize = 1 << 50 // bytes; sums of as many sizes as there may be files stay far from what an int64 holds
)

// add adds a file. A file without a valid path is left out: it could not be fetched. A wrong checksum or size is an error.
func (l listing) add(e entry) error {
	switch {
	case !validPath(e.path):
		return nil
	case e.size < 0 || e.size > maxFileSize:
		return fmt.Errorf("the file %q has %d bytes", e.path, e.size)
	case !e.sum().valid():
		return fmt.Errorf("the file %q has the checksum %q, which is none", e.path, e.sum().hex)
	case len(l) >= maxFiles:
		return fmt.Errorf("the repository has more than %d files", maxFiles)
	}
	l[e.path] = e
	return nil
}

// sorted returns the files by path.
func (l listing) sorted() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for _, path := range slices.Sorted(maps.Keys(l)) {
			if !yield(l[path]) {
				return
			}
		}
	}
}

// treeJSON is an element of the hub's listing.
type treeJSON struct {
	Type string `json:"type"`
	Path string `json:"path"`
	OID  string `json:"oid"`
	Size int64  `json:"size"`
	LFS  *struct {
		OID  string `json:"oid"`
		Size int64  `json:"size"`
	} `json:"lfs"`
	Xet string `json:"xetHash"`
}

// addPage adds a page of the hub's listing, a JSON array, element by element.
func (l listing) addPage(r io.Reader) error {
	d := json.NewDecoder(r)
	if open, err := d.Token(); err != nil {
		return err
	} else if open != json.Delim('[') {
		return fmt.Errorf("a listing cannot begin with %.20v", open)
	}
	for d.More() {
		var j treeJSON
		if err := d.Decode(&j); err != nil {
			return err
		}
		if j.Type != "file" {
			continue
		}
		e := entry{path: j.Path, size: j.Size, blob: j.OID, xet: j.Xet}
		if j.LFS != nil {
			e.lfs, e.size = j.LFS.OID, j.LFS.Size
		}
		if err := l.add(e); err != nil {
			return err
		}
	}
	_, err := d.Token() // the end
	return err
}

// treeFile is a listing as Python's library keeps it in the cache, in trees/COMMIT.json.
type treeFile struct {
	Version int                 `json:"format_version"`
	Files   map[string]treeFact `json:"files"`
}

// treeFact is the description of a file in a treeFile.
type treeFact struct {
	Size    int64  `json:"size"`
	Blob    string `json:"blob_id"`
	LFS     string `json:"lfs_sha256,omitempty"`
	LFSSize *int64 `json:"lfs_size,omitempty"`
	Xet     string `json:"xet_hash,omitempty"`
}

// treeVersion is the format that is read and written.
const treeVersion = 1

// parseTree reads a listing from the cache.
func parseTree(data []byte) (listing, error) {
	var f treeFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	if f.Version != treeVersion {
		return nil, fmt.Errorf("the listing's format is %d: %w", f.Version, errors.ErrUnsupported)
	}
	l := listing{}
	for path, fact := range f.Files {
		e := entry{path, fact.Size, fact.Blob, fact.LFS, fact.Xet}
		if fact.LFSSize != nil {
			e.size = *fact.LFSSize
		}
		if err := l.add(e); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// marshal returns the listing as parseTree reads it.
func (l listing) marshal() ([]byte, error) {
	f := treeFile{treeVersion, map[string]treeFact{}}
	for path, e := range l {
		fact := treeFact{Size: e.size, Blob: e.blob, LFS: e.lfs}
		if e.lfs != "" {
			fact.LFSSize = &e.size
		}
		if (checksum{sha256Sum, e.xet}).valid() { // others read nothing of the file when this is not of 64 digits
			fact.Xet = e.xet
		}
		f.Files[path] = fact
	}
	return json.MarshalIndent(f, "", " ")
}
