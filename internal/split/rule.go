package split

import "strings"

// Behavior says what becomes of the matches of a step, in the words of Hugging Face's tokenizers.
type Behavior string

// The behaviors.
const (
	Isolated           Behavior = "Isolated"           // each match is a piece, and each stretch between two matches
	Removed            Behavior = "Removed"            // matches are dropped
	MergedWithPrevious Behavior = "MergedWithPrevious" // a match joins the stretch before it
	MergedWithNext     Behavior = "MergedWithNext"     // a match joins the stretch after it
	Contiguous         Behavior = "Contiguous"         // matches without anything between them are one piece
)

// Known reports whether there is such a behavior.
func (b Behavior) Known() bool {
	switch b {
	case Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous:
		return true
	}
	return false
}

// A Step cuts a text by the matches of an expression.
type Step struct {
	*Expression
	Behavior
	Invert bool // matches and the text between them change places
}

// Isolates reports whether the step makes a piece of each match and loses nothing, given that the matches of one that removes what
// is between them cover the text.
func (s Step) Isolates() bool { return s.Behavior == Isolated || s.Behavior == Removed && s.Invert }

// Rule is steps. Each cuts the pieces of the one before it. A Rule is immutable and safe for concurrent use.
type Rule []Step

// NewRule returns the rule that isolates the matches of expressions, one after another.
func NewRule(expressions ...string) (Rule, error) {
	var r Rule
	for _, text := range expressions {
		e, err := Compile(text)
		if err != nil {
			return nil, err
		}
		r = append(r, Step{e, Isolated, false})
	}
	return r, nil
}

// Quote returns the expression that matches a text.
func Quote(text string) string {
	var b strings.Builder
	for _, c := range text {
		if strings.ContainsRune(`\.+*?()|[]{}^$-&`, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Split calls yield with the pieces of a text in their order, and with where each begins. No piece is empty. The time is linear in the text.
func (r Rule) Split(text string, yield func(at int, piece string)) { r.from(0, text, yield) }

// from is Split for a text that begins at a byte of a larger one.
func (r Rule) from(base int, text string, yield func(at int, piece string)) {
	if len(r) == 0 {
		if text != "" {
			yield(base, text)
		}
		return
	}
	next := yield
	if len(r) > 1 {
		next = func(at int, piece string) { r[1:].from(at, piece, yield) }
	}
	r[0].split(base, text, next)
}

// split is Rule.from for one step.
func (s Step) split(base int, text string, yield func(at int, piece string)) {
	c := cutter{step: s, text: text, base: base, yield: yield}
	gap := 0 // the end of the match before
	for start, end := range s.Matches(text) {
		c.part(gap, start, false)
		c.part(start, end, true)
		gap = end
	}
	c.part(gap, len(text), false)
	c.flush()
}

// cutter turns the matches, and the texts between them, into pieces.
type cutter struct {
	step  Step
	text  string
	base  int // the byte at which the text begins
	yield func(at int, piece string)

	start, end int  // a piece that the next part may join: empty if there is no such piece
	was        bool // whether the part before was a match
}

// flush yields the piece that waits.
func (c *cutter) flush() {
	if c.start < c.end {
		c.yield(c.base+c.start, c.text[c.start:c.end])
	}
	c.start = c.end
}

// part takes the next part of the text, match or not.
func (c *cutter) part(start, end int, match bool) {
	if start == end {
		return
	}
	match = match != c.step.Invert
	joins := false
	switch c.step.Behavior {
	case Isolated:
		c.yield(c.base+start, c.text[start:end])
		return
	case Removed:
		if !match {
			c.yield(c.base+start, c.text[start:end])
		}
		return
	case MergedWithPrevious:
		joins = match && !c.was
	case MergedWithNext:
		joins = !match && c.was
	case Contiguous:
		joins = match == c.was
	}
	if !joins || c.start == c.end {
		c.flush()
		c.start = start
	}
	c.end, c.was = end, match
}
