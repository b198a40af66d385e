package models

import (
	"errors"
	"fmt"
	"strings"
)

// ErrClosed is the error of a registry that was closed.
var ErrClosed = errors.New("the models are closed")

// UnknownError is the error of a name that no model has.
type UnknownError struct {
	Name  string   // the name of the request
	Known []string // the names that there are, without aliases, in the order of the specs
}

// Error names the unknown model, and the known ones.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no model %q: known are %s", e.Name, strings.Join(e.Known, ", "))
}

// TooLargeError is the error of a model that does not fit into the budget, even if no other model were loaded that can be given back.
type TooLargeError struct {
	Name   string
	Bytes  int64 // what the model takes, or is said to take
	Budget int64 // Options.Budget
	Fixed  int64 // how much of the budget is taken by models that are never given back
}

// Error gives the bytes of the model, and of the budget.
func (e *TooLargeError) Error() string {
	text := fmt.Sprintf("the model %q takes %d bytes, more than the budget of %d", e.Name, e.Bytes, e.Budget)
	if e.Fixed > 0 {
		text += fmt.Sprintf(", of which models that are never given back take %d", e.Fixed)
	}
	return text
}
