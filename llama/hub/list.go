package hub

import (
	"cmp"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
)

// List goes through the folders of the cache. For example, of a repository that has two branches at different commits, it makes these
// models:
//
//	refs/main = 1111…, snapshots/1111…/a-Q4_K_M.gguf                      hf:o/n:Q4_K_M
//	refs/dev = 2222…, snapshots/2222…/{config.json, model.safetensors}    hf:o/n@dev
//	snapshots/3333…/b.gguf, which no branch is at any more                hf:o/n/b.gguf@3333…

// Kept is a model that the cache has.
type Kept struct {
	// Name is for Get and Remove. It has the revision, unless that is the main branch.
	Name string
	// Path is for llama.Load, as Get returns it.
	Path string
	// Bytes is the size of the model's files. Files that several revisions have in common are kept once, and count for each of them.
	Bytes int64
	// Modified is the time at which the latest of its files came.
	Modified time.Time
	// Whole reports whether all files are there. If not, Get fetches the others.
	Whole bool
}

// List returns the models of the hub that the cache has, by name, also those that Python's library fetched. It asks no server. Each GGUF
// model of a repository counts on its own; all other files of a revision are one model. A cache that does not exist has no models. Models
// without an owner's name, and data sets, are left out. Of the options, only Cache counts.
func List(o *Options) ([]Kept, error) {
	s, err := newSettings(o)
	if err != nil {
		return nil, err
	}
	folders, err := readFolder(s.cache)
	if err != nil {
		return nil, fmt.Errorf("list the models in %s: %w", s.cache, err)
	}
	var all []Kept
	for _, folder := range folders {
		r, ok := parseFolder(folder)
		if !ok {
			continue
		}
		kept, err := (&model{newFetcher(s), r, newRepository(s, r)}).kept()
		if err != nil {
			return nil, fmt.Errorf("list the models in %s: %w", filepath.Join(s.cache, folder), err)
		}
		all = append(all, kept...)
	}
	slices.SortFunc(all, func(a, b Kept) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// readFolder returns the names in a folder, in order. A folder that does not exist has no names.
func readFolder(path string) (names []string, err error) {
	entries, err := os.ReadDir(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// parseFolder returns the repository that a folder of the cache is of.
func parseFolder(folder string) (r *reference, ok bool) {
	name, ok := strings.CutPrefix(folder, foldersOfModels)
	if !ok {
		return nil, false
	}
	owner, name, ok := strings.Cut(name, "--")
	if !ok {
		return nil, false
	}
	r, err := parseName(scheme+owner+"/"+name, nil)
	return r, err == nil && r.file == "" && r.kind == ""
}

// kept returns the models of a repository.
func (m *model) kept() (all []Kept, err error) {
	commits, err := m.repo.commits()
	if err != nil {
		return nil, err
	}
	refs, err := m.repo.revisions()
	if err != nil {
		return nil, err
	}
	for _, commit := range commits {
		r := *m.ref
		r.revision = commit
		if at := refs[commit]; len(at) > 0 {
			r.revision = at[0]
		}
		kept, err := (&model{m.fetcher, &r, m.repo}).keptAt(commit)
		if err != nil {
			return nil, err
		}
		all = append(all, kept...)
	}
	if len(all) == 0 { // what an interrupted Get left
		if k := (Kept{Name: m.ref.text(), Path: m.repo.path()}); k.add(m.repo.path("blobs")) {
			all = append(all, k)
		}
	}
	return all, nil
}

// keptAt returns the models of a commit. The revision of m.ref is what names them.
func (m *model) keptAt(commit string) (all []Kept, err error) {
	files, err := m.repo.present(commit)
	if err != nil {
		return nil, err
	}
	known, err := m.repo.listing(commit)
	if err != nil {
		return nil, err
	}
	models := ggufFiles(files)
	if own := ggufModels(files); len(own) > 0 { // a tower belongs to the models that it is fetched with
		models = own
	}
	for _, g := range models {
		r := *m.ref
		if r.kind = kindOf(g.name); r.kind != "" {
			if c, err := pick(known, &r); err != nil || c.path != g.parts[0].path {
				r.kind = "" // another file has this type, too
			}
		}
		if r.kind == "" {
			r.file = g.parts[0].path
		}
		k := Kept{Name: r.text(), Path: m.repo.snapshot(commit, g.parts[0].path), Whole: len(g.parts) == g.count}
		for _, e := range g.parts {
			k.add(m.repo.snapshot(commit, e.path))
			delete(files, e.path)
		}
		tower := choice{path: g.parts[0].path}
		tower.addTower(files)
		for _, e := range tower.files {
			k.add(m.repo.snapshot(commit, e.path))
		}
		all = append(all, k)
	}
	if len(files) == 0 || len(models) > 0 && !hasFolder(files) { // a GGUF model's page belongs to it
		return all, nil
	}
	k := Kept{Name: m.ref.text(), Path: m.repo.snapshot(commit, "")}
	for e := range files.sorted() {
		k.add(m.repo.snapshot(commit, e.path))
	}
	_, err = m.cached(commit)
	k.Whole = err == nil
	return append(all, k), nil
}

// hasFolder reports whether the files of a revision have weights that are no GGUF files.
func hasFolder(files listing) bool {
	for name := range files {
		if name == checkpoint.IndexFile || path.Ext(name) == ".safetensors" {
			return true
		}
	}
	return false
}

// add adds a file, or all files of a folder, and reports whether there was one.
func (k *Kept) add(path string) (found bool) {
	info, err := os.Stat(path) // of what a link leads to
	switch {
	case err != nil:
		return false
	case !info.IsDir():
		k.Bytes += info.Size()
		if info.ModTime().After(k.Modified) {
			k.Modified = info.ModTime()
		}
		return true
	}
	names, _ := readFolder(path)
	for _, name := range names {
		found = k.add(filepath.Join(path, name)) || found
	}
	return found
}

// text returns the whole name, as parseName reads it.
func (r *reference) text() string {
	text := scheme + r.id()
	switch {
	case r.file != "":
		text += "/" + r.file
	case r.kind != "":
		text += ":" + r.kind
	case r.revision != mainBranch && specialRef.FindString(r.revision) != r.revision:
		return text + "@" + url.PathEscape(r.revision)
	}
	if r.revision != mainBranch || strings.Contains(r.file, "@") {
		text += "@" + r.revision
	}
	return text
}

// commits returns the commits that have a snapshot.
func (r *repository) commits() ([]string, error) {
	names, err := readFolder(r.path("snapshots"))
	return slices.DeleteFunc(names, func(name string) bool { return !commitText.MatchString(name) }), err
}

// revisions returns the branches and tags that are at each commit: the main branch first, then by name.
func (r *repository) revisions() (map[string][]string, error) {
	refs, top := map[string][]string{}, r.path("refs")
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil || d.IsDir():
			return err
		}
		name, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		if name = filepath.ToSlash(name); !validRevision(name) {
			return nil
		}
		if commit := r.commit(name); commit != "" {
			refs[commit] = append(refs[commit], name)
		}
		return nil
	})
	for _, names := range refs {
		slices.SortStableFunc(names, func(a, b string) int {
			switch mainBranch {
			case a:
				return -1
			case b:
				return 1
			}
			return 0
		})
	}
	return refs, err
}
