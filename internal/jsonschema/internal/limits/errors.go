package limits

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

// failure carries an error up to Meter.Catch.
type failure struct{ err error }

// Fail ends the compilation with an error.
func Fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Refuse ends the compilation with an UnsupportedError.
func Refuse(s Subject, keyword, reason string) {
	panic(failure{&UnsupportedError{keyword, s.Pointer(), reason}})
}

// Subject is what an error is about: a schema.
type Subject interface {
	// Pointer returns the JSON pointer of the schema.
	Pointer() string
	// Suspect returns the keyword that most likely makes the schema complex, or other.
	Suspect(other string) string
}

// Unknown is the subject before any schema is known.
type Unknown struct{}

// Pointer returns the pointer of the whole schema.
func (Unknown) Pointer() string { return "" }

// Suspect returns other.
func (Unknown) Suspect(other string) string { return other }
