// Package unsupported makes errors about something valid that this module does not offer. They wrap errors.ErrUnsupported.
package unsupported

import (
	"errors"
	"fmt"
)

// Errorf makes an error. Its message is fmt.Sprintf's.
func Errorf(message string, args ...any) error { return missing(fmt.Sprintf(message, args...)) }

// missing is an error that names the missing feature.
type missing string

// Error names it.
func (e missing) Error() string { return string(e) }

// Unwrap returns errors.ErrUnsupported.
func (missing) Unwrap() error { return errors.ErrUnsupported }
