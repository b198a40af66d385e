package source

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
)

// folderError turns an error about the content of a folder's file into a *fault.FormatError; other errors stay as they are.
func folderError(f files, err error) error {
	var in *checkpoint.FileError
	switch {
	case !errors.As(err, &in):
		return err
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%w: %w", in, fault.ErrUnsupported)
	}
	return Malformed(f.path(in.Name), in.Err)
}

// Malformed wraps an error about a file's content with the file's name. An error that wraps fault.ErrUnsupported stays as it is.
func Malformed(path string, err error) error {
	var at *format.OffsetError
	switch {
	case errors.Is(err, fault.ErrUnsupported):
		return err
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%w: %w", err, fault.ErrUnsupported)
	case errors.As(err, &at):
		return &fault.FormatError{File: path, Offset: at.Offset, Err: at.Err}
	}
	return &fault.FormatError{File: path, Offset: -1, Err: err}
}

// tensorError wraps what newStored says of a tensor; nil stays nil.
func tensorError(path, name string, offset int64, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("the tensor %s: %w", name, err)
	if errors.Is(err, fault.ErrUnsupported) {
		return err
	}
	return &fault.FormatError{File: path, Offset: offset, Err: err}
}
