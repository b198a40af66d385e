package llama

import (
	"errors"
	"fmt"
	"strings"

	"github.com/antigravity-go/antigravity/llama/internal/fault"
)

// The errors that callers may want to distinguish, with errors.Is. Others are for people.
var (
	// ErrClosed: the model or the session was closed.
	ErrClosed = errors.New("llama: closed")
	// ErrBusy: another call of the session has not ended: one of another goroutine's, or a loop over an answer around this one.
	ErrBusy = errors.New("llama: the session is in use: an earlier call, or the loop over an answer, has not ended")
	// ErrContextFull: the tokens do not fit the session's cache, or the model's trained context. A *ContextFullError says by how
	// much.
	ErrContextFull = errors.New("llama: the context is full")
	// ErrUnsupported: the file is valid but needs something that this package does not offer. It wraps errors.ErrUnsupported.
	ErrUnsupported = fault.ErrUnsupported
	// ErrStateMismatch: a saved state belongs to another model or to other options.
	ErrStateMismatch = errors.New("llama: the state does not fit")
)

// FormatError says that a file is malformed: which file, at which byte, and in what way.
type FormatError struct {
	File   string
	Offset int64 // the byte at which the damage was noticed, or -1 when no single byte can be named
	Err    error
}

// Error formats the file, the offset and the cause.
func (e *FormatError) Error() string { return (*fault.FormatError)(e).Error() }

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// fileError returns the error of reading a file as callers see it: with a *FormatError if the file is malformed; otherwise, since the error
// may name no file, after the words in doing. The length of its message is bounded, however long the quotes from the file are.
func fileError(doing string, err error) error {
	var malformed *fault.FormatError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &malformed):
		if doing != "" {
			err = fmt.Errorf("%s: %w", doing, err)
		}
	case err == error(malformed):
		err = (*FormatError)(malformed)
	default:
		err = &malformedError{err, (*FormatError)(malformed)}
	}
	if len(err.Error()) > maxMessage {
		return &briefError{err}
	}
	return err
}

// malformedError is an error with format in its chain, for errors.As.
type malformedError struct {
	error
	format *FormatError
}

// Unwrap returns the error and format.
func (e *malformedError) Unwrap() []error { return []error{e.error, e.format} }

// maxMessage bounds the messages about malformed files, in bytes: some quote parts of the file, which may be of any length.
const maxMessage = 1000

// briefError shortens the message of an error.
type briefError struct{ error }

// Error returns the beginning and the end of the message.
func (e *briefError) Error() string {
	text := e.error.Error()
	return strings.ToValidUTF8(text[:maxMessage/2], "") + " … " + strings.ToValidUTF8(text[len(text)-maxMessage/2:], "")
}

// Unwrap returns the error with its whole message.
func (e *briefError) Unwrap() error { return e.error }

// ParamError is a caller's mistake: a value that has no meaning, or that the model cannot serve. A server answers it with status 400.
type ParamError struct {
	Field string // the value's Go name: "Params.Temperature", "SessionOptions.KV", "history[2].Role"
	Value any    // the value that was given
	Want  string // the remedy, in words that go on after "it must be"
}

// Error names the value, and the remedy.
func (e *ParamError) Error() string {
	return fmt.Sprintf("llama: %s is %v: it must be %s", e.Field, e.Value, e.Want)
}

// ContextFullError reports that tokens do not fit into the context, by how much, and what the limit is. errors.Is finds
// ErrContextFull in it.
type ContextFullError struct {
	Have int // tokens of the conversation so far
	Want int // tokens to be added
	Room int // how many more fit
	// Context is the number of tokens that the model was trained for, 0 if that is not known.
	Context int
	// Capacity is SessionOptions.Capacity; 0 if the cache is no limit, since an eviction policy keeps it within a budget, or not known.
	Capacity int
}

// Error says how many tokens do not fit, why, and what helps.
func (e *ContextFullError) Error() string {
	text := fmt.Sprintf("%v: %d tokens do not fit", ErrContextFull, e.Want)
	if e.Have > 0 {
		text += fmt.Sprintf(" after the %d of the conversation", e.Have)
	}
	text += fmt.Sprintf(", there is room for %d", e.Room)
	cause := fmt.Sprintf("the model was trained for %d tokens", e.Context)
	help, endless := "Tokenizer.DropTurns takes the oldest turns off a history", "; with a sliding window and ReanchorSinks a conversation goes on without end"
	switch {
	case e.Context == 0:
		return text
	case e.Capacity == 0:
		cause += ", evicted ones included"
	case e.Capacity < e.Context:
		cause = fmt.Sprintf("the cache's capacity is %d tokens, and %s", e.Capacity, cause)
		help, endless = "A larger SessionOptions.Capacity gives more room; an eviction policy forgets tokens; "+help, ""
	}
	return text + ": " + cause + ". " + help + endless
}

// Is reports that the error is ErrContextFull.
func (e *ContextFullError) Is(target error) bool { return target == ErrContextFull }
