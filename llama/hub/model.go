package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// A model of the hub is fetched into the cache that Python's library uses. The hub is asked for the commit of a branch and for the
// commit's files; pick chooses among them; those that the cache lacks are fetched. A commit never changes, so a commit that the cache has
// needs no request. For example, hf:owner/name is a folder with two shards, and nothing is in the cache:
//
//	GET /api/models/owner/name/revision/main                          the commit, c0ffee…
//	GET /api/models/owner/name/tree/c0ffee…?recursive=true            the files, with sizes and checksums
//	GET /owner/name/resolve/c0ffee…/model.safetensors.index.json      first and alone: it names the shards
//	GET /owner/name/resolve/c0ffee…/model-00001-of-00002.safetensors  this file and the others, several at once
//
// Each file is put among the blobs, and linked into the commit's snapshot.

// model is a model of the hub that is being got.
type model struct {
	*fetcher
	ref  *reference
	repo *repository
}

// getModel returns the path of a model of the hub.
func (s *settings) getModel(ctx context.Context, r *reference) (string, error) {
	m := &model{newFetcher(s), r, newRepository(s, r)}
	defer m.http.CloseIdleConnections()
	cached, err := m.cached(m.repo.commit(r.revision))
	switch {
	case err == nil && (s.offline || commitText.MatchString(r.revision)):
		return cached, nil
	case s.offline:
		return "", fmt.Errorf("the model must be in %s, since %s: %w", s.cache, whyOffline, err)
	}
	inCache := err == nil
	tries := triesToAsk
	if inCache { // which is quick, so that somebody without a network need not wait
		tries = 1
	}
	commit, files, err := m.lookUp(ctx, tries)
	if err != nil {
		if inCache && ctx.Err() == nil && !isMistake(err) {
			s.log.Warn("the hub cannot be asked; taking the model that is in the cache", "model", r.String(), "because", err)
			return cached, nil
		}
		return "", err
	}
	path, err := m.fetchSnapshot(ctx, commit, files)
	if err != nil {
		return "", err
	}
	if err := m.repo.setCommit(r.revision, commit); err != nil {
		s.log.Warn("the commit of a branch cannot be noted", "because", err)
	}
	return path, nil
}

// isMistake reports whether an error is about the request itself, and not about the network, the hub's state or the user's rights.
func isMistake(err error) bool {
	var refused *StatusError
	return errors.As(err, &refused) && refused.Code == codeNoRevision
}

// cached returns the path of the model of a commit if the cache has all of it.
func (m *model) cached(commit string) (string, error) {
	if commit == "" {
		return "", fmt.Errorf("%s is not there, or never was whole: %w", m.ref, fs.ErrNotExist)
	}
	files, err := m.repo.listing(commit)
	if err != nil {
		return "", err
	}
	c, err := pick(files, m.ref)
	if err != nil {
		return "", fmt.Errorf("%s at %s: %w", m.ref, commit, notFoundError{err})
	}
	if c.index != nil && m.repo.has(commit, c.index) {
		if err := m.addShards(commit, c); err != nil {
			return "", fmt.Errorf("%s at %s: %w", m.ref, commit, notFoundError{err})
		}
	}
	if missing := m.missing(commit, c); len(missing) > 0 {
		return "", fmt.Errorf("%s is not whole, it lacks %s: %w", m.ref, missing[0].path, fs.ErrNotExist)
	}
	return m.repo.snapshot(commit, c.path), nil
}

// notFoundError says why the cache does not have a model.
type notFoundError struct{ error }

// Is makes the error match fs.ErrNotExist.
func (notFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// missing returns the files of a choice that are not in a commit's snapshot.
func (m *model) missing(commit string, c *choice) []entry {
	return slices.DeleteFunc(slices.Clone(c.files), func(e entry) bool { return m.repo.has(commit, &e) })
}

// maxIndex bounds the index of shards, in bytes, as loading does.
const maxIndex = 16 << 20

// addShards adds the shards to a choice, from the index in the snapshot.
func (m *model) addShards(commit string, c *choice) error {
	data, err := readFile(m.repo.snapshot(commit, c.index.path), maxIndex)
	if err != nil {
		return err
	}
	return c.addShards(data)
}

// lookUp asks the hub which commit the revision is at and, unless the cache knows, which files the commit has.
func (m *model) lookUp(ctx context.Context, tries int) (commit string, files listing, err error) {
	commit = m.ref.revision
	if !commitText.MatchString(commit) {
		if commit, err = m.askCommit(ctx, tries); err != nil {
			return "", nil, err
		}
	}
	if files, err = m.repo.listed(commit); err == nil {
		return commit, files, nil
	}
	if files, err = m.askListing(ctx, commit, tries); err != nil {
		return "", nil, err
	}
	if err := m.repo.setListing(commit, files); err != nil {
		m.s.log.Warn("the listing of a model cannot be kept", "because", err)
	}
	return commit, files, nil
}

// maxInformation bounds the hub's description of a model, in bytes.
const maxInformation = 32 << 20

// askCommit asks the hub which commit the revision is at.
func (m *model) askCommit(ctx context.Context, tries int) (string, error) {
	var information struct {
		Commit string `json:"sha"`
	}
	_, err := m.ask(ctx, m.api("revision", m.ref.revision), tries, maxInformation, func(r io.Reader) error {
		return json.NewDecoder(r).Decode(&information)
	})
	if err == nil && !commitText.MatchString(information.Commit) {
		err = fmt.Errorf("%s names %.60q as the commit of %s: is it a hub?", m.s.endpoint, information.Commit, m.ref)
	}
	return information.Commit, err
}

// askListing asks the hub which files a commit has, page by page.
func (m *model) askListing(ctx context.Context, commit string, tries int) (listing, error) {
	files := listing{}
	next := m.api("tree", commit) + "?recursive=true"
	for range maxPages {
		var page listing
		header, err := m.ask(ctx, next, tries, maxPage, func(r io.Reader) error {
			page = listing{} // what an attempt read that was cut short is read again
			return page.addPage(r)
		})
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if err := files.add(e); err != nil {
				return nil, err
			}
		}
		if next, err = nextPage(header, next); err != nil {
			return nil, fmt.Errorf("list the files: %w", err)
		}
		if next == "" {
			return files, nil
		}
	}
	return nil, fmt.Errorf("the repository's listing has more than %d pages", maxPages)
}

// nextPage returns the URL of a listing's next page from the header Link, or "" after the last page. Since the listing has the checksums
// that files are held to, a page over http is an error if the first came over https.
func nextPage(h http.Header, address string) (string, error) {
	for _, link := range h.Values("Link") {
		for part := range strings.SplitSeq(link, ",") {
			target, attributes, ok := strings.Cut(strings.TrimSpace(part), ">")
			if !ok || !strings.HasPrefix(target, "<") || !strings.Contains(strings.ReplaceAll(attributes, `"`, ""), "rel=next") {
				continue
			}
			base, err := url.Parse(address)
			if err != nil {
				return "", err
			}
			u, err := base.Parse(target[1:])
			if err != nil {
				return "", err
			}
			return u.String(), checkRedirect(base, u)
		}
	}
	return "", nil
}

// api returns a URL of the hub's API about the repository.
func (m *model) api(what, revision string) string {
	return m.s.endpoint.String() + "/api/models/" + m.ref.id() + "/" + what + "/" + url.PathEscape(revision)
}

// fetchSnapshot fetches what the model needs of a commit, and returns its path.
func (m *model) fetchSnapshot(ctx context.Context, commit string, files listing) (string, error) {
	c, err := pick(files, m.ref)
	if err != nil {
		return "", err
	}
	if c.index != nil { // first and alone, since it lists the other files to fetch
		if err := m.fetchAll(ctx, commit, []entry{*c.index}); err != nil {
			return "", err
		}
		if err := m.addShards(commit, c); err != nil {
			return "", err
		}
	}
	missing := m.missing(commit, c)
	var total int64
	for _, e := range missing {
		total += e.size
	}
	if len(missing) > 0 {
		m.s.log.Info("fetching", "model", m.ref.String(), "commit", commit, "files", len(missing), "size", formatBytes(total), "to", m.repo.path())
		m.repo.tag()
	}
	m.meter.start(total)
	if err := m.fetchAll(ctx, commit, missing); err != nil {
		return "", err
	}
	return m.repo.snapshot(commit, c.path), nil
}

// fetchAll fetches files of a commit, several at once.
func (m *model) fetchAll(ctx context.Context, commit string, files []entry) error {
	if err := m.checkDiskSpace(m.repo.path("blobs"), m.missingBytes(files)); err != nil {
		return err
	}
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(m.s.connections)
	for _, e := range files {
		workers.Go(func() error { return m.fetchFile(ctx, commit, &e) })
	}
	return workers.Wait()
}

// missingBytes returns how many bytes files will add to the cache.
func (m *model) missingBytes(files []entry) (bytes int64) {
	for _, e := range files {
		if isFile(m.repo.blob(&e), e.size) {
			continue
		}
		bytes += e.size
		if data, err := readFile(m.repo.blob(&e)+journalSuffix, maxJournal); err == nil {
			have, _ := parseJournal(data, "", e.size)
			bytes -= have.size()
		}
	}
	return bytes
}

// fetchFile makes a file part of a commit's snapshot, and fetches it unless it is in the cache.
func (m *model) fetchFile(ctx context.Context, commit string, e *entry) error {
	unlock, err := m.lock(ctx, m.repo.lock(e), e.path)
	if err != nil {
		return err
	}
	defer unlock()
	if m.repo.has(commit, e) { // while this one waited for the lock
		m.meter.add(e.size)
		return nil
	}
	blob, fetched := m.repo.blob(e), false
	if isFile(blob, e.size) {
		m.meter.add(e.size)
	} else {
		path := strings.Split(e.path, "/")
		for i := range path {
			path[i] = url.PathEscape(path[i])
		}
		address := m.s.endpoint.String() + "/" + m.ref.id() + "/resolve/" + commit + "/" + strings.Join(path, "/")
		r := &remote{name: e.path, url: address, size: e.size, sum: e.sum()}
		if _, err := m.fetch(ctx, r, blob, blob); err != nil {
			return err
		}
		fetched = true
	}
	if err := m.repo.link(ctx, commit, e, fetched); err != nil {
		return fmt.Errorf("put %s in its place in %s: %w", e.path, filepath.Dir(m.repo.snapshot(commit, e.path)), &diskError{err})
	}
	return nil
}
