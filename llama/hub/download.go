package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// A file of any server is fetched in three steps. lookUp asks for its first byte, and learns its size and its version from the answer. get
// fetches it as a hub's file is fetched, under a lock. describe then notes its version, so that the next Get fetches it only if the server
// has another one. For example, https://host/models/a.gguf leads to these files, and KEY is 16 hexadecimal digits of https://host/models's
// SHA-256:
//
//	downloads/KEY/a.gguf                                      the file, once it is whole
//	downloads/KEY.state/a.gguf.json                           {"url": …, "version": "ETag …", "size": …, "sha256": …, "modified": …}
//	downloads/KEY.state/a.gguf.lock                           held while the file is fetched
//	downloads/KEY.state/a.gguf.antigravity.incomplete         the bytes that have arrived
//	downloads/KEY.state/a.gguf.journal.incomplete             which bytes these are

// download is a file of a server that is no hub. The files of a folder of URLs lie in a folder KEY of their own, so that parts lie
// together. This package's own notes (a description, a lock, unfinished files) lie in a second folder, KEY.state. No server's file gets
// there, whatever its name, so that a server cannot describe its own files.
type download struct {
	*fetcher
	url   *url.URL
	path  string
	state string // what the paths of the notes begin with
	sum   string // SHA-256 that the name asks for; "": no checksum in the name
	was   int64  // downloadJSON.Modified of the file that look found; 0: there was no such file
}

// downloadJSON describes a file that was fetched.
type downloadJSON struct {
	URL      string `json:"url"` // without user and query, which may be secret
	Version  string `json:"version"`
	Size     int64  `json:"size"`
	SHA256   string `json:"sha256"`
	Modified int64  `json:"modified"` // when the file was last changed, in nanoseconds since 1970: a file changed at another time is hashed again
}

// getURL returns the path of the file at a URL and, if it is a part of a model that is split, of the first one.
func (s *settings) getURL(ctx context.Context, r *reference) (string, error) {
	f := newFetcher(s)
	defer f.http.CloseIdleConnections()
	files, err := f.downloads(r)
	if err != nil {
		return "", err
	}
	return files[0].path, f.getDownloads(ctx, files)
}

// downloads returns the file at a URL or, if it is a part of a model that is split, all parts in order.
func (f *fetcher) downloads(r *reference) ([]*download, error) {
	names := []string{path.Base(r.url.Path)}
	if whole, _, count, ok := partOf(names[0]); ok && count > 1 {
		if r.sha256 != "" {
			return nil, errors.New("#sha256= is of one file, and this is a part of several")
		}
		names = names[:0]
		for number := range count {
			names = append(names, partName(whole, number+1, count))
		}
	}
	folder := *r.url // with its query, which may say which file is meant
	folder.Path, folder.RawPath, folder.User = path.Dir(r.url.Path), "", nil
	key := sha256.Sum256([]byte(folder.String()))
	var files []*download
	for _, name := range names {
		u := *r.url
		if name != path.Base(u.Path) { // another part than the URL's
			u.Path, u.RawPath = strings.TrimSuffix(u.Path, path.Base(u.Path))+name, ""
		}
		folder := filepath.Join(f.s.downloads, hex.EncodeToString(key[:8]))
		files = append(files, &download{
			fetcher: f, url: &u, path: filepath.Join(folder, name), state: filepath.Join(folder+".state", name), sum: r.sha256,
		})
	}
	return files, nil
}

// getDownloads fetches those files that are not there, or not as the server has them.
func (f *fetcher) getDownloads(ctx context.Context, files []*download) error {
	if f.s.offline {
		for _, d := range files {
			if known, err := d.known(ctx); err != nil || !d.matches(known) {
				return fmt.Errorf("%s must have been fetched before, since %s: %w", displayURL(d.url), whyOffline, os.ErrNotExist)
			}
		}
		return nil
	}
	needed, total := map[*download]*remote{}, int64(0)
	for _, d := range files {
		r, err := d.lookUp(ctx)
		if err != nil {
			return err
		}
		if r != nil {
			needed[d] = r
			total += r.size
		}
	}
	if len(needed) == 0 {
		return nil
	}
	if err := f.checkDiskSpace(filepath.Dir(files[0].path), total); err != nil {
		return err
	}
	f.s.log.Info("fetching", "url", displayURL(files[0].url), "files", len(needed), "size", formatBytes(total), "to", filepath.Dir(files[0].path))
	f.meter.start(total)
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(f.s.connections)
	for d, r := range needed {
		workers.Go(func() error { return d.get(ctx, r) })
	}
	return workers.Wait()
}

// known returns the description of the file, if the file is there as it is described.
func (d *download) known(ctx context.Context) (*downloadJSON, error) {
	data, err := readFile(d.state+".json", maxJournal)
	if err != nil {
		return nil, err
	}
	var known downloadJSON
	if err := json.Unmarshal(data, &known); err != nil {
		return nil, err
	}
	info, err := os.Stat(d.path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() != known.Size || known.URL != displayURL(d.url) {
		return nil, fmt.Errorf("%s is another file: %w", d.path, os.ErrNotExist)
	}
	if modified := info.ModTime().UnixNano(); modified != known.Modified {
		sum, err := hashFile(ctx, d.path)
		if err != nil {
			return nil, err
		}
		if sum != known.SHA256 {
			return nil, fmt.Errorf("%s was changed: %w", d.path, os.ErrNotExist)
		}
		known.Modified = modified
		_ = d.describe(&known) // otherwise the next program hashes again
	}
	return &known, nil
}

// describe writes the description of the file.
func (d *download) describe(known *downloadJSON) error {
	data, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return writeFile(d.state+".json", data)
}

// matches reports whether a file that is there is the one that the name asks for.
func (d *download) matches(known *downloadJSON) bool { return d.sum == "" || d.sum == known.SHA256 }

// lookUp asks the server for the file's size and version. It returns nil if the file is in the cache in this version or, if the server
// cannot be reached, in any version. If the server sends no version, the file is fetched again.
func (d *download) lookUp(ctx context.Context) (r *remote, err error) {
	known, err := d.known(ctx)
	there := err == nil && d.matches(known)
	if there && d.sum != "" {
		return nil, nil
	}
	if there {
		d.was = known.Modified
	}
	tries := triesToAsk
	if there {
		tries = 1
	}
	err = d.retry(ctx, displayURL(d.url), tries, func() (bool, error) {
		response, err := d.client.get(ctx, d.url.String(), span{0, 1}) // servers of signed URLs know GET alone
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		r, err = d.remote(response)
		return false, err
	})
	var refused *StatusError
	switch {
	case there && err != nil && ctx.Err() == nil && !errors.As(err, &refused):
		d.s.log.Warn("the server cannot be asked; taking the file that was fetched before", "url", displayURL(d.url), "because", err)
		return nil, nil
	case err != nil:
		return nil, err
	case there && r.version == "":
		d.s.log.Warn("the server tells no version of the file; fetching it again. With #sha256=… it would be fetched once", "url", displayURL(d.url))
	case there && known.Version == r.version && known.Size == r.size:
		return nil, nil
	}
	return r, nil
}

// remote returns the description of the file from the answer to a request for its first byte.
func (d *download) remote(response *http.Response) (*remote, error) {
	size := response.ContentLength
	if response.StatusCode == http.StatusPartialContent {
		var err error
		if _, size, err = contentRange(response.Header.Get("Content-Range")); err != nil {
			return nil, fmt.Errorf("%s: %w", displayURL(d.url), err)
		}
	}
	if size < 0 {
		return nil, fmt.Errorf("%s does not tell how long the file is, so that nobody could tell whether all of it has arrived", displayURL(d.url))
	}
	r := &remote{name: path.Base(d.path), url: d.url.String(), size: size, version: versionOf(response.Header)}
	if d.sum != "" {
		r.sum = checksum{sha256Sum, d.sum}
	}
	return r, nil
}

// get fetches the file.
func (d *download) get(ctx context.Context, r *remote) error {
	unlock, err := d.lock(ctx, d.state+".lock", r.name)
	if err != nil {
		return err
	}
	defer unlock()
	if known, err := d.known(ctx); err == nil && d.matches(known) && (d.sum != "" || d.fetched(known, r)) {
		d.meter.add(r.size) // while this one waited for the lock
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(d.path), 0o777); err != nil {
		return &diskError{err}
	}
	sum, err := d.fetch(ctx, r, d.path, d.state)
	if err != nil {
		return err
	}
	info, err := os.Stat(d.path)
	if err != nil {
		return err
	}
	return d.describe(&downloadJSON{displayURL(d.url), r.version, r.size, sum, info.ModTime().UnixNano()})
}

// fetched reports whether the file became the server's after lookUp asked.
func (d *download) fetched(known *downloadJSON, r *remote) bool {
	return known.Version == r.version && known.Size == r.size && (r.version != "" || known.Modified != d.was)
}
