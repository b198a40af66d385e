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
	// ErrContextFull: the tokens do not fit the session's cache, or the model's trained context. A *ContextFullError says by how
	// much.
	ErrContextFull = errors.New("llama: the context is full")
	// ErrUnsupported: the file is valid but needs something that this package does not offer. It wraps errors.ErrUnsupported.
	ErrUnsupported error = unsupported{}
	// ErrStateMismatch: a saved state belongs to another model or to other options.
	ErrStateMismatch = errors.New("llama: the state belongs to another model")
)

// unsupported is the type of ErrUnsupported.
type unsupported struct{}

func (unsupported) Error() string { return "llama: unsupported" }
func (unsupported) Unwrap() error { return errors.ErrUnsupported }

// FormatError tells that a file is malformed: which file, at which byte, and in what way.
type FormatError struct {
	File   string
	Offset int64 // the byte at which the damage was noticed, or -1 when no single byte can be named
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

// ParamError tells of a caller's mistake: a value that has no meaning, or that the model cannot serve. A server answers it with
// status 400.
type ParamError struct {
	Field string // what was given, by its Go name: "Params.Temperature", "SessionOptions.KV", "history[2].Role"
	Value any    // the value that was given
	Want  string // what would be right, in words that go on after "it must be"
}

// Error says what was given, and what would be right.
func (e *ParamError) Error() string {
	return fmt.Sprintf("llama: %s is %v: it must be %s", e.Field, e.Value, e.Want)
}

// ContextFullError tells that tokens do not fit into the context, and by how much. errors.Is finds ErrContextFull in it.
type ContextFullError struct {
	Have int // tokens of the conversation so far
	Want int // tokens to be added
	Room int // how many more fit
}

// Error says how many tokens do not fit where.
func (e *ContextFullError) Error() string {
	return fmt.Sprintf("%v: %d tokens after %d, where %d more fit", ErrContextFull, e.Want, e.Have, e.Room)
}

// Is tells that the error is ErrContextFull.
func (e *ContextFullError) Is(target error) bool { return target == ErrContextFull }
