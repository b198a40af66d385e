package llama

import (
	"errors"
	"fmt"
)

// The errors that callers may want to tell apart, with errors.Is. Others say what was being done and are for people.
var (
	// ErrClosed: the model or the session was closed.
	ErrClosed = errors.New("llama: closed")
	// ErrBusy: another goroutine is using the session.
	ErrBusy = errors.New("llama: the session is in use by another goroutine")
	// ErrContextFull: the tokens do not fit the session's cache, or the model's trained context.
	ErrContextFull = errors.New("llama: the context is full")
	// ErrUnsupported: the file is valid but needs something that this package does not offer.
	ErrUnsupported = errors.New("llama: unsupported")
	// ErrStateMismatch: a saved state belongs to another model or to other options.
	ErrStateMismatch = errors.New("llama: the state belongs to another model")
)

// FormatError tells that a file is malformed: which, where, and how.
type FormatError struct {
	File   string
	Offset int64 // byte at which the trouble was noticed, or -1 when no single place can be named
	Err    error
}

// Error formats the file, the offset and the cause.
func (e *FormatError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("llama: %s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("llama: %s: at byte %d: %v", e.File, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }
