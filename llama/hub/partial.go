package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
)

// partial is a file that is being fetched: its bytes in their places, and a journal of the bytes that have arrived. A later process
// continues from both. The names of both end in ".incomplete", so that the commands of Python's library that tidy the cache remove them.
//
// Bytes that have arrived are never written again, so the bytes that were hashed are the bytes in the file.
//
// For example, bytes 0 to 19 and 40 to 59 of a file of 100 bytes have arrived:
//
//	journal        {"version":"","size":100,"have":[[0,20],[40,60]]}
//	take(30)       the bytes 20 to 39: the first gap
//	take(30)       the bytes 60 to 89
//	hashInto       has hashed bytes 0 to 19, and waits for the next ones
//	write at 10    of 20 bytes: writes bytes 20 to 29 alone, and returns 10
type partial struct {
	path, journal string
	version       string // of the file on the server: what of another one is there is worth nothing
	size          int64
	file          disk

	mu     sync.Mutex
	have   spans // bytes that are in the file
	taken  spans // bytes that are in the file or are being fetched
	saved  time.Time
	change chan struct{} // gets an element, if it is empty, when more bytes are in the file

	saving sync.Mutex // held by who writes the journal; locked before mu
}

// disk is the file that holds a partial's bytes.
type disk interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
	Close() error
}

// openPartial opens what there is of a file, or makes it. Nobody else may have it open.
func openPartial(path, version string, size int64) (*partial, error) {
	p := &partial{path: path + partialSuffix, journal: path + journalSuffix, version: version, size: size, change: make(chan struct{}, 1)}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(p.path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	p.file = f
	if data, err := readFile(p.journal, maxJournal); err == nil && isFile(p.path, size) {
		p.have, _ = parseJournal(data, version, size)
	}
	if p.have == nil {
		// The file gets its length here, and its place on the disk as it is written.
		if err := errors.Join(f.Truncate(0), f.Truncate(size)); err != nil {
			return nil, errors.Join(fmt.Errorf("make a file of %d bytes: %w", size, err), f.Close())
		}
	}
	p.taken = append(p.taken, p.have...)
	p.saved = time.Now()
	return p, nil
}

// journalSuffix is what a file's path is followed by in its journal's.
const journalSuffix = ".journal.incomplete"

// partialSuffix ends the names of files that have not wholly arrived.
const partialSuffix = ".antigravity.incomplete"

// journalJSON is the journal.
type journalJSON struct {
	Version string     `json:"version"`
	Size    int64      `json:"size"`
	Have    [][2]int64 `json:"have"`
}

// The bounds on a journal.
const (
	maxJournal = 1 << 20 // bytes
	saveEvery  = time.Second
)

// parseJournal returns the spans that have arrived of a file with this version and size.
func parseJournal(data []byte, version string, size int64) (spans, error) {
	var j journalJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, err
	}
	if j.Version != version || j.Size != size {
		return nil, errors.New("the journal is of another file")
	}
	var s spans
	for _, have := range j.Have {
		if have[0] < 0 || have[0] > have[1] || have[1] > size {
			return nil, fmt.Errorf("the journal has the bytes %d of %d", have, size)
		}
		s = s.add(span{have[0], have[1]})
	}
	return s, nil
}

// save writes the journal: the bytes that had arrived when save began, after these are on the disk. So after a loss of power the journal
// names no bytes that the file lacks. The caller holds saving, and not mu: others write bytes while these go to the disk.
func (p *partial) save() error {
	j := journalJSON{p.version, p.size, [][2]int64{}}
	p.mu.Lock()
	for _, have := range p.have {
		j.Have = append(j.Have, [2]int64{have.from, have.to})
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.saved = time.Now()
	}()
	if err := p.file.Sync(); err != nil {
		return err
	}
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return writeFile(p.journal, data)
}

// doneBytes returns how many bytes are there.
func (p *partial) doneBytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.have.size()
}

// take hands out the first bytes, at most most, that have neither arrived nor been handed out. ok is false if there are no such bytes.
func (p *partial) take(most int64) (s span, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s = p.taken.gap(span{0, p.size})
	s.to = min(s.to, s.from+most)
	p.taken = p.taken.add(s)
	return s, s.from < s.to
}

// takeAll hands out all that is not there, to a goroutine that gets the file only as a whole. Bytes that others fetch may come twice then,
// and are kept once. It returns the span after the beginning that is there.
func (p *partial) takeAll() span {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = p.taken.add(span{0, p.size})
	return span{p.donePrefix(), p.size}
}

// donePrefix returns how much is there from the file's beginning on. The caller holds mu.
func (p *partial) donePrefix() int64 {
	if len(p.have) > 0 && p.have[0].from == 0 {
		return p.have[0].to
	}
	return 0
}

// write puts bytes in their place, and returns how many of them were not there yet.
func (p *partial) write(b []byte, at int64) (added int64, err error) {
	added, late, err := p.put(b, at)
	if late && p.saving.TryLock() {
		_ = p.save() // without it a later process fetches more than it need
		p.saving.Unlock()
	}
	return added, err
}

// put is write without the journal. late reports whether the journal is to be written.
func (p *partial) put(b []byte, at int64) (added int64, late bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	in := span{at, at + int64(len(b))}
	for {
		missing := p.have.gap(in)
		if missing.from >= missing.to {
			break
		}
		if _, err := p.file.WriteAt(b[missing.from-at:missing.to-at], missing.from); err != nil {
			return added, false, &diskError{err}
		}
		p.have = p.have.add(missing)
		added += missing.to - missing.from
	}
	select {
	case p.change <- struct{}{}:
	default:
	}
	return added, time.Since(p.saved) > saveEvery, nil
}

// hashInto hashes the file as it arrives, until all of it has.
func (p *partial) hashInto(ctx context.Context, h hash.Hash) error {
	for at := int64(0); at < p.size; {
		p.mu.Lock()
		end := p.donePrefix()
		p.mu.Unlock()
		if at == end {
			select {
			case <-p.change:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		end = min(end, at+16<<20) // a moment's work, after which the context is looked at
		if _, err := io.Copy(h, io.NewSectionReader(p.file, at, end-at)); err != nil {
			return fmt.Errorf("read %s: %w", p.path, err)
		}
		if at = end; ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// close closes the file and keeps its bytes for later. If that fails, more has to be fetched again.
func (p *partial) close() {
	p.saving.Lock()
	defer p.saving.Unlock()
	_ = p.save()
	_ = p.file.Close()
}

// discard closes and removes the file.
func (p *partial) discard() error {
	err := errors.Join(p.file.Close(), os.Remove(p.path))
	_ = os.Remove(p.journal) // there may be no journal yet, and without its file it means nothing
	return err
}

// finish gives the file, which is whole and right, its name.
func (p *partial) finish(path string) error {
	if err := errors.Join(p.file.Sync(), p.file.Close(), atomicfile.Rename(p.path, path)); err != nil {
		return err
	}
	_ = os.Remove(p.journal) // its file is gone
	return nil
}

// diskError is what kept bytes that had arrived from being written.
type diskError struct{ error }

// Error says which remedies may help.
func (e *diskError) Error() string {
	if isFull(e.error) {
		return e.error.Error() + "; make room, or let HF_HOME name a folder where there is some, and fetch again: what has arrived stays"
	}
	return e.error.Error()
}

// Unwrap returns the error itself.
func (e *diskError) Unwrap() error { return e.error }
