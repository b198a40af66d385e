// Package jinja renders Jinja templates as Hugging Face's transformers sets the language up for chat templates:
// trim_blocks, lstrip_blocks, {% break %}, {% continue %}, {% generation %}, tojson without HTML's escapes, and no way to
// change a value, to reach a file, or to load another template.
//
// # Parts
//
// Package texts has strings that know their origins; values what templates compute with; builtins the filters, tests and methods that they call;
// syntax the tree of a template. Each imports only those before it. This package is the interpreter of trees.
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

	"github.com/antigravity-go/antigravity/internal/jinja/builtins"
	"github.com/antigravity-go/antigravity/internal/jinja/syntax"
)

// Template is a parsed template. It is immutable and safe for concurrent use.
type Template struct{ tree *syntax.Tree }

// Parse reads a template.
func Parse(source string) (t *Template, err error) {
	defer catch(&err)
	has := func(table map[string]*builtins.Builtin) func(name string) bool {
		return func(name string) bool { return table[name] != nil }
	}
	tree, err := syntax.Parse(source, has(builtins.Filters), has(builtins.Tests))
	if err != nil {
		return nil, err
	}
	return &Template{tree}, nil
}

// Reads reports whether the template refers to a variable of this name anywhere.
func (t *Template) Reads(name string) bool { return t.tree.Reads[name] }

// Mentions reports whether the name of a variable or of an attribute, or a string, in the template is this.
func (t *Template) Mentions(name string) bool { return t.tree.Uses[name] }

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
	r.Matched = e.Matched
	r.Text, err = e.capture(func() error {
		_, err := e.block(t.tree.Body)
		return err
	})
	if l := (*locatedError)(nil); errors.As(err, &l) && l.line == 0 {
		err = l.error
	}
	return r, err
}
