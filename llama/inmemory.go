package llama

import (
	"bytes"
	"io/fs"
	"time"
	"unsafe"
)

// InMemory returns a file system for LoadFS with one GGUF file: its contents lie in memory already, and are read there. LoadFS copies files of other
// file systems first. It is for a model that is part of the program, which the system maps from the executable, so that only the parts in use take
// memory:
//
//	//go:embed model.gguf
//	var file string
//	…
//	model, err := llama.LoadFS(ctx, llama.InMemory("model.gguf", file), "model.gguf", nil)
//
// The contents must not change until the model is closed. They cannot be split files, which name each other.
func InMemory[T string | []byte](name string, contents T) fs.FS {
	if text, ok := any(contents).(string); ok {
		return &inMemory{name, unsafe.Slice(unsafe.StringData(text), len(text))} // nobody writes there
	}
	return &inMemory{name, []byte(contents)}
}

// inMemory is a file system with one file.
type inMemory struct {
	name     string
	contents []byte
}

// Open opens the file.
func (m *inMemory) Open(name string) (fs.File, error) {
	if name != m.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &inMemoryFile{bytes.NewReader(m.contents), m}, nil
}

// inMemoryFile is the file when it is open, and its own fs.FileInfo.
type inMemoryFile struct {
	*bytes.Reader
	of *inMemory
}

// InPlace returns the contents; package source asks for them.
func (f *inMemoryFile) InPlace() []byte { return f.of.contents }

func (f *inMemoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *inMemoryFile) Close() error               { return nil }
func (f *inMemoryFile) Name() string               { return f.of.name }
func (f *inMemoryFile) Size() int64                { return int64(len(f.of.contents)) }
func (f *inMemoryFile) Mode() fs.FileMode          { return 0o444 }
func (f *inMemoryFile) ModTime() time.Time         { return time.Time{} }
func (f *inMemoryFile) IsDir() bool                { return false }
func (f *inMemoryFile) Sys() any                   { return nil }
