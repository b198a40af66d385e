package jsonschema

import "fmt"

// UnsupportedError says that a constraint cannot promise what a keyword of a schema demands.
type UnsupportedError struct {
	Keyword string
	Path    string // the JSON pointer of the schema that has the keyword; "" is the whole schema
	Reason  string
}

// Error names the keyword, its place and the reason.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("the keyword %q at %q cannot be promised: %s", e.Keyword, e.Path, e.Reason)
}

// failure carries an error up to meter.catch.
type failure struct{ err error }

// fail ends the compilation with an error.
func fail(format string, args ...any) {
	panic(failure{fmt.Errorf(format, args...)})
}

// refuse ends the compilation with what cannot be promised of a subject.
func refuse(s subject, keyword, reason string) {
	panic(failure{&UnsupportedError{keyword, s.pointer(), reason}})
}

// subject is what an error is about: a schema.
type subject interface {
	// pointer returns the JSON pointer of the schema.
	pointer() string
	// telling returns the keyword that most likely makes the schema complex, or other.
	telling(other string) string
}

// unknown is the subject before any schema is known.
type unknown struct{}

func (unknown) pointer() string             { return "" }
func (unknown) telling(other string) string { return other }
