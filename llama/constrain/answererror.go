package constrain

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/regular"
	"github.com/antigravity-go/antigravity/internal/tokenmask"
)

// Why an answer cannot go on with its constraint, and, for ErrTooComplex, why a constraint cannot be made: see AnswerError.
var (
	// ErrStuck says that no token of the vocabulary can come next, although the answer is not complete.
	ErrStuck = tokenmask.ErrStuck
	// ErrRefused says that the token that was chosen cannot come next. If the set of allowed tokens had it, nothing can follow it.
	ErrRefused = tokenmask.ErrRefused
	// ErrTooComplex says that a pattern, a grammar or the memory of a text needs more work or memory than a constraint gets.
	ErrTooComplex = regular.ErrTooComplex
)

// AnswerError says that an answer ends before it is complete because of its grammar or schema: it is too complex for the text so far, or
// nothing can follow that text. Methods of a llama.Matcher return it, and llama.Session and llama.Pool end the answer with an error that
// wraps it. The mistake lies in the grammar or the schema, not in the model: another answer under the same constraint may succeed.
//
// Errors that are found while a constraint is made are not AnswerErrors: an *UnsupportedError names the keyword of a schema and its place;
// other errors describe the mistake in a grammar or a pattern, and wrap ErrTooComplex if that is the reason.
type AnswerError struct {
	Form string // what the constraint was made of: "JSON schema", "tools", "grammar", "regular expression", "choice"
	Text string // the end of the answer so far, at most 80 bytes
	Err  error  // wraps ErrStuck, ErrRefused or ErrTooComplex
}

// Error names the form, the place in the answer and the reason.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("the %s cannot be followed after %q: %v", e.Form, e.Text, e.Err)
}

// Unwrap returns Err.
func (e *AnswerError) Unwrap() error { return e.Err }

// maxShown bounds AnswerError.Text, in bytes.
const maxShown = 80

// explain returns err, as an AnswerError if the constraint is why the answer cannot go on.
func (m *matcher) explain(err error) error {
	if !errors.Is(err, ErrStuck) && !errors.Is(err, ErrRefused) && !errors.Is(err, ErrTooComplex) {
		return err
	}
	text := m.text.Text()
	for len(text) > maxShown || len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return &AnswerError{Form: m.of.form, Text: string(text), Err: err}
}
