package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"
)

// Remove takes the names of files out of a snapshot first, and then those blobs that no snapshot names any more. For example, the branches
// main and dev have the same a.gguf, and b.gguf is only in dev:
//
//	blobs/{1, 2}    snapshots/1111…/a.gguf → 1    snapshots/2222…/{a.gguf → 1, b.gguf → 2}
//	Remove("hf:o/n@dev") leaves
//	blobs/1         snapshots/1111…/a.gguf → 1

// Remove removes a model from the cache, and returns how many bytes are free now. The name is one that Get fetches or that List returns. A
// name without a file or a type of file means all that the cache has of the repository at that revision, which is the main branch unless
// the name has another one. Files that another revision has in common with it stay. A branch or a tag goes alone if another one is at the
// same commit. Remove asks no server.
//
// A model that is not in the cache is an error that wraps fs.ErrNotExist, a text that is no name a *NameError. Programs that have the model
// open go on with it; on Windows the removal fails then. Remove waits for programs that fetch the same files, until the context
// ends.
func Remove(ctx context.Context, name string, o *Options) (freed int64, err error) {
	freed, err = remove(ctx, name, o)
	if err != nil {
		return freed, fmt.Errorf("remove %s: %w", name, err)
	}
	return freed, nil
}

func remove(ctx context.Context, name string, o *Options) (freed int64, err error) {
	if !IsName(name) {
		return 0, &NameError{name, "a path is not in the cache"}
	}
	s, err := newSettings(o)
	if err != nil {
		return 0, err
	}
	r, err := parseName(name, s.endpoint)
	if err != nil {
		return 0, err
	}
	f := newFetcher(s)
	if r.url != nil {
		return f.removeDownloads(ctx, r)
	}
	return (&model{f, r, newRepository(s, r)}).remove(ctx)
}

// removeDownloads removes the files of a server that is no hub, and their descriptions.
func (f *fetcher) removeDownloads(ctx context.Context, r *reference) (freed int64, err error) {
	files, err := f.downloads(r)
	if err != nil {
		return 0, err
	}
	found := false
	for _, d := range files {
		if _, err := os.Stat(filepath.Dir(d.state)); err != nil {
			continue
		}
		unlock, err := f.lock(ctx, d.state+".lock", filepath.Base(d.path))
		if err != nil {
			return freed, err
		}
		for _, path := range []string{d.path, d.state + ".json", d.state + partialSuffix, d.state + journalSuffix} {
			bytes, err := removeFile(path)
			found = found || bytes > 0
			freed += bytes
			if err != nil {
				unlock()
				return freed, err
			}
		}
		unlock()
	}
	if !found {
		return 0, fmt.Errorf("%s is not in %s: %w", displayURL(r.url), f.s.downloads, fs.ErrNotExist)
	}
	return freed, nil
}

// remove removes what m.ref names from the repository.
func (m *model) remove(ctx context.Context) (freed int64, err error) {
	commits, err := m.repo.commits()
	if err != nil {
		return 0, err
	}
	commit := m.repo.commit(m.ref.revision)
	all := m.ref.file == "" && m.ref.kind == ""
	if !slices.Contains(commits, commit) {
		if all && len(commits) == 0 {
			if _, err := os.Stat(m.repo.path()); err == nil {
				return m.removeRest()
			}
		}
		return 0, fmt.Errorf("%s is not in %s: %w", m.ref, m.s.cache, fs.ErrNotExist)
	}
	refs, err := m.repo.revisions()
	if err != nil {
		return 0, err
	}
	if others := slices.DeleteFunc(refs[commit], func(name string) bool { return name == m.ref.revision }); len(others) > 0 {
		if all && m.ref.revision != commit {
			_, err := removeFile(m.repo.ref(m.ref.revision))
			return 0, err
		}
		return 0, fmt.Errorf("%s is at the same commit: remove %s@%s first", others[0], scheme+m.ref.id(), others[0])
	}
	blobs, freed, err := m.removeNames(commit, all)
	if err != nil {
		return freed, err
	}
	for _, blob := range blobs {
		bytes, err := m.removeBlob(ctx, blob)
		freed += bytes
		if err != nil {
			return freed, err
		}
	}
	if commits, err = m.repo.commits(); err != nil || len(commits) > 0 {
		return freed, err
	}
	bytes, err := m.removeRest()
	return freed + bytes, err
}

// removeNames removes the names of files from a snapshot, and the files themselves if they lie in the snapshot. It returns the blobs that
// the names lead to, and the bytes that are free.
func (m *model) removeNames(commit string, all bool) (blobs []string, freed int64, err error) {
	files, err := m.repo.present(commit)
	if err != nil {
		return nil, 0, err
	}
	chosen := files
	if !all {
		choose := pick
		if len(ggufModels(files)) > 1 { // the others may have the same tower
			choose = pickModel
		}
		c, err := choose(files, m.ref)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", m.repo.snapshot(commit, ""), notFoundError{err})
		}
		chosen = listing{}
		for _, e := range c.files {
			chosen[e.path] = e
		}
	}
	for e := range chosen.sorted() {
		file := m.repo.snapshot(commit, e.path)
		if blob := m.repo.blobOf(file); blob != "" {
			blobs = append(blobs, blob)
		}
		bytes, err := removeFile(file)
		freed += bytes
		if err != nil {
			return nil, freed, err
		}
		delete(files, e.path)
	}
	if len(files) > 0 {
		return blobs, freed, nil
	}
	if err := os.RemoveAll(m.repo.snapshot(commit, "")); err != nil {
		return nil, freed, err
	}
	for _, path := range []string{m.repo.tree(commit), m.repo.ref(m.ref.revision)} {
		if _, err := removeFile(path); err != nil {
			return nil, freed, err
		}
	}
	return blobs, freed, nil
}

// blobOf returns the name of the blob that a name in a snapshot leads to, "" if it leads to no blob.
func (r *repository) blobOf(file string) string {
	target, err := os.Readlink(file)
	if err != nil || filepath.Base(filepath.Dir(target)) != "blobs" {
		return ""
	}
	return filepath.Base(target)
}

// used returns the blobs that names in snapshots lead to.
func (r *repository) used() (map[string]bool, error) {
	used := map[string]bool{}
	commits, err := r.commits()
	for _, commit := range commits {
		if err != nil {
			break
		}
		err = filepath.WalkDir(r.snapshot(commit, ""), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type()&fs.ModeSymlink != 0 {
				used[r.blobOf(path)] = true
			}
			return err
		})
	}
	return used, err
}

// removeBlob removes a blob, unless a snapshot still uses it. The lock is that of programs that fetch the blob: they give it a name before
// they let go of the lock.
func (m *model) removeBlob(ctx context.Context, blob string) (freed int64, err error) {
	unlock, err := m.lock(ctx, filepath.Join(m.s.cache, ".locks", m.repo.folder, blob+".lock"), blob)
	if err != nil {
		return 0, err
	}
	defer unlock()
	used, err := m.repo.used()
	if err != nil || used[blob] {
		return 0, err
	}
	return removeFile(m.repo.path("blobs", blob))
}

// removeRest removes a repository without snapshots: the bytes of files that never came whole, unless a program is fetching
// them, and the folders.
func (m *model) removeRest() (freed int64, err error) {
	names, err := readFolder(m.repo.path("blobs"))
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		sum, _, _ := strings.Cut(name, ".")
		path := filepath.Join(m.s.cache, ".locks", m.repo.folder, sum+".lock")
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return freed, err
		}
		l := flock.New(path, flock.SetPermissions(0o664))
		if held, err := l.TryLock(); err != nil || !held {
			_ = l.Close()
			return freed, errors.Join(fmt.Errorf("another program is fetching it"), err)
		}
		bytes, err := removeFile(m.repo.path("blobs", name))
		_ = l.Close()
		freed += bytes
		if err != nil {
			return freed, err
		}
	}
	return freed, os.RemoveAll(m.repo.path())
}

// removeFile removes a file or a link, if it is there, and returns how many bytes that frees.
func removeFile(path string) (freed int64, err error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	case info.Mode().IsRegular():
		freed = info.Size()
	}
	if err := os.Remove(path); err != nil {
		return 0, err
	}
	return freed, nil
}
