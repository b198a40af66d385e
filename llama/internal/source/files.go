package source

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// files is the source of a model's files: a folder of the system, from which weights are mapped, or an fs.FS, from which they are copied.
//
// For example, a model lies in /m, or at the top of an fs.FS:
//
//	                             folder("/m")                        fileSystem{fsys}
//	read("config.json")          its bytes, at most 16 MiB           the same
//	head("model.gguf")           the first 64 bytes                  the same
//	weights("model.gguf")        the bytes of a mapping              a copy in memory, read a megabyte at a time
//	path("config.json")          /m/config.json                      config.json
type files interface {
	// read returns a small file whole; the error is fs.ErrNotExist's kind if there is no such file.
	read(name string) ([]byte, error)
	// head returns the first bytes of a file, up to headBytes.
	head(name string) ([]byte, error)
	// list returns the names of some files; listIn those of some files in a folder of the folder, nothing if there is no such folder.
	list() []string
	listIn(folder string) []string
	// weights returns a large file's bytes and their owner, to be closed when they are no longer needed. A file that cannot be mapped is
	// copied into the memory, until the context ends.
	weights(ctx context.Context, name string, memory tensor.Memory) ([]byte, io.Closer, error)
	// path names a file for messages.
	path(name string) string
}

// headBytes is how much of a file says what it is.
const headBytes = 64

// maxListed bounds how many files of a folder are looked at for a better error message.
const maxListed = 1000

// The bounds on files that are read whole: on a tokenizer.json, which has up to some 40 MB in known models, and on all others.
const (
	maxTokenizerFile = 256 << 20
	maxSmallFile     = 16 << 20
)

// smallFileLimit returns the bound on a file that is read whole. A file with an unusual name is taken for a tokenizer.
func smallFileLimit(name string) int {
	base := filepath.Base(name)
	if base != checkpoint.TokenizerFile && slices.Contains(checkpoint.SmallFiles(), base) || base == checkpoint.IndexFile ||
		base == checkpoint.AdapterConfigFile || filepath.Ext(base) == filepath.Ext(checkpoint.TemplateFile) {
		return maxSmallFile
	}
	return maxTokenizerFile
}

// folder is a directory of the system.
type folder string

func (d folder) path(name string) string { return filepath.Join(string(d), name) }

// open opens a regular file: to open anything else could wait for ever.
func (d folder) open(name string) (*os.File, error) {
	info, err := os.Stat(d.path(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", d.path(name))
	}
	return os.Open(d.path(name))
}

func (d folder) read(name string) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readSmall(f, d.path(name))
}

func (d folder) head(name string) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readHead(f)
}

func (d folder) list() []string { return d.listIn("") }

func (d folder) listIn(name string) (names []string) {
	f, err := os.Open(cmp.Or(d.path(name), ".")) // a file that is named without its folder lies in the present one
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ = f.Readdirnames(maxListed)
	return names
}

func (d folder) weights(_ context.Context, name string, _ tensor.Memory) ([]byte, io.Closer, error) {
	f, err := mmap.Open(d.path(name))
	if err != nil {
		return nil, nil, err
	}
	return f.Bytes(), f, nil
}

// fileSystem is an fs.FS.
type fileSystem struct{ fs.FS }

func (f fileSystem) path(name string) string { return name }

func (f fileSystem) read(name string) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readSmall(file, name)
}

func (f fileSystem) head(name string) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readHead(file)
}

func (f fileSystem) list() []string { return f.listIn(".") }

func (f fileSystem) listIn(name string) (names []string) {
	entries, _ := fs.ReadDir(f, name)
	for _, entry := range entries[:min(len(entries), maxListed)] {
		names = append(names, entry.Name())
	}
	return names
}

func (f fileSystem) weights(ctx context.Context, name string, memory tensor.Memory) ([]byte, io.Closer, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if in, ok := file.(inPlace); ok {
		return in.InPlace(), nothing{}, nil
	}
	if info.Size() < 0 || info.Size() != int64(int(info.Size())) {
		return nil, nil, fmt.Errorf("%s has %d bytes, more than can be addressed", name, info.Size())
	}
	buffer, err := memory.Alloc(int(info.Size()), tensor.U8)
	if err != nil {
		return nil, nil, err
	}
	if _, err := io.ReadFull(interruptible{ctx, file}, buffer.Bytes()); err != nil {
		buffer.Free()
		return nil, nil, fmt.Errorf("read %s: %w", name, err)
	}
	return buffer.Bytes(), freer{buffer}, nil
}

// inPlace is a file with contents that lie in memory already, and stay there. Nobody writes there.
type inPlace interface{ InPlace() []byte }

// nothing has nothing to close.
type nothing struct{}

func (nothing) Close() error { return nil }

// release lets the system drop part of a mapped file from memory for now; it does nothing for other memory.
func release(closer io.Closer, part []byte) {
	if f, ok := closer.(*mmap.File); ok {
		f.Forget(part)
	}
}

// interruptible reads until a context ends, which it looks at every megabyte.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p[:min(len(p), 1<<20)])
}

// freer closes a buffer.
type freer struct{ tensor.Buffer }

func (f freer) Close() error { return f.Free() }

// readHead reads the first bytes of a file.
func readHead(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, headBytes)) }

// readSmall reads a file of bounded size.
func readSmall(r io.Reader, name string) ([]byte, error) {
	limit := smallFileLimit(name)
	data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > limit {
		return nil, &fault.FormatError{File: name, Offset: int64(limit), Err: fmt.Errorf("the file has more than %d bytes, which no honest one comes near", limit)}
	}
	return data, nil
}
