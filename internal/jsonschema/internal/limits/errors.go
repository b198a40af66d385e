package limits

import "fmt"

// UnsupportedError says that a constraint cannot promise what a keyword of a schema demands.
type UnsupportedError struct {
	Keyword string // "" if it is the schema as a whole
	Path    string // the JSON pointer of the schema that has the keyword; "" is the whole schema
	Reason  string
}

// Error names the keyword, its place and the reason.
func (e *UnsupportedError) Error() string {
	if e.Keyword == "" {
		return fmt.Sprintf("the schema at %q cannot be kept: %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("the keyword %q at %q cannot be promised: %s", e.Keyword, e.Path, e.Reason)
}

// MistakeError says that a part of the text is no schema, or one that no value can satisfy.
type MistakeError struct {
	Path   string // the JSON pointer of the part; "" is the whole schema
	Reason string // names the part
}

// Error is the reason.
func (e *MistakeError) Error() string { return e.Reason }

// failure carries an error up to Meter.Catch.
type failure struct{ err error }

// Fail ends the compilation with a MistakeError about a part of the text: the place is a JSON pointer, as a text.
func Fail(at fmt.Stringer, format string, args ...any) {
	panic(failure{&MistakeError{at.String(), fmt.Sprintf(format, args...)}})
}

// Mistake calls read, and returns the MistakeError that it ends with, or nil. Other errors go on to Meter.Catch.
func Mistake(read func()) (mistake *MistakeError) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case failure:
			if m, ok := e.err.(*MistakeError); ok {
				mistake = m
				return
			}
			panic(e)
		default:
			panic(e)
		}
	}()
	read()
	return nil
}

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
