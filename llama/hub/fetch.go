package hub

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"
)

// A file is fetched in pieces of tuning.piece bytes, several at once, and hashed in its order while it arrives. The first request shows
// whether the server knows ranges. Only then do the other goroutines begin; otherwise the one answer brings the whole file. A file that
// has arrived with a wrong checksum is thrown away. For example, with pieces of 100 bytes, a file of 250 bytes and four connections:
//
//	goroutine 1   GET bytes=0-99      206 Partial Content: ranged starts the others
//	goroutine 2   GET bytes=100-199   206
//	goroutine 3   GET bytes=200-249   206
//	goroutine 4   no piece is left
//	hashInto      hashes bytes 0 to 99, then 100 to 199, then the rest, as soon as each is there

// remote is a file on a server.
type remote struct {
	name    string // for messages
	url     string
	size    int64
	sum     checksum // kind noSum: not known
	version string   // of the file, as the answers' versionOf must have it; "": the checksum vouches for it

	mu     sync.Mutex
	direct string // where redirects led to, for the next request; "": not known
}

// address returns what to request next, and whether it is where redirects led to.
func (r *remote) address() (url string, direct bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.direct != "" {
		return r.direct, true
	}
	return r.url, false
}

// setDirect notes where redirects lead to, "" for nowhere.
func (r *remote) setDirect(url string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.direct = url
}

// fetcher fetches files.
type fetcher struct {
	*client
	meter *meter
}

func newFetcher(s *settings) *fetcher {
	return &fetcher{newClient(s), &meter{tell: s.progress, every: s.tuning.tell}}
}

// damagedError says that what a server sent is not the file.
type damagedError struct{ name, got, want string }

// Error names both checksums.
func (e *damagedError) Error() string {
	return fmt.Sprintf("%s has arrived with the checksum %s, where %s is wanted: the server, or something on the way to it, "+
		"sends wrong bytes, which were thrown away", e.name, e.got, e.want)
}

// fetch fetches a file to path. The file appears there once all of it has arrived and its checksum is right. Until then its bytes, and the
// journal, are in files with paths that begin with unfinished, on the same disk as path. Bytes from an earlier attempt are not fetched
// again. The caller holds the file's lock. fetch returns the file's SHA-256, or its Git checksum if that is known.
func (f *fetcher) fetch(ctx context.Context, r *remote, path, unfinished string) (sum string, err error) {
	for {
		if r.sum.kind == noSum && r.version == "" {
			_ = os.Remove(unfinished + journalSuffix) // nothing says that what an earlier attempt left is of the same file
		}
		p, err := openPartial(unfinished, r.version, r.size)
		if err != nil {
			return "", &diskError{err}
		}
		resumed := p.doneBytes()
		f.meter.add(resumed)
		if sum, err = f.fill(ctx, r, p); err != nil {
			if p.doneBytes() == 0 {
				_ = p.discard() // the error that matters is the other one
			} else {
				p.close()
			}
			return "", err
		}
		if r.sum.kind == noSum || sum == r.sum.hex {
			if err := p.finish(path); err != nil {
				return "", &diskError{err}
			}
			return sum, nil
		}
		f.meter.add(-r.size)
		if err := p.discard(); err != nil {
			return "", err
		}
		if resumed == 0 {
			return "", &damagedError{r.name, sum, r.sum.hex}
		}
		f.s.log.Warn("what an earlier attempt left was damaged; fetching again from the beginning", "file", r.name)
	}
}

// fill fetches the missing parts of a file, and returns the checksum of the whole.
func (f *fetcher) fill(ctx context.Context, r *remote, p *partial) (sum string, err error) {
	h := r.sum.new(r.size)
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return p.hashInto(ctx, h) })
	all.Go(func() error {
		workers, ctx := errgroup.WithContext(ctx)
		others := sync.OnceFunc(func() { // when the server has shown that it knows ranges
			for range f.s.connections - 1 {
				workers.Go(func() error { return f.fetchRemaining(ctx, r, p, func() {}) })
			}
		})
		workers.Go(func() error { return f.fetchRemaining(ctx, r, p, others) })
		if err := workers.Wait(); err != nil || p.doneBytes() == r.size {
			return err
		}
		return fmt.Errorf("%s: %d bytes of %d have arrived, and nobody fetches the others", r.name, p.doneBytes(), r.size) // a mistake of this package
	})
	if err := all.Wait(); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// fetchRemaining fetches missing pieces, one after the other, until no piece is left to take. It calls ranged when the server has answered
// with a range.
func (f *fetcher) fetchRemaining(ctx context.Context, r *remote, p *partial, ranged func()) error {
	for {
		piece, ok := p.take(f.s.tuning.piece)
		if !ok {
			return nil
		}
		err := f.retry(ctx, r.name, triesToFetch, func() (bool, error) {
			before := p.doneBytes()
			err := f.fetchPiece(ctx, r, p, &piece, ranged)
			return p.doneBytes() > before, err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
}

// fetchPiece fetches a piece of a file and moves the piece's beginning as bytes arrive. If the server knows no ranges, the piece becomes
// the whole file.
func (f *fetcher) fetchPiece(ctx context.Context, r *remote, p *partial, piece *span, ranged func()) error {
	select {
	case f.limit <- struct{}{}:
		defer func() { <-f.limit }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for piece.from < piece.to {
		if err := f.fetchOnce(ctx, r, p, piece, ranged); err != nil {
			return err
		}
	}
	return nil
}

// fetchOnce makes one request for a piece, and reads what the server gives of it.
func (f *fetcher) fetchOnce(ctx context.Context, r *remote, p *partial, piece *span, ranged func()) error {
	asked := *piece
	if asked == (span{0, r.size}) {
		asked = span{} // all of it needs no range
	}
	address, direct := r.address()
	response, err := f.get(ctx, address, asked)
	if err != nil {
		var refused *StatusError
		var t *retryableError
		if direct && errors.As(err, &refused) && !errors.As(err, &t) { // such addresses hold for a while only
			r.setDirect("")
			return &retryableError{error: err}
		}
		return err
	}
	defer response.Body.Close()
	part, err := f.part(response, r, asked)
	if err != nil {
		return err
	}
	if !sameOrigin(response.Request.URL, f.s.endpoint) {
		r.setDirect(response.Request.URL.String())
	}
	if response.StatusCode == http.StatusPartialContent {
		ranged()
	} else { // the server sends the file from its beginning, whatever was asked for
		*piece = p.takeAll()
	}
	return f.read(ctx, response.Body, p, part, piece)
}

// part returns which bytes of the file an answer has, after a look at whether it can be an answer to the request.
func (f *fetcher) part(response *http.Response, r *remote, asked span) (part span, err error) {
	if v := versionOf(response.Header); r.version != "" && v != r.version {
		return part, &changedError{r.name}
	}
	part = span{0, r.size}
	size := response.ContentLength
	if response.StatusCode == http.StatusPartialContent {
		if part, size, err = contentRange(response.Header.Get("Content-Range")); err != nil {
			return part, &retryableError{error: fmt.Errorf("%s: %w", displayURL(response.Request.URL), err)}
		}
		if part.from != asked.from || part.to > asked.to {
			return part, &retryableError{error: fmt.Errorf("%s sends the bytes from %d to %d, where those from %d to %d were asked for",
				displayURL(response.Request.URL), part.from, part.to, asked.from, asked.to)}
		}
	}
	if size >= 0 && size != r.size {
		return part, &retryableError{error: fmt.Errorf("%s sends a file of %d bytes, where one of %d is wanted",
			displayURL(response.Request.URL), size, r.size)}
	}
	return part, nil
}

// readBytes is how much is read and written at a time.
const readBytes = 128 << 10

// read reads the part of the file that a body has, and moves the piece's beginning with it.
func (f *fetcher) read(ctx context.Context, body io.Reader, p *partial, part span, piece *span) error {
	buffer := make([]byte, min(readBytes, part.to-part.from))
	for at := part.from; at < part.to; {
		n, err := body.Read(buffer[:min(int64(len(buffer)), part.to-at)])
		added, writing := p.write(buffer[:n], at)
		f.meter.add(added)
		if writing != nil {
			return writing
		}
		at += int64(n)
		piece.from = max(piece.from, at)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case at == part.to:
		case err == io.EOF:
			return &retryableError{error: fmt.Errorf("the server ended %d bytes too early", part.to-at)}
		case err != nil:
			return err
		}
	}
	return nil
}

// changedError says that a file without a checksum became another one while it was fetched.
type changedError struct{ name string }

// Error says that the file has changed.
func (e *changedError) Error() string {
	return e.name + " has changed on the server while it was fetched: fetch it again"
}

// versionOf returns the version of a file at a URL, from its ETag or date, or "".
func versionOf(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" {
		return "ETag " + tag
	}
	if date := h.Get("Last-Modified"); date != "" {
		return "Last-Modified " + date
	}
	return ""
}

// lockEvery is how often a lock is asked for that somebody holds.
const lockEvery = 100 * time.Millisecond

// lock takes a file lock, which others who hold it give back when their process ends at the latest.
func (f *fetcher) lock(ctx context.Context, path, name string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, &diskError{err}
	}
	l := flock.New(path, flock.SetPermissions(0o664)) // as Python's library has it, for caches that people share
	held, err := l.TryLock()
	if err == nil && !held {
		f.s.log.Warn("another program is fetching the same; waiting for it", "file", name)
		held, err = l.TryLockContext(ctx, lockEvery)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil || !held {
		_ = l.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = l.Close() }, nil
}

// checkDiskSpace looks at whether bytes still fit on the disk of a folder.
func (f *fetcher) checkDiskSpace(folder string, bytes int64) error {
	for path := folder; ; path = filepath.Dir(path) {
		if _, err := os.Stat(path); err != nil && path != filepath.Dir(path) {
			continue // it is not made yet
		}
		if free, known := f.s.tuning.free(path); known && free < bytes {
			return fmt.Errorf("%s are to be fetched to %s, where %s are free: make room, or let HF_HOME name a folder where there is some",
				formatBytes(bytes), folder, formatBytes(free))
		}
		return nil
	}
}

// formatBytes returns a number of bytes in a unit that suits it.
func formatBytes(bytes int64) string {
	switch {
	case bytes >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
	case bytes >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
