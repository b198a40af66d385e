package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
)

// repository is a repository's folder in the cache, in the layout of Python's library:
//
//	blobs/CHECKSUM                    files
//	snapshots/COMMIT/dir/file         symbolic links to them, or the files themselves
//	refs/BRANCH                       the commit that a branch or tag was at
//	trees/COMMIT.json                 the listing of a commit
//	../.locks/FOLDER/CHECKSUM.lock    held by whoever fetches a blob
type repository struct {
	cache  string
	folder string // its name in cache
	links  bool   // make symbolic links
}

// foldersOfModels begins the names of models' folders in the cache.
const foldersOfModels = "models--"

// newRepository returns the folder of a repository, which need not exist.
func newRepository(s *settings, r *reference) *repository {
	return &repository{s.cache, foldersOfModels + r.owner + "--" + r.name, s.links}
}

func (r *repository) path(elements ...string) string {
	return filepath.Join(append([]string{r.cache, r.folder}, elements...)...)
}

func (r *repository) blob(e *entry) string { return r.path("blobs", e.sum().hex) }

func (r *repository) lock(e *entry) string {
	return filepath.Join(r.cache, ".locks", r.folder, e.sum().hex+".lock")
}

// snapshot returns the path of a commit's file in the cache, or of the commit's folder if path is "".
func (r *repository) snapshot(commit, path string) string {
	return r.path("snapshots", commit, filepath.FromSlash(path))
}

func (r *repository) ref(revision string) string { return r.path("refs", filepath.FromSlash(revision)) }

func (r *repository) tree(commit string) string { return r.path("trees", commit+".json") }

// isFile reports whether path is a regular file of this size, perhaps behind a link.
func isFile(path string, size int64) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// has reports whether the cache has a commit's file in its whole length.
func (r *repository) has(commit string, e *entry) bool {
	return isFile(r.snapshot(commit, e.path), e.size)
}

// commit returns the commit that a revision was at when it was last looked up, "" if it was not.
func (r *repository) commit(revision string) string {
	if commitText.MatchString(revision) {
		return revision
	}
	text, err := readFile(r.ref(revision), maxRevision)
	commit := strings.TrimSpace(string(text))
	if err != nil || !commitText.MatchString(commit) {
		return ""
	}
	return commit
}

// setCommit notes the commit that a revision is at.
func (r *repository) setCommit(revision, commit string) error {
	if revision == commit || r.commit(revision) == commit { // the cache may be read-only
		return nil
	}
	return writeFile(r.ref(revision), []byte(commit))
}

// listing returns the files of a commit that the cache lists or, if it has no listing, the files that it has, without checksums.
func (r *repository) listing(commit string) (listing, error) {
	if l, err := r.listed(commit); err == nil {
		return l, nil
	}
	return r.present(commit)
}

// present returns the files of a commit that the cache has, without checksums.
func (r *repository) present(commit string) (listing, error) {
	l := listing{}
	top := r.snapshot(commit, "")
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(path) // of what a link leads to
		if err != nil || !info.Mode().IsRegular() {
			return nil // as good as absent
		}
		name, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		if len(l) >= maxFiles {
			return fmt.Errorf("%s holds more than %d files", top, maxFiles)
		}
		if name = filepath.ToSlash(name); validPath(name) {
			l[name] = entry{path: name, size: info.Size()}
		}
		return nil
	})
	return l, err
}

// maxTree bounds a listing in the cache, in bytes.
const maxTree = 64 << 20

// listed returns the listing of a commit that the cache has.
func (r *repository) listed(commit string) (listing, error) {
	data, err := readFile(r.tree(commit), maxTree)
	if err != nil {
		return nil, err
	}
	return parseTree(data)
}

// setListing keeps the listing of a commit.
func (r *repository) setListing(commit string, l listing) error {
	data, err := l.marshal()
	if err != nil {
		return err
	}
	return writeFile(r.tree(commit), data)
}

// link makes a blob a file of a commit. Where symbolic links cannot be made or followed, a blob that was fetched for this file becomes the
// file, and another one is copied.
func (r *repository) link(ctx context.Context, commit string, e *entry, fetched bool) error {
	file, blob := r.snapshot(commit, e.path), r.blob(e)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if r.links {
		target, err := filepath.Rel(filepath.Dir(file), blob)
		if err == nil && os.Symlink(target, file) == nil {
			if isFile(file, e.size) {
				return nil
			}
			_ = os.Remove(file) // copying replaces it, too
		}
	}
	if fetched && atomicfile.Rename(blob, file) == nil {
		return nil
	}
	return copyFile(ctx, blob, file)
}

// tag marks the cache for programs that make backups, as https://bford.info/cachedir describes it. That it cannot be written does not
// matter.
func (r *repository) tag() {
	path := filepath.Join(r.cache, "CACHEDIR.TAG")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		_ = writeFile(path, []byte("Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of the Hugging Face Hub.\n"))
	}
}
