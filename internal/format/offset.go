// Package format holds the parts that readers and writers of tensor files share: an error with its place in the file, and a writer of the
// data section.
package format

import "fmt"

// OffsetError is an error at a place in a file.
type OffsetError struct {
	Offset int64 // in bytes, from the beginning of the file
	Err    error
}

// Errorf makes an OffsetError. Its Err is fmt.Errorf's.
func Errorf(offset int64, message string, args ...any) error {
	return &OffsetError{Offset: offset, Err: fmt.Errorf(message, args...)}
}

// Error gives the place after the message.
func (e *OffsetError) Error() string { return fmt.Sprintf("%v (at byte %d)", e.Err, e.Offset) }

// Unwrap returns Err.
func (e *OffsetError) Unwrap() error { return e.Err }
