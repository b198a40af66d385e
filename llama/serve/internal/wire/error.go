// Package wire is what all interfaces of the server have in common on the wire: requests that are read strictly, errors with a status and
// the parameter's name, answers as JSON and as a stream of events. It knows no model.
package wire

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is why a request has no answer, in words for the client. Each interface writes it in its own shape.
type Error struct {
	Status     int           // HTTP's
	Code       string        // a word for programs, "context_length_exceeded"; "" if the status says enough
	Param      string        // the parameter that is wrong, as the interface names it: "messages[2].role"; "": no single one
	Message    string        // the mistake, and what would be right
	RetryAfter time.Duration // when to try again; 0: not sent
	Err        error         // what happened, for the log; may be nil
	Request    string        // the request's id, for interfaces with a place for it in errors; WriteError fills it in
	Counts     *Counts       // of a prompt that is too long; nil: the error is another one
}

// Counts say by how much a prompt is too long.
type Counts struct {
	Prompt  int // tokens that it has
	Context int // tokens that fit the model's context
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns what happened.
func (e *Error) Unwrap() error { return e.Err }

// Within returns the error of something at a place: its Param begins with the place, and its Message with its Param. Within("input[2]") of an
// error at "role" is one at "input[2].role".
func (e *Error) Within(place string) *Error {
	outer := *e
	outer.Param = place + e.Param
	if e.Param != "" && e.Param[0] != '[' {
		outer.Param = place + "." + e.Param
	}
	rest, told := strings.CutPrefix(e.Message, e.Param)
	if told = told && e.Param != "" && (strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, ":")); !told {
		rest = ": " + e.Message
	}
	outer.Message = outer.Param + rest
	return &outer
}

// Invalid returns the error of a parameter that is wrong: status 400.
func Invalid(param, format string, a ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid_value", Param: param, Message: fmt.Sprintf(format, a...)}
}

// Missing returns the error of a parameter that has to be there, and is not: status 400. want describes the right value: "a string".
func Missing(param, want string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "missing_required_parameter", Param: param,
		Message: fmt.Sprintf("%s is missing; it must be %s", param, want)}
}

// Unsupported returns the error of a parameter, or of a value, that means something which this server does not do: status 400.
func Unsupported(param, format string, a ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "unsupported_parameter", Param: param, Message: fmt.Sprintf(format, a...)}
}

// ErrorOf returns err as an Error. An error that is not an *Error is the server's own fault: status 500, and the client does not learn what
// happened.
func ErrorOf(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Status: http.StatusInternalServerError, Code: "internal_error",
		Message: "the server failed; its log says why, under this request's id", Err: err}
}
