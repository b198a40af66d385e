package jinja

import (
	"errors"
	"fmt"
)

// locatedError is an error with its line in the template.
type locatedError struct {
	line int // 0: a function of the caller's failed, which says in its own words why
	error
}

func (e *locatedError) Error() string {
	if e.line == 0 {
		return e.error.Error()
	}
	return fmt.Sprintf("line %d: %v", e.line, e.error)
}

// Located marks the error for package builtins, which adds no name to it.
func (e *locatedError) Located() {}

func (e *locatedError) Unwrap() error { return e.error }

// errPanic marks a mistake of this package's; tests look for it.
var errPanic = errors.New("internal error")

// catch is the net below Parse and Render: no mistake in this package takes the caller's process down.
func catch(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", errPanic, p)
	}
}
