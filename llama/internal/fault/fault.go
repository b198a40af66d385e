// Package fault has the errors that package llama and its rooms share.
package fault

import (
	"errors"
	"fmt"
)

// ErrUnsupported is llama.ErrUnsupported: a file is valid but needs something that package llama does not offer. It wraps
// errors.ErrUnsupported.
var ErrUnsupported error = unsupported{}

// unsupported is the type of ErrUnsupported.
type unsupported struct{}

func (unsupported) Error() string { return "llama: unsupported" }
func (unsupported) Unwrap() error { return errors.ErrUnsupported }

// FormatError says that a file is malformed. It becomes llama.FormatError.
type FormatError struct {
	File   string
	Offset int64 // the byte at which the damage was noticed, or -1 if no single byte can be named
	Err    error
}

// Error formats the file, the offset and the cause.
func (e *FormatError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s: at byte %d: %v", e.File, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }
