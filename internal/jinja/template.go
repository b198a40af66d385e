// Package jinja parses and renders Jinja templates as Hugging Face's transformers sets the language up for chat templates:
// trim_blocks, lstrip_blocks, {% break %}, {% continue %}, {% generation %}, tojson without HTML's escapes, and no way to
// change a value, to reach a file, or to load another template.
//
// # Where text comes from
//
// Every string knows the origin of each of its bytes ([Text]): the template, or one of the caller's inputs. Whatever a
// template does (trim, slice, split, concatenate, print as JSON), each byte keeps its origin.
//
// # Untrusted templates
//
// A template is code from a stranger. Its length and nesting are bounded ([Parse]), and a rendering asks a meter before it
// does work or takes memory: every operation is paid for by the bytes that it touches. A rendering thus ends within
// fractions of a second and tens of megabytes, or with a [BudgetError].
package jinja

import (
	"context"
	"errors"
	"fmt"
)

// Template is a parsed template. It is immutable and safe for concurrent use.
type Template struct {
	body  []statement
	uses  map[string]bool
	reads map[string]bool
}

// Parse reads a template.
func Parse(source string) (t *Template, err error) {
	defer catch(&err)
	if len(source) > maxSource {
		return nil, fmt.Errorf("%d bytes long; at most %d are allowed", len(source), maxSource)
	}
	p := &parser{lexer: newLexer(source), blocks: statementParsers(), uses: map[string]bool{}, reads: map[string]bool{}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	body, err := p.statements(token{})
	if err != nil {
		return nil, err
	}
	return &Template{body, p.uses, p.reads}, nil
}

// Reads reports whether the template refers to a variable of this name anywhere.
func (t *Template) Reads(name string) bool { return t.reads[name] }

// Mentions reports whether the name of a variable or of an attribute, or a string, in the template is this.
func (t *Template) Mentions(name string) bool { return t.uses[name] }

// Rendering is what a template made of its variables.
type Rendering struct {
	Text Text
	// Matched holds the origins of the texts that were found equal to one of the template's own, in a comparison or as a
	// dictionary's key.
	Matched map[Origin]bool
}

// Render renders the template. It looks at ctx every fraction of a millisecond. Errors name the line of the template, but
// for those of the variables' functions, which are returned as they are.
func (t *Template) Render(ctx context.Context, variables map[string]Value) (r Rendering, err error) {
	return t.run(newEvaluator(ctx, variables))
}

func (t *Template) run(e *evaluator) (r Rendering, err error) {
	defer catch(&err)
	r.Matched = e.matched
	r.Text, err = e.capture(func() error {
		_, err := e.block(t.body)
		return err
	})
	if l := (*locatedError)(nil); errors.As(err, &l) && l.line == 0 {
		err = l.error
	}
	return r, err
}

// errPanic marks a mistake of this package's; tests look for it.
var errPanic = errors.New("internal error")

// catch is the net below Parse and Render: no mistake in this package takes the caller's process down.
func catch(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", errPanic, p)
	}
}
