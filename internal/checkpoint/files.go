package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
)

// The names of the files in a Hugging Face folder.
const (
	ConfigFile          = "config.json"
	GenerationFile      = "generation_config.json"
	TokenizerFile       = "tokenizer.json"
	TokenizerConfigFile = "tokenizer_config.json"
	WeightsFile         = "model.safetensors"
	IndexFile           = "model.safetensors.index.json" // of shards; it counts if there is no WeightsFile
)

// Folder reads a small file of a Hugging Face folder whole, given its name. The error for a file that does not exist is of
// fs.ErrNotExist's kind.
type Folder func(name string) ([]byte, error)

// FileError is an error about the content of a file of a folder.
type FileError struct {
	Name string // the file's, in its folder
	Err  error
}

// Error names the file.
func (e *FileError) Error() string { return fmt.Sprintf("%s: %v", e.Name, e.Err) }

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }

// Optional reads a file; nil stands for one that does not exist.
func (f Folder) Optional(name string) ([]byte, error) {
	data, err := f(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// optionally reads a file that need not exist.
func (f Folder) optionally(name string, read func(data []byte) error) error {
	data, err := f.Optional(name)
	if err != nil || data == nil {
		return err
	}
	if err := read(data); err != nil {
		return &FileError{name, err}
	}
	return nil
}
